//! Makes addresses absolute and keeps only `http` and `https` ones.

use crate::limits::MAX_URL;
use url::Url;

/// Resolves an address against `base`. `None` unless the result is a web address.
pub(crate) fn resolved(written: &str, base: &Url) -> Option<Url> {
    let written = written.trim();
    if written.is_empty() || written.len() > MAX_URL {
        return None;
    }
    base.join(written).ok().filter(is_web)
}

/// Like [`resolved`], as text that fits into any document: characters that an IRI may not contain are escaped.
pub(crate) fn absolute(written: &str, base: &Url) -> Option<String> {
    let text = escaped(resolved(written, base)?.as_str());
    (text.len() <= MAX_URL).then_some(text)
}

/// Whether the address is `http` or `https`, has a host and contains no user name or password.
pub(crate) fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
        && url.host_str().is_some_and(|host| !host.is_empty())
        && url.username().is_empty()
        && url.password().is_none()
        && url.as_str().len() <= MAX_URL
}

/// Browsers accept characters in queries and fragments that IRIs do not allow. Escapes them.
fn escaped(address: &str) -> String {
    let mut text = String::with_capacity(address.len());
    for c in address.chars() {
        match c {
            '"' => text.push_str("%22"),
            '<' => text.push_str("%3C"),
            '>' => text.push_str("%3E"),
            '\\' => text.push_str("%5C"),
            '^' => text.push_str("%5E"),
            '`' => text.push_str("%60"),
            '{' => text.push_str("%7B"),
            '|' => text.push_str("%7C"),
            '}' => text.push_str("%7D"),
            _ => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_addresses_are_kept() {
        let base = Url::parse("https://example.org/blog/feed.xml").unwrap();
        for (written, expected) in [
            ("post", Some("https://example.org/blog/post")),
            (" /a b ", Some("https://example.org/a%20b")),
            ("//cdn.example.net/x", Some("https://cdn.example.net/x")),
            ("HTTP://Example.COM:80/A", Some("http://example.com/A")),
            ("?q={a|b}^`#\\", Some("https://example.org/blog/feed.xml?q=%7Ba%7Cb%7D%5E%60#%5C")),
            ("", None),
            ("javascript:alert(1)", None),
            ("data:text/html,x", None),
            ("mailto:jo@example.org", None),
            ("https://jo:secret@example.org/", None),
            ("https://jo@example.org/", None),
            ("http://", None),
        ] {
            assert_eq!(absolute(written, &base).as_deref(), expected, "{written}");
        }
        assert_eq!(absolute(&"x".repeat(3_000), &base), None);
    }
}

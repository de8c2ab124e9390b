//! The `Link` header of RFC 8288.

use crate::address;
use crate::limits::MAX_LINKS;
use url::Url;

/// A link with one relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The relation, in lower case: `hub`, `self`, `next`.
    pub rel: String,
    /// The absolute target address.
    pub url: Url,
}

/// The links of a header's value, one for each relation, in order. Links with another context than `address`
/// (`anchor`) and malformed links are left out.
pub fn links(header: &str, address: &Url) -> Vec<Link> {
    let mut links = Vec::new();
    let mut rest = header;
    while links.len() < MAX_LINKS
        && let Some((_, link)) = rest.split_once('<')
        && let Some((target, parameters)) = link.split_once('>')
    {
        let (rel, is_elsewhere, after) = read_parameters(parameters);
        rest = after;
        if let Some(url) = address::resolved(target, address).filter(|_| !is_elsewhere) {
            let rels = rel.split_ascii_whitespace().take(MAX_LINKS - links.len());
            links.extend(rels.map(|rel| Link { rel: rel.to_ascii_lowercase(), url: url.clone() }));
        }
    }
    links
}

/// The first `rel`, whether there is an `anchor`, and the text after the comma that ends the link.
fn read_parameters(parameters: &str) -> (String, bool, &str) {
    let mut rel = None;
    let mut is_elsewhere = false;
    let mut rest = parameters;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ';']);
        let end = rest.find([';', ',', '=']).unwrap_or(rest.len());
        let (name, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let mut value = String::new();
        rest = after;
        if let Some(after) = after.strip_prefix('=') {
            (value, rest) = read_value(after.trim_start());
        }
        match name.trim().to_ascii_lowercase().as_str() {
            "rel" => rel = rel.or(Some(value)),
            "anchor" => is_elsewhere = true,
            _ => {}
        }
        if rest.is_empty() {
            return (rel.unwrap_or_default(), is_elsewhere, "");
        }
        if let Some(next) = rest.strip_prefix(',') {
            return (rel.unwrap_or_default(), is_elsewhere, next);
        }
    }
}

/// A token or quoted string, and the text from the separator that ends it.
fn read_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([';', ',']).unwrap_or(text.len());
        let (word, rest) = text.split_at_checked(end).unwrap_or((text, ""));
        return (word.trim().to_owned(), rest);
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, c)) = letters.next() {
        match c {
            '\\' => value.extend(letters.next().map(|(_, escaped)| escaped)),
            '"' => {
                let after = quoted.get(at + 1..).unwrap_or_default();
                let end = after.find([';', ',']).unwrap_or(after.len());
                return (value, after.get(end..).unwrap_or_default());
            }
            _ => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(header: &str) -> String {
        let address = Url::parse("https://example.org/feed").unwrap();
        let links = links(header, &address);
        links.iter().map(|link| format!("{} {}", link.rel, link.url)).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn headers() {
        for (header, expected) in [
            (
                "<https://hub.example/>; rel=\"hub\", </feed.xml>; rel=self",
                "hub https://hub.example/; self https://example.org/feed.xml",
            ),
            (
                "</a,b;c>; title=\"x, y; \\\" <z>\"; REL=\"Hub Self\"",
                "hub https://example.org/a,b;c; self https://example.org/a,b;c",
            ),
            ("</a>; rel=hub; anchor=\"/other\", </b>; rel=hub; rel=next", "hub https://example.org/b"),
            ("</a>;rel = hub ;x, <>; rel=hub,, </c>", "hub https://example.org/a"),
            ("<javascript:x>; rel=hub, nonsense, </d>;rel=\"hub", "hub https://example.org/d"),
            ("", ""),
            ("<", ""),
        ] {
            assert_eq!(shown(header), expected, "{header}");
        }
    }
}

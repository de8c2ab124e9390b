//! Callback addresses, to which the browser is redirected after the decision.
//!
//! An application registers one address. The first step names the one to use: scheme, host and port as registered, any
//! path and query. A program on the person's machine cannot know its port beforehand, so a registered loopback address
//! allows loopback on any port. With `oob` there is no redirect: the person copies the verifier.

use url::{Host, Url};

/// The callback that means: the person copies the verifier.
pub const OUT_OF_BAND: &str = "oob";

/// The allowed callbacks, for error messages.
pub const EXPECTED: &str = "an absolute address with the registered scheme, host and port, in ASCII and without a fragment, \
                         or oob";

/// Checks a callback against the registered one. `None` is `oob`.
pub fn checked(callback: &str, registered: &str) -> Result<Option<String>, NotAllowed> {
    if callback == OUT_OF_BAND {
        return Ok(None);
    }
    let (url, registered) = (parse(callback)?, parse(registered)?);
    let same_host = if is_loopback(&registered) {
        is_loopback(&url)
    } else {
        url.host() == registered.host() && url.port_or_known_default() == registered.port_or_known_default()
    };
    if url.scheme() == registered.scheme() && same_host {
        Ok(Some(callback.to_owned()))
    } else {
        Err(NotAllowed)
    }
}

/// Whether an application can register that text: a valid callback address, or `oob`.
pub fn can_be_registered(text: &str) -> bool {
    text == OUT_OF_BAND || parse(text).is_ok()
}

/// Schemes that cannot be the target of a redirect.
const FORBIDDEN_SCHEMES: [&str; 7] =
    ["about", "blob", "data", "file", "javascript", "vbscript", "view-source"];

/// The address may not be used as a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAllowed;

/// Parses an address that is safe in a header and that browsers parse in the same way: no control characters or spaces,
/// which a browser drops, no backslash, which it converts to a slash, no user name before the host, and no scheme that
/// carries a document or a script itself.
fn parse(text: &str) -> Result<Url, NotAllowed> {
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let url = Url::parse(text).map_err(|_| NotAllowed)?;
    let usable = url.has_host()
        && !FORBIDDEN_SCHEMES.contains(&url.scheme())
        && url.host_str().is_some_and(|host| !host.is_empty() && !host.contains('*'))
        && text
            .get(url.scheme().len()..)
            .is_some_and(|rest| rest.starts_with("://") && !rest.starts_with(":///"))
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none()
        && !text.contains('#');
    if plain && usable { Ok(url) } else { Err(NotAllowed) }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address == std::net::Ipv4Addr::LOCALHOST,
        Some(Host::Ipv6(address)) => address == std::net::Ipv6Addr::LOCALHOST,
        None => false,
    }
}

/// Appends parameters to the callback's query, which stays unchanged.
pub fn with_parameters(callback: &str, parameters: &[(&str, &str)]) -> String {
    let mut address = callback.to_owned();
    let mut glue = match callback.split_once('?') {
        None => "?",
        Some((_, query)) if query.is_empty() || query.ends_with('&') => "",
        Some(_) => "&",
    };
    for (name, value) in parameters {
        address.push_str(glue);
        address.push_str(name);
        address.push('=');
        address.push_str(&oauth1::encode(value.as_bytes()));
        glue = "&";
    }
    address
}

/// The host that the authorisation page shows as the destination.
pub fn host(callback: &str) -> Option<String> {
    Url::parse(callback).ok().and_then(|url| {
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        url.host_str().map(|host| format!("{host}{port}"))
    })
}

/// The callback as a source expression of a content security policy: its origin, or the scheme alone if the policy's
/// grammar cannot express the host (IPv6, custom schemes).
pub fn policy_source(callback: &str) -> Option<String> {
    let url = Url::parse(callback).ok()?;
    match url.host()? {
        Host::Domain(_) | Host::Ipv4(_) if url.origin().is_tuple() => {
            Some(url.origin().ascii_serialization())
        }
        _ => Some(format!("{}:", url.scheme())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callbacks_match_the_registration() {
        let site = "https://app.example.org/back";
        for (callback, registered) in [
            ("https://app.example.org/back", site),
            ("https://app.example.org/else?x=1&y=%20", site),
            ("https://APP.example.org:443/", site),
            ("http://127.0.0.1:4180/cb", "http://localhost/callback"),
            ("http://[::1]:4180/cb", "http://127.0.0.1:1/"),
            ("http://localhost/", "http://[::1]:9/"),
            ("wall://callback/x", "wall://callback/y"),
        ] {
            assert_eq!(checked(callback, registered), Ok(Some(callback.to_owned())), "{callback}");
        }
        assert_eq!(checked("oob", site), Ok(None));
        assert_eq!(checked("oob", "oob"), Ok(None));
    }

    #[test]
    fn other_callbacks_are_refused() {
        for callback in [
            "",
            "OOB",
            "/back",
            "//app.example.org/back",
            "app.example.org",
            "http://app.example.org/back",
            "https://app.example.org:8443/back",
            "https://app.example.org.evil.example/",
            "https://evil.example/?https://app.example.org/",
            "https://evil.example/#https://app.example.org/",
            "https://app.example.org@evil.example/",
            "https://app.example.org:443@evil.example/",
            "https://user@app.example.org/",
            "https://app.example.org/#x",
            "https://app.example.org/#",
            "https:\\\\app.example.org/",
            "https://evil.example\\@app.example.org/",
            "https://app.example.org/\r\nX-Injected: yes",
            "https://app.example.org/ x",
            "https://app.example.org/\u{e9}",
            "\thttps://app.example.org/",
            "javascript:alert(1)",
            "javascript://app.example.org/%0aalert(1)",
            "data:text/html,hello",
            "file:///back",
        ] {
            assert_eq!(checked(callback, "https://app.example.org/back"), Err(NotAllowed), "{callback:?}");
            assert_eq!(checked(callback, "oob"), Err(NotAllowed), "{callback:?}");
        }
        for callback in
            ["http://127.0.0.2/", "https://localhost/", "http://localhost.evil.example/", "http://0/"]
        {
            assert_eq!(checked(callback, "http://localhost/callback"), Err(NotAllowed), "{callback:?}");
        }
        assert_eq!(checked("http://localhost/", "https://app.example.org/back"), Err(NotAllowed));
    }

    #[test]
    fn forbidden_schemes_cannot_be_registered() {
        for right in ["oob", "https://app.example.org/back", "http://[::1]/", "wall://callback/x"] {
            assert!(can_be_registered(right), "{right}");
        }
        for wrong in
            ["javascript://x/%0aalert(1)", "data://x/y", "file://x/y", "https://*.example.org/", "x:y", ""]
        {
            assert!(!can_be_registered(wrong), "{wrong}");
        }
    }

    #[test]
    fn parameters_are_appended_to_the_query() {
        let added = [("oauth_token", "a+b"), ("x", "")];
        for (callback, expected) in [
            ("https://a.example", "https://a.example?oauth_token=a%2Bb&x="),
            ("https://a.example/b?c=%20", "https://a.example/b?c=%20&oauth_token=a%2Bb&x="),
            ("https://a.example/?", "https://a.example/?oauth_token=a%2Bb&x="),
            ("https://a.example/?c&", "https://a.example/?c&oauth_token=a%2Bb&x="),
        ] {
            assert_eq!(with_parameters(callback, &added), expected);
        }
    }

    #[test]
    fn policy_sources_and_hosts() {
        for (callback, source, host_shown) in [
            ("https://App.example.org/b?c", "https://app.example.org", "app.example.org"),
            ("http://127.0.0.1:4180/cb", "http://127.0.0.1:4180", "127.0.0.1:4180"),
            ("http://[::1]:4180/cb", "http:", "[::1]:4180"),
            ("wall://callback/x", "wall:", "callback"),
        ] {
            assert_eq!(policy_source(callback).as_deref(), Some(source));
            assert_eq!(host(callback).as_deref(), Some(host_shown));
        }
    }
}

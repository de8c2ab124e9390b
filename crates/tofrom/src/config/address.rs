//! The server's base address.

use std::fmt;

/// The public address of the server: `https://host[:port][/prefix]`, without a trailing slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    text: String,
    host: String,
}

/// Why a text is not a base address. Displays the expected form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an address like https://feeds.example.org or https://example.org:8443/feeds, but it {why}")]
pub struct InvalidBaseUrl {
    why: &'static str,
}

impl BaseUrl {
    /// Parses an address. The host becomes lower case and a default port is dropped, as in browsers.
    pub fn parse(text: &str) -> Result<BaseUrl, InvalidBaseUrl> {
        let invalid = |why| InvalidBaseUrl { why };
        let url = url::Url::parse(text).map_err(|_| invalid("is not an absolute address"))?;
        if url.scheme() != "https" {
            return Err(invalid("does not begin with https://"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(invalid("has a query or a fragment"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("has a user name"));
        }
        let host = url.host_str().ok_or_else(|| invalid("has no host"))?.to_owned();
        let prefix = url.path().trim_end_matches('/');
        // Routes are matched by whole segments: an empty segment would never match.
        if prefix.contains("//") || prefix.contains(['%', '{', '}']) {
            return Err(invalid("has an empty segment or one of % { } in its path"));
        }
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        Ok(BaseUrl { text: format!("https://{host}{port}{prefix}"), host })
    }

    /// The whole address.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host, without a port.
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_addresses_are_checked_and_normalised() {
        for (text, expected, host) in [
            ("https://feeds.example.org", "https://feeds.example.org", "feeds.example.org"),
            ("https://Feeds.Example.org:443/", "https://feeds.example.org", "feeds.example.org"),
            ("https://example.org:8443/a/b/", "https://example.org:8443/a/b", "example.org"),
            ("https://[::1]:8443", "https://[::1]:8443", "[::1]"),
            ("https://127.0.0.1:1", "https://127.0.0.1:1", "127.0.0.1"),
        ] {
            let url = BaseUrl::parse(text).unwrap();
            assert_eq!((url.as_str(), url.host()), (expected, host));
        }
        for wrong in [
            "",
            "feeds.example.org",
            "http://feeds.example.org",
            "https://",
            "https://example.org/?a=b",
            "https://example.org/#a",
            "https://me@example.org",
            "https://example.org/a//b",
            "https://example.org/{user}",
        ] {
            assert!(BaseUrl::parse(wrong).is_err(), "{wrong}");
        }
    }
}

//! Values of settings and flags: the server's base address, and durations like `90d`.

use std::fmt;
use std::time::Duration;

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

/// The text is not a duration. Displays the expected form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a whole number above 0 and a unit (s, m, h, d or w), like 90d")]
pub struct InvalidAge;

/// Parses a whole number above 0 and a unit: `45s`, `30m`, `12h`, `90d` or `2w`.
pub fn parse_age(text: &str) -> Result<Duration, InvalidAge> {
    let parse = || {
        let unit = text.chars().last()?;
        let number: u64 = text.strip_suffix(unit)?.parse().ok().filter(|number| *number > 0)?;
        let seconds = match unit {
            's' => 1,
            'm' => 60,
            'h' => 60 * 60,
            'd' => 24 * 60 * 60,
            'w' => 7 * 24 * 60 * 60,
            _ => return None,
        };
        // Longer than the range of timestamps, so that additions cannot overflow.
        const TOO_LONG: u64 = 10_000 * 366 * 24 * 60 * 60;
        number.checked_mul(seconds).filter(|seconds| *seconds < TOO_LONG).map(Duration::from_secs)
    };
    parse().ok_or(InvalidAge)
}

/// The expected form of a size.
pub(super) const SIZE_EXPECTED: &str = "a whole number above 0 and a unit (MiB, GiB or TiB), like 1GiB";

/// Parses a whole number and a unit: `512MiB`, `1GiB` or `2TiB`.
pub(super) fn parse_size(text: &str) -> Option<i64> {
    let (number, bits) = [("MiB", 20), ("GiB", 30), ("TiB", 40)]
        .iter()
        .find_map(|(unit, bits)| Some((text.strip_suffix(unit)?, bits)))?;
    let number: i64 = number.parse().ok().filter(|number| *number > 0)?;
    number.checked_mul(1 << bits)
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

    #[test]
    fn sizes_have_a_number_and_a_unit() {
        for (text, size) in [("1MiB", 1 << 20), ("10GiB", 10 << 30), ("2TiB", 2 << 40)] {
            assert_eq!(parse_size(text), Some(size), "{text}");
        }
        for wrong in ["", "1", "GiB", "0GiB", "-1GiB", "1.5GiB", "1 GiB", "1GB", "1gib", "9999999999999TiB"] {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn durations_have_a_number_and_a_unit() {
        for (text, seconds) in
            [("1s", 1), ("30m", 1_800), ("12h", 43_200), ("90d", 7_776_000), ("2w", 1_209_600)]
        {
            assert_eq!(parse_age(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for wrong in
            ["", "d", "90", "0d", "-1d", "1.5d", "90 d", "90D", "1y", "99999999999999999999d", "9999999999w"]
        {
            assert!(parse_age(wrong).is_err(), "{wrong}");
        }
    }
}

//! Freshness and `Retry-After` of responses.

use http::header::{AGE, CACHE_CONTROL, DATE, EXPIRES, HeaderMap, RETRY_AFTER};
use std::time::{Duration, SystemTime};

/// The longest time that is accepted from a server.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// How long the response stays fresh: `max-age` minus the `Age` in caches, otherwise `Expires`.
pub(crate) fn fresh_for(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let directives: Vec<String> = headers
        .get_all(CACHE_CONTROL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|directive| directive.trim().to_ascii_lowercase())
        .collect();
    if directives.iter().any(|directive| directive == "no-cache" || directive == "no-store") {
        return None;
    }
    let max_age = directives.iter().find_map(|directive| directive.strip_prefix("max-age="));
    let fresh = match max_age {
        Some(seconds) => {
            let age = text(headers, AGE).and_then(seconds_of).unwrap_or_default();
            seconds_of(seconds.trim_matches('"'))?.saturating_sub(age)
        }
        None => {
            let expires = httpdate::parse_http_date(text(headers, EXPIRES)?).ok()?;
            // Compared with the server's clock, which may differ from ours.
            let date = text(headers, DATE).and_then(|date| httpdate::parse_http_date(date).ok());
            expires.duration_since(date.unwrap_or(now)).ok()?
        }
    };
    Some(fresh.min(LONGEST)).filter(|fresh| !fresh.is_zero())
}

/// The `Retry-After` header: seconds, or a time.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = text(headers, RETRY_AFTER)?;
    let wait = match seconds_of(value) {
        Some(wait) => wait,
        None => httpdate::parse_http_date(value).ok()?.duration_since(now).unwrap_or_default(),
    };
    Some(wait.min(LONGEST))
}

fn text(headers: &HeaderMap, name: http::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// Digits only. A number that does not fit counts as the maximum.
fn seconds_of(text: &str) -> Option<Duration> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().map_or(LONGEST, Duration::from_secs))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn max_age_counts_before_expires() {
        let date = httpdate::fmt_http_date(at(1_000_000));
        let later = httpdate::fmt_http_date(at(1_000_600));
        let now = at(1_000_100);
        for (lines, expected) in [
            (vec![("cache-control", "public, Max-Age=300")], Some(300)),
            (vec![("cache-control", "max-age=300"), ("age", "100")], Some(200)),
            (vec![("cache-control", "max-age=300"), ("age", "400")], None),
            (vec![("cache-control", "max-age=\"60\""), ("expires", &later)], Some(60)),
            (vec![("expires", &later), ("date", &date)], Some(600)),
            (vec![("expires", &later)], Some(500)),
            (vec![("expires", "0")], None),
            (vec![("expires", &date)], None),
            (vec![("cache-control", "no-cache, max-age=300")], None),
            (vec![("cache-control", "max-age=-1")], None),
            (vec![("cache-control", "max-age=99999999999999999999999")], Some(366 * 86_400)),
            (vec![], None),
        ] {
            assert_eq!(fresh_for(&headers(&lines), now), expected.map(Duration::from_secs), "{lines:?}");
        }
    }

    #[test]
    fn retry_after_is_a_number_or_a_time() {
        let later = httpdate::fmt_http_date(at(1_000_600));
        for (value, expected) in [
            ("120", Some(120)),
            (later.as_str(), Some(500)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("soon", None),
            ("-5", None),
            ("315360000", Some(366 * 86_400)),
        ] {
            let headers = headers(&[("retry-after", value)]);
            assert_eq!(retry_after(&headers, at(1_000_100)), expected.map(Duration::from_secs), "{value}");
        }
    }
}

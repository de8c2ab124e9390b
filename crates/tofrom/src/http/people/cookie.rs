//! The session's cookie. Its prefix has browsers refuse it from anywhere but this very host over HTTPS.

use crate::auth::session;
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

const NAME: &str = "__Host-session";

/// The cookie's value, if the request brings one.
pub(in crate::http) fn of(headers: &HeaderMap) -> Option<&str> {
    headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok()).find_map(|line| {
        let mut pairs = line.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == NAME).map(|(_, value)| value)
    })
}

/// Gives a browser the cookie.
pub(in crate::http) fn set(value: &str) -> Option<HeaderValue> {
    let age = session::LIVES.as_secs();
    cookie(value, age)
}

/// Takes the cookie away from a browser.
pub(in crate::http) fn clear() -> Option<HeaderValue> {
    cookie("", 0)
}

fn cookie(value: &str, age: u64) -> Option<HeaderValue> {
    let line = format!("{NAME}={value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={age}");
    let mut line = HeaderValue::from_str(&line).ok()?;
    line.set_sensitive(true);
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_among_others() {
        let headers = |lines: &[&'static str]| {
            lines.iter().map(|line| (COOKIE, HeaderValue::from_static(line))).collect::<HeaderMap>()
        };
        assert_eq!(of(&headers(&["a=b; __Host-session=x=y; c=d"])), Some("x=y"));
        assert_eq!(of(&headers(&["a=b", "__Host-session=z"])), Some("z"));
        for none in
            [&[][..], &["session=x"], &["x__Host-session=x"], &["__host-session=x"], &["__Host-session"]]
        {
            assert_eq!(of(&headers(none)), None, "{none:?}");
        }
    }
}

//! The session cookie, and the device cookie that marks a browser as familiar to accounts that signed in with it. The
//! `__Host-` prefix makes browsers accept them from exactly this host over HTTPS only.

use auth::{Cookies, FAMILIAR_TTL, session};
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

const SESSION: &str = "__Host-session";
const DEVICE: &str = "__Host-device";

/// The session cookie of a request.
pub(crate) fn of(headers: &HeaderMap) -> Option<&str> {
    named(headers, SESSION)
}

/// The device cookie of a request.
pub(crate) fn familiar(headers: &HeaderMap) -> Option<&str> {
    named(headers, DEVICE)
}

fn named<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok()).find_map(|line| {
        let mut pairs = line.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(found, _)| *found == name).map(|(_, value)| value)
    })
}

/// Sets both cookies.
pub(crate) fn set(cookies: &Cookies) -> impl Iterator<Item = HeaderValue> {
    let session = cookie(SESSION, &cookies.session, session::MAX_AGE.as_secs());
    let familiar = cookie(DEVICE, &cookies.familiar, FAMILIAR_TTL.as_secs());
    session.into_iter().chain(familiar)
}

/// Clears the session cookie. The device cookie stays.
pub(crate) fn clear() -> Option<HeaderValue> {
    cookie(SESSION, "", 0)
}

fn cookie(name: &str, value: &str, age: u64) -> Option<HeaderValue> {
    let line = format!("{name}={value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={age}");
    let mut line = HeaderValue::from_str(&line).ok()?;
    line.set_sensitive(true);
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_found_by_their_exact_name() {
        let headers = |lines: &[&'static str]| {
            lines.iter().map(|line| (COOKIE, HeaderValue::from_static(line))).collect::<HeaderMap>()
        };
        assert_eq!(of(&headers(&["a=b; __Host-session=x=y; c=d"])), Some("x=y"));
        assert_eq!(of(&headers(&["a=b", "__Host-session=z"])), Some("z"));
        assert_eq!(familiar(&headers(&["__Host-session=z; __Host-device=d"])), Some("d"));
        for none in
            [&[][..], &["session=x"], &["x__Host-session=x"], &["__host-session=x"], &["__Host-session"]]
        {
            assert_eq!(of(&headers(none)), None, "{none:?}");
        }
    }
}

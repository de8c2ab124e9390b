//! Queries and forms: `name=value` pairs joined by `&` (`application/x-www-form-urlencoded`).

/// The undecoded pairs. A name without `=` has an empty value; an empty string between two `&` is not a pair.
pub(crate) fn pairs(raw: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    raw.split(|&byte| byte == b'&').filter(|pair| !pair.is_empty()).map(|pair| {
        let mut halves = pair.splitn(2, |&byte| byte == b'=');
        (halves.next().unwrap_or_default(), halves.next().unwrap_or_default())
    })
}

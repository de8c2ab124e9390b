//! Queries and forms: `name=value` with `&` between them (`application/x-www-form-urlencoded`).

/// The pairs as they stand, not decoded. A name without `=` has an empty value; nothing between two `&` is no pair.
pub(crate) fn pairs(raw: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    raw.split(|&byte| byte == b'&').filter(|pair| !pair.is_empty()).map(|pair| {
        let mut halves = pair.splitn(2, |&byte| byte == b'=');
        (halves.next().unwrap_or_default(), halves.next().unwrap_or_default())
    })
}

//! The `Authorization` header of RFC 5849, section 3.5.1.

use crate::malformed::Malformed;

const SCHEME: &[u8] = b"OAuth";
const REALM: &[u8] = b"realm";

/// The parameters of the header, if its scheme is OAuth.
pub(crate) fn pairs(header: &[u8]) -> Option<Pairs<'_>> {
    let (scheme, rest) = header.trim_ascii_start().split_at_checked(SCHEME.len())?;
    let is_oauth = scheme.eq_ignore_ascii_case(SCHEME) && rest.first().is_none_or(is_whitespace);
    is_oauth.then_some(Pairs { header_length: header.len(), rest })
}

/// The undecoded pairs without the realm, which is never signed. Ends after an error.
pub(crate) struct Pairs<'a> {
    header_length: usize,
    rest: &'a [u8],
}

impl Pairs<'_> {
    /// The length of the complete header.
    pub(crate) const fn header_length(&self) -> usize {
        self.header_length
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = Result<(&'a [u8], &'a [u8]), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            // Lists of HTTP may have empty elements, so commas may be adjacent.
            self.rest = skip(self.rest, |byte| *byte == b',' || is_whitespace(byte));
            if self.rest.is_empty() {
                return None;
            }
            match pair(self.rest) {
                Some((Some(pair), rest)) => {
                    self.rest = rest;
                    return Some(Ok(pair));
                }
                Some((None, rest)) => self.rest = rest,
                None => {
                    let at = self.header_length.saturating_sub(self.rest.len());
                    self.rest = &[];
                    return Some(Err(Malformed::HeaderUnreadable { at }));
                }
            }
        }
    }
}

type Pair<'a> = (&'a [u8], &'a [u8]);

/// A pair, or None for the realm, and the rest: empty or beginning with a comma.
fn pair(text: &[u8]) -> Option<(Option<Pair<'_>>, &[u8])> {
    let (name, rest) = split_at(text, b'=')?;
    if name.is_empty() || !name.iter().all(is_name_byte) {
        return None;
    }
    let rest = rest.strip_prefix(b"\"")?;
    let (pair, rest) = if name.eq_ignore_ascii_case(REALM) {
        (None, after_quoted_string(rest)?)
    } else {
        let (value, rest) = split_at(rest, b'"')?;
        // A backslash is an escape in HTTP and a character in OAuth, so it must be percent-encoded.
        if value.contains(&b'\\') {
            return None;
        }
        (Some((name, value)), rest)
    };
    let rest = skip(rest, is_whitespace);
    matches!(rest.first(), None | Some(b',')).then_some((pair, rest))
}

/// The text after the closing quote of a quoted string. A backslash escapes the next byte.
fn after_quoted_string(mut text: &[u8]) -> Option<&[u8]> {
    loop {
        match text {
            [b'"', rest @ ..] => return Some(rest),
            [b'\\', _, rest @ ..] | [_, rest @ ..] => text = rest,
            [] => return None,
        }
    }
}

fn split_at(text: &[u8], delimiter: u8) -> Option<(&[u8], &[u8])> {
    let (before, from) = text.split_at_checked(text.iter().position(|&byte| byte == delimiter)?)?;
    Some((before, from.split_first()?.1))
}

fn skip(text: &[u8], skipped: impl Fn(&u8) -> bool) -> &[u8] {
    let start = text.iter().position(|byte| !skipped(byte)).unwrap_or(text.len());
    text.get(start..).unwrap_or_default()
}

const fn is_whitespace(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

const fn is_name_byte(byte: &u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b'\\')
}

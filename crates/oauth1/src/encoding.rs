//! Percent-encoding of RFC 5849, section 3.6, and decoding.

use std::cmp::Ordering;

/// Encodes for the base string and the `Authorization` header as RFC 5849 requires: all bytes except letters,
/// digits and `-._~` become `%XX`, with digits in upper case.
///
/// ```
/// assert_eq!(oauth1::encode("caffè + tè*".as_bytes()), "caff%C3%A8%20%2B%20t%C3%A8%2A");
/// ```
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    encode_into(&mut out, bytes);
    out
}

/// Appends `bytes`, encoded once.
pub(crate) fn encode_into(out: &mut String, bytes: &[u8]) {
    write_escaped(out, bytes, "%");
}

/// Appends `bytes`, encoded twice, as the base string requires for names and values.
///
/// The first pass leaves only unreserved characters and percent signs, and the second changes only the percent
/// signs; so both passes are one with `%25` for `%`.
pub(crate) fn encode_twice_into(out: &mut String, bytes: &[u8]) {
    write_escaped(out, bytes, "%25");
}

fn write_escaped(out: &mut String, bytes: &[u8], escape: &str) {
    for &byte in bytes {
        if is_unreserved(byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(escape);
            out.push(hex_digit(byte >> 4));
            out.push(hex_digit(byte & 0xF));
        }
    }
}

/// Compares in the order of the encoded forms, without encoding.
///
/// An encoded byte is itself or begins with `%`, which is less than all unreserved characters; digits after the
/// `%` compare like their values. So it is enough to rank the reserved bytes before the unreserved ones.
pub(crate) fn encoded_order(left: &[u8], right: &[u8]) -> Ordering {
    let rank = |byte: u8| (is_unreserved(byte), byte);
    match left.iter().zip(right).find(|(byte, other_byte)| byte != other_byte) {
        Some((&byte, &other_byte)) => rank(byte).cmp(&rank(other_byte)),
        None => left.len().cmp(&right.len()),
    }
}

/// The meaning of `+`: a space in queries and forms, a plus sign in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plus {
    Space,
    Itself,
}

/// Appends `raw`, decoded. A percent sign without two hexadecimal digits is kept; returns false if there was
/// one.
pub(crate) fn decode_into(out: &mut Vec<u8>, raw: &[u8], plus: Plus) -> bool {
    let mut well_formed = true;
    let mut rest = raw;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'%' => match escaped(after) {
                Some((decoded, after)) => {
                    out.push(decoded);
                    rest = after;
                }
                None => {
                    well_formed = false;
                    out.push(byte);
                }
            },
            b'+' if plus == Plus::Space => out.push(b' '),
            _ => out.push(byte),
        }
    }
    well_formed
}

/// The byte of two hexadecimal digits, and the rest.
fn escaped(after_percent: &[u8]) -> Option<(u8, &[u8])> {
    let (&[high, low], rest) = after_percent.split_first_chunk::<2>()?;
    Some((hex_value(high)? << 4 | hex_value(low)?, rest))
}

const fn is_unreserved(byte: u8) -> bool {
    matches!(byte, b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~')
}

const fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

const fn hex_digit(value: u8) -> char {
    (if value < 10 { b'0' + value } else { b'A' + (value - 10) }) as char
}

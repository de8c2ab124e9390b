//! Percent-encoding and decoding.

/// RFC 5849, section 3.6.
pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    let escaped = |byte: &u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(*byte).to_string(),
        other => format!("%{other:02X}"),
    };
    bytes.as_ref().iter().map(escaped).collect()
}

/// The pairs of a query or a form.
pub(crate) fn decoded(text: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let halves = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(name), decode(value))
    };
    text.split('&').filter(|pair| !pair.is_empty()).map(halves).collect()
}

fn decode(text: &str) -> Vec<u8> {
    let (mut bytes, mut out) = (text.bytes(), Vec::new());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            other => other,
        });
    }
    out
}

//! Character references: numbers and the names of HTML. A feed cannot define others.

use std::borrow::Cow;

/// Longer than any name of HTML: the longest has 31 letters.
const MAX_REFERENCE: usize = 32;

/// The text with its references resolved. Unknown references and bare ampersands stay unchanged.
pub(crate) fn resolved(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        // The search for the end is limited to a name, or many ampersands would cost quadratic time.
        let of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'#';
        let length = after.bytes().take(MAX_REFERENCE).take_while(of_name).count();
        let name = after.get(..length).filter(|_| after.as_bytes().get(length) == Some(&b';'));
        match name.and_then(|name| Some((name, meaning(name)?))) {
            Some((name, meaning)) => {
                plain.push_str(&meaning);
                rest = after.get(name.len() + 1..).unwrap_or_default();
            }
            None => {
                plain.push('&');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// The text that `&name;` refers to.
pub(crate) fn meaning(name: &str) -> Option<Cow<'static, str>> {
    match name.strip_prefix('#') {
        Some(digits) => numbered(digits).map(|c| Cow::Owned(c.to_string())),
        // XML defines it; old HTML does not.
        None if name == "apos" => Some(Cow::Borrowed("'")),
        None => quick_xml::escape::resolve_html5_entity(name).map(Cow::Borrowed),
    }
}

fn numbered(digits: &str) -> Option<char> {
    let (digits, radix) = digits.strip_prefix(['x', 'X']).map_or((digits, 10), |digits| (digits, 16));
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let number = u32::from_str_radix(digits, radix).unwrap_or(u32::MAX);
    Some(match u8::try_from(number) {
        // These are control characters in Unicode; authors mean the letters of Windows-1252.
        Ok(byte @ 0x80..=0x9f) => {
            let byte = [byte];
            let (text, ..) = encoding_rs::WINDOWS_1252.decode(&byte);
            text.chars().next().unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        _ => char::from_u32(number).filter(|c| *c != '\0').unwrap_or(char::REPLACEMENT_CHARACTER),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_and_unknown() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a &amp; b &lt;c&gt; &quot;d&quot; &apos;e&apos;", "a & b <c> \"d\" 'e'"),
            ("caf&eacute;&nbsp;&hellip;", "café\u{a0}…"),
            ("&#233;&#xE9;&#XE9;", "ééé"),
            ("it&#146;s &#8217;", "it’s ’"),
            ("AT&T & Sons; &unknown; &;", "AT&T & Sons; &unknown; &;"),
            ("&#0;&#x110000;&#xD800;&#99999999999;", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            ("&#;&#x;&#+65;&#x-1;", "&#;&#x;&#+65;&#x-1;"),
            ("?a=1&copy=2&é;", "?a=1&copy=2&é;"),
        ] {
            assert_eq!(resolved(text), expected, "{text}");
        }
    }
}

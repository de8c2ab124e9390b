//! Which characters XML 1.0 can carry, and which strings are names.
//!
//! The rules of XML 1.0 (fifth edition) and Namespaces in XML 1.0. Both writers and the decoder use these
//! functions, so they always agree.

use std::borrow::Cow;

/// Replaces characters that XML cannot carry.
pub(crate) const REPLACEMENT: &str = "\u{FFFD}";

/// Whether XML 1.0 can carry this character at all, even as a character reference.
///
/// Control characters other than tab, line feed and carriage return cannot be carried, nor U+FFFE and
/// U+FFFF.
#[must_use]
pub const fn is_xml_char(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => true,
        '\0'..='\u{1F}' | '\u{FFFE}' | '\u{FFFF}' => false,
        _ => true,
    }
}

/// The first character of the text that XML 1.0 cannot carry.
///
/// ```
/// assert_eq!(infoset::first_illegal("tab\tand café"), None);
/// assert_eq!(infoset::first_illegal("bell \u{7} here"), Some('\u{7}'));
/// ```
#[must_use]
pub fn first_illegal(text: &str) -> Option<char> {
    let at = first_illegal_at(text)?;
    text.get(at..)?.chars().next()
}

/// Whether the text is an `NCName`: a name without a colon, as local names and prefixes are.
#[must_use]
pub fn is_ncname(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(is_name_start) && chars.all(is_name_char)
}

/// The text with every illegal character replaced, borrowed when there is none.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if first_illegal_at(text).is_none() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if is_xml_char(c) { c } else { char::REPLACEMENT_CHARACTER }).collect())
}

/// Whether the three octets from `at` are U+FFFE or U+FFFF.
pub(crate) fn is_noncharacter(bytes: &[u8], at: usize) -> bool {
    matches!(bytes.get(at..).and_then(|rest| rest.first_chunk()), Some([0xEF, 0xBF, 0xBE | 0xBF]))
}

/// Scans octets, not characters: all text passes here, so this is a hot path.
fn first_illegal_at(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().position(|(at, &byte)| match byte {
        b'\t' | b'\n' | b'\r' => false,
        0..=0x1F => true,
        0xEF => is_noncharacter(bytes, at),
        _ => false,
    })
}

const fn is_name_start(c: char) -> bool {
    matches!(c,
        'A'..='Z' | 'a'..='z' | '_'
        | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{2FF}'
        | '\u{370}'..='\u{37D}' | '\u{37F}'..='\u{1FFF}' | '\u{200C}'..='\u{200D}'
        | '\u{2070}'..='\u{218F}' | '\u{2C00}'..='\u{2FEF}' | '\u{3001}'..='\u{D7FF}'
        | '\u{F900}'..='\u{FDCF}' | '\u{FDF0}'..='\u{FFFD}' | '\u{10000}'..='\u{EFFFF}')
}

const fn is_name_char(c: char) -> bool {
    is_name_start(c)
        || matches!(c, '-' | '.' | '0'..='9' | '\u{B7}' | '\u{300}'..='\u{36F}' | '\u{203F}'..='\u{2040}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_octet_scan_agrees_with_the_character_rule() {
        for c in '\0'..=char::MAX {
            let text = format!("é{c}");
            let expected = (!is_xml_char(c)).then_some(c);
            assert_eq!(first_illegal(&text), expected, "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn cleaning_replaces_and_borrows() {
        assert!(matches!(clean("plain\u{FFFD}\r\n"), Cow::Borrowed(_)));
        assert_eq!(clean("a\0b\u{FFFF}c\u{FFFE}"), "a\u{FFFD}b\u{FFFD}c\u{FFFD}");
    }

    #[test]
    fn names() {
        for name in ["a", "_", "é", "日本", "a-1.b", "a\u{B7}", "\u{10000}"] {
            assert!(is_ncname(name), "{name}");
        }
        for name in ["", "1", "-a", "a:b", "a b", "a\u{D7}", ".", "a<", "\u{300}"] {
            assert!(!is_ncname(name), "{name}");
        }
    }
}

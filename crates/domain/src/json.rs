//! Writes JSON on one line, with U+2028 and U+2029 escaped. JSON allows both unescaped, but older scripts and some line
//! readers treat them as line ends.

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Result, Value};
use std::io::{self, Write};

const LINE_SEPARATOR: char = '\u{2028}';
const PARAGRAPH_SEPARATOR: char = '\u{2029}';
const SEPARATORS: [char; 2] = [LINE_SEPARATOR, PARAGRAPH_SEPARATOR];

/// Writes a value.
pub fn write(to: impl Write, value: &(impl Serialize + ?Sized)) -> Result<()> {
    value.serialize(&mut Serializer::with_formatter(to, Escaping))
}

/// The text of a value.
pub fn text(value: impl Into<Value>) -> String {
    let mut text = Vec::new();
    // Writing a JSON value to memory cannot fail.
    let _ = write(&mut text, &value.into());
    String::from_utf8_lossy(&text).into_owned()
}

struct Escaping;

impl Formatter for Escaping {
    fn write_string_fragment<W: Write + ?Sized>(&mut self, to: &mut W, fragment: &str) -> io::Result<()> {
        for piece in fragment.split_inclusive(SEPARATORS) {
            let (plain, escape) = match piece.char_indices().next_back() {
                Some((end, LINE_SEPARATOR)) => (piece.get(..end), "\\u2028"),
                Some((end, PARAGRAPH_SEPARATOR)) => (piece.get(..end), "\\u2029"),
                _ => (Some(piece), ""),
            };
            to.write_all(plain.unwrap_or_default().as_bytes())?;
            to.write_all(escape.as_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{SEPARATORS, text};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn both_separators_are_escaped_in_names_and_values() {
        assert_eq!(text("a\u{2028}\u{2029}b\u{2027}\u{202a}"), "\"a\\u2028\\u2029b\u{2027}\u{202a}\"");
        assert_eq!(text(json!({ "\u{2028}": ["\u{2029}", 1, null] })), r#"{"\u2028":["\u2029",1,null]}"#);
    }

    proptest! {
        #[test]
        fn written_text_parses_to_the_same_value(original in "[a\"\\\\\n\u{2028}\u{2029}é€]{0,20}") {
            let written = text(original.as_str());
            prop_assert!(!written.contains(SEPARATORS));
            prop_assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), Value::from(original));
        }
    }
}

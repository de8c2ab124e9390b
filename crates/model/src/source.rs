//! Identifiers of sources.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The identifier of a source: a hash of its address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SourceId(pub [u8; 16]);

impl SourceId {
    /// Parses the form that [`fmt::Display`] writes: 32 hexadecimal digits in lower case.
    pub fn parse(text: &str) -> Option<SourceId> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let well_formed = text.len() == 32 && text.bytes().all(is_digit);
        let number = u128::from_str_radix(text, 16).ok().filter(|_| well_formed)?;
        Some(SourceId(number.to_be_bytes()))
    }
}

impl From<SourceId> for String {
    fn from(id: SourceId) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for SourceId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<SourceId, &'static str> {
        SourceId::parse(&text).ok_or("expected 32 hexadecimal digits")
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_identifier_is_parsed_to_the_same_value() {
        for bytes in [[0; 16], [255; 16], [7; 16], *b"\0\x01\x02 and the rest"] {
            let id = SourceId(bytes);
            assert_eq!(id.to_string().len(), 32);
            assert_eq!(SourceId::parse(&id.to_string()), Some(id));
        }
    }

    #[test]
    fn any_other_text_is_refused() {
        let digits = "0".repeat(31);
        for wrong in ["", &digits, &format!("{digits}00"), &format!("{digits}A"), &format!("+{digits}")] {
            assert_eq!(SourceId::parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn identifiers_are_ordered_as_their_bytes() {
        let (mut low, mut high) = ([0; 16], [0; 16]);
        (low[15], high[0]) = (255, 1);
        assert!(SourceId(low) < SourceId(high));
        assert!(SourceId(low).to_string() < SourceId(high).to_string());
    }
}

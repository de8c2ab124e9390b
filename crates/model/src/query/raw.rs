//! Parsing of form-encoded text, from a query string or a form body.

use super::ParameterError;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, utf8_percent_encode};

/// The parameters as sent, in order. Names are recognised in any case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RawQuery {
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl RawQuery {
    /// Parses a query string.
    pub fn parse(text: &[u8]) -> RawQuery {
        let mut raw = RawQuery::default();
        raw.extend(text);
        raw
    }

    /// The approximate size in memory.
    pub fn bytes(&self) -> usize {
        self.pairs
            .iter()
            .map(|(name, value)| name.len() + value.len() + size_of::<(Vec<u8>, Vec<u8>)>())
            .sum()
    }

    /// Adds the parameters of another form-encoded text.
    pub fn extend(&mut self, text: &[u8]) {
        let pairs = text.split(|b| *b == b'&').filter(|pair| !pair.is_empty());
        self.pairs.extend(pairs.map(|pair| {
            let mut halves = pair.splitn(2, |b| *b == b'=');
            (decode(halves.next().unwrap_or_default()), decode(halves.next().unwrap_or_default()))
        }));
    }

    /// The value of a parameter that may be sent once. An empty value counts as absent.
    pub(super) fn scalar(&self, name: &'static str) -> Result<Option<String>, ParameterError> {
        let mut values = self.texts(name);
        let first = values.next().transpose()?;
        if values.next().is_some() {
            return Err(ParameterError::new(name, "sent twice: send it once"));
        }
        Ok(first)
    }

    /// The values of a parameter that may be repeated, or have several values separated by commas.
    pub(super) fn values(&self, name: &'static str) -> Result<Vec<String>, ParameterError> {
        let mut all = Vec::new();
        for text in self.texts(name) {
            all.extend(text?.split(',').map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned));
        }
        Ok(all)
    }

    fn texts(&self, name: &'static str) -> impl Iterator<Item = Result<String, ParameterError>> {
        let named = self
            .pairs
            .iter()
            .filter(move |(n, value)| n.eq_ignore_ascii_case(name.as_bytes()) && !value.is_empty());
        named.map(move |(_, value)| {
            String::from_utf8(value.clone())
                .map_err(|_| ParameterError::new(name, "expected UTF-8 text, percent-encoded"))
        })
    }
}

/// Percent-decodes once. A `+` is a space. A `%` that begins no escape is unchanged.
fn decode(text: &[u8]) -> Vec<u8> {
    let spaced: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    percent_decode(&spaced).collect()
}

/// The characters that are encoded in a query string. Commas and colons stay readable.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b',').remove(b':');

/// Percent-encodes a value for a query string.
pub fn encode_component(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

//! The signed parameters, decoded and in the order of the base string.

use crate::encoding::{Plus, decode_into, encoded_order};
use crate::limits::MAX_PARAMETERS;
use crate::malformed::Malformed;

/// All signed parameters, in one buffer: a request has a dozen, and an allocation for each name and value would
/// cost more than the signature.
#[derive(Clone)]
pub(crate) struct Parameters {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

/// The position of a parameter in the buffer.
#[derive(Clone, Copy)]
struct Entry {
    name: usize,
    value: usize,
    end: usize,
}

/// The parameter that was decoded last.
pub(crate) struct Decoded<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) value: &'a [u8],
    /// Whether every percent sign has two hexadecimal digits.
    pub(crate) well_formed: bool,
}

impl Parameters {
    /// Empty, with room for this many encoded bytes.
    pub(crate) fn with_capacity(encoded_length: usize) -> Self {
        Self { bytes: Vec::with_capacity(encoded_length), entries: Vec::with_capacity(16) }
    }

    /// Decodes a pair and adds it.
    pub(crate) fn push(&mut self, name: &[u8], value: &[u8], plus: Plus) -> Result<Decoded<'_>, Malformed> {
        if self.entries.len() >= MAX_PARAMETERS {
            return Err(Malformed::TooManyParameters);
        }
        let start = self.bytes.len();
        let name_well_formed = decode_into(&mut self.bytes, name, plus);
        let middle = self.bytes.len();
        let value_well_formed = decode_into(&mut self.bytes, value, plus);
        let entry = Entry { name: start, value: middle, end: self.bytes.len() };
        self.entries.push(entry);
        let (name, value) = self.pair(entry);
        Ok(Decoded { name, value, well_formed: name_well_formed && value_well_formed })
    }

    /// Removes the last parameter.
    pub(crate) fn pop(&mut self) {
        if let Some(entry) = self.entries.pop() {
            self.bytes.truncate(entry.name);
        }
    }

    /// Sorts by encoded name, then by encoded value, as the base string requires.
    pub(crate) fn sort(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_unstable_by(|left, right| {
            let ((name, value), (other_name, other_value)) = (self.pair(*left), self.pair(*right));
            encoded_order(name, other_name).then_with(|| encoded_order(value, other_value))
        });
        self.entries = entries;
    }

    /// Names and values, decoded.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.entries.iter().map(|entry| self.pair(*entry))
    }

    /// The values of a name. Requires sorted parameters.
    pub(crate) fn values(&self, name: &[u8]) -> impl Iterator<Item = &[u8]> {
        let first = self.entries.partition_point(|entry| encoded_order(self.pair(*entry).0, name).is_lt());
        let from_first = self.entries.get(first..).unwrap_or_default();
        from_first
            .iter()
            .map(|entry| self.pair(*entry))
            .take_while(move |(parameter, _)| *parameter == name)
            .map(|(_, value)| value)
    }

    /// The total length of all names and values, in bytes.
    pub(crate) const fn length(&self) -> usize {
        self.bytes.len()
    }

    fn pair(&self, entry: Entry) -> (&[u8], &[u8]) {
        let part = |from, to| self.bytes.get(from..to).unwrap_or_default();
        (part(entry.name, entry.value), part(entry.value, entry.end))
    }
}

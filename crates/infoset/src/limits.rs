//! Limits of the decoder.

use std::fmt;

/// Limits on the cost of decoding one document.
///
/// The defaults suit request bodies of a web service. Override as needed:
///
/// ```
/// let limits = infoset::Limits { bytes: 64 * 1024, depth: 16, ..infoset::Limits::default() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Octets of the encoded document. Default 8 MiB.
    pub bytes: usize,
    /// Nested elements; the root is level 1. Default 64.
    pub depth: usize,
    /// Attributes and namespace declarations of one element, together. Default 64.
    pub attributes: usize,
    /// Entries of all vocabulary tables together. Default 65,536.
    ///
    /// Names cost up to two entries each (the local name and the qualified name).
    pub table_entries: usize,
    /// Octets of one encoded string. Default 1 MiB.
    pub string: usize,
    /// Octets sent to the sink. Default 32 MiB.
    ///
    /// One octet can repeat a long string, so a short document can produce a huge output. This counts the
    /// octets (UTF-8) of every name, namespace, value and text, and 32 more for each element, attribute and
    /// namespace declaration. Escaping is not counted: it can make XML text up to six times as long.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 8 << 20,
            depth: 64,
            attributes: 64,
            table_entries: 1 << 16,
            string: 1 << 20,
            output: 32 << 20,
        }
    }
}

/// The exceeded limit of [`Limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::bytes`]
    Bytes,
    /// [`Limits::depth`]
    Depth,
    /// [`Limits::attributes`]
    Attributes,
    /// [`Limits::table_entries`]
    TableEntries,
    /// [`Limits::string`]
    String,
    /// [`Limits::output`]
    Output,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bytes => "the document is too long",
            Self::Depth => "elements are nested too deeply",
            Self::Attributes => "an element has too many attributes",
            Self::TableEntries => "the vocabulary tables have too many entries",
            Self::String => "a string is too long",
            Self::Output => "the document expands to too much",
        })
    }
}

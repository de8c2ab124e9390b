//! Limits on the cost of reading a document, and on the size of the result.

/// The longest document that is read, in bytes.
pub const MAX_BYTES: usize = 5 << 20;

/// The most items kept of a feed. The latest are kept.
pub const MAX_ITEMS: usize = 1_000;

/// The longest identifier of an item, in bytes. Longer ones are hashed.
pub const MAX_ID: usize = 512;

/// The longest title or name, in characters.
pub const MAX_TITLE: usize = 1_000;

/// The longest text, in characters.
pub const MAX_TEXT: usize = 4_000;

/// The longest address, in bytes. Longer ones are left out.
pub const MAX_URL: usize = 2_048;

/// The most items of a feed that are read before the latest are selected.
pub(crate) const MAX_ITEMS_SCANNED: usize = 10_000;

/// The deepest nesting of elements. Tree walks are recursive.
pub(crate) const MAX_DEPTH: usize = 128;

/// The most elements and attributes of a document. They dominate the memory of its tree.
pub(crate) const MAX_NODES: usize = 300_000;

/// The most attributes of an element.
pub(crate) const MAX_ATTRIBUTES: usize = 64;

/// The longest name of an element or attribute, in bytes.
pub(crate) const MAX_NAME: usize = 256;

/// The most addresses taken from a page or header.
pub(crate) const MAX_LINKS: usize = 64;

/// The most links of a page that are examined.
pub(crate) const MAX_LINKS_SCANNED: usize = 1_000;

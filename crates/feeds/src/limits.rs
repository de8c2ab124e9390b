//! What somebody else's document may cost, and how much of it is kept.

/// The longest document that is read, in bytes.
pub const MAX_BYTES: usize = 5 << 20;

/// The most items that are kept of a feed: the latest ones.
pub const MAX_ITEMS: usize = 1_000;

/// The longest identifier of an item, in bytes. A longer one is hashed.
pub const MAX_ID: usize = 512;

/// The longest title or name, in characters.
pub const MAX_TITLE: usize = 1_000;

/// The longest text, in characters.
pub const MAX_TEXT: usize = 4_000;

/// The longest address, in bytes. A longer one is left out.
pub const MAX_URL: usize = 2_048;

/// The most items that are looked at in a feed before the latest are chosen.
pub(crate) const MAX_ITEMS_LOOKED_AT: usize = 10_000;

/// How deep elements may stand in each other; readers walk down a tree by calling themselves.
pub(crate) const MAX_DEPTH: usize = 128;

/// The most elements and attributes of a document: what a tree costs in memory is mostly theirs, however short they
/// are written.
pub(crate) const MAX_NODES: usize = 300_000;

/// The most attributes of an element.
pub(crate) const MAX_ATTRIBUTES: usize = 64;

/// The longest name of an element or attribute, in bytes.
pub(crate) const MAX_NAME: usize = 256;

/// The most addresses that one page or header is asked for.
pub(crate) const MAX_LINKS: usize = 64;

/// The most links of a page that are looked at for them.
pub(crate) const MAX_LINKS_LOOKED_AT: usize = 1_000;

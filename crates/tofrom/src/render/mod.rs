//! Rendering of pages and activities in four formats.
//!
//! `document` defines the fields of an activity once; XML, JSON and Fast Infoset are three encodings of them, so they
//! cannot diverge. Atom has its own vocabulary. Pages are assembled from cached fragments, one for each version of an
//! activity. Fast Infoset has tables that span the whole document, so it is always rendered as a whole.

mod atom;
pub mod document;
mod json;
mod page;
mod single;
mod xml;

pub use page::{Links, PageView, Renderer};

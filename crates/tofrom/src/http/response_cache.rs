//! ActivityRecord bodies, as they were written and coded, remembered by their entity tags.
//!
//! Pollers ask for the same page again and again. Its tag is known before anything is rendered, and says all that the
//! body depends on but for links; so it finds the body, whoever asked for it first.

use super::negotiate::Coding;
use axum::body::Bytes;
use model::Format;

/// How much memory bodies may take.
const BYTES: u64 = 64 << 20;

/// A body in the coding that it is really in.
#[derive(Clone)]
pub(super) struct Body {
    pub(super) coding: Coding,
    pub(super) bytes: Bytes,
}

/// Bodies by tag.
pub(super) struct Written(moka::sync::Cache<String, Body>);

impl Written {
    pub(super) fn new() -> Written {
        let weigh =
            |tag: &String, body: &Body| u32::try_from(tag.len() + body.bytes.len() + 128).unwrap_or(u32::MAX);
        Written(moka::sync::Cache::builder().max_capacity(BYTES).weigher(weigh).build())
    }

    pub(super) fn get(&self, tag: &str, format: Format) -> Option<Body> {
        if depends_on_links(format) { None } else { self.0.get(tag) }
    }

    pub(super) fn keep(&self, tag: &str, format: Format, body: &Body) {
        if !depends_on_links(format) {
            self.0.insert(tag.to_owned(), body.clone());
        }
    }
}

/// Atom has its links in the body, and they change whenever anything arrives anywhere.
fn depends_on_links(format: Format) -> bool {
    format == Format::Atom
}

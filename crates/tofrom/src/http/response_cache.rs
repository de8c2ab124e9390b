//! A cache of encoded response bodies by entity tag.
//!
//! Clients poll the same page again and again. Its tag is known before anything is rendered and covers everything that
//! the body depends on, except links. So all callers can share a cached body.

use super::negotiate::Coding;
use axum::body::Bytes;
use model::Format;

/// The memory limit of the cache.
const MAX_BYTES: u64 = 64 << 20;

/// A body and the coding that was applied to it.
#[derive(Clone)]
pub(super) struct EncodedBody {
    pub(super) coding: Coding,
    pub(super) bytes: Bytes,
}

/// Encoded bodies by entity tag.
pub(super) struct ResponseCache(moka::sync::Cache<String, EncodedBody>);

impl ResponseCache {
    pub(super) fn new() -> ResponseCache {
        let weigh = |tag: &String, body: &EncodedBody| {
            u32::try_from(tag.len() + body.bytes.len() + 128).unwrap_or(u32::MAX)
        };
        ResponseCache(moka::sync::Cache::builder().max_capacity(MAX_BYTES).weigher(weigh).build())
    }

    pub(super) fn get(&self, tag: &str, format: Format) -> Option<EncodedBody> {
        if depends_on_links(format) { None } else { self.0.get(tag) }
    }

    pub(super) fn insert(&self, tag: &str, format: Format, body: &EncodedBody) {
        if !depends_on_links(format) {
            self.0.insert(tag.to_owned(), body.clone());
        }
    }
}

/// Atom has its links in the body, and they change with every arrival.
fn depends_on_links(format: Format) -> bool {
    format == Format::Atom
}

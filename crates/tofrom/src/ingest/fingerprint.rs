//! A hash that detects unchanged content.

use aws_lc_rs::digest::{Context, SHA256};
use model::{Body, Visibility};
use store::StoreError;

/// A hash of all content that a new version can change. Fields fixed by the first version (type, verb, published time) are
/// not included. Recipients count by the names that were sent, which are part of the body, and not by the accounts behind
/// them: the outcome of a write must not reveal which names exist.
pub(super) fn fingerprint(body: &Body, visibility: Visibility) -> Result<[u8; 16], StoreError> {
    // The fields of a body are written in a fixed order and quoted, so only equal bodies have equal texts.
    // The importing connection is not content: two connections with the same items would otherwise overwrite each other
    // forever.
    let body = Body { imported_by: None, ..body.clone() };
    let body = serde_json::to_vec(&body).map_err(|error| StoreError::Corrupt(error.to_string()))?;
    let mut context = Context::new(&SHA256);
    context.update(&body);
    context.update(visibility.as_str().as_bytes());
    let digest = context.finish();
    digest.as_ref().first_chunk().copied().ok_or_else(|| StoreError::Corrupt("a hash is 32 bytes".to_owned()))
}

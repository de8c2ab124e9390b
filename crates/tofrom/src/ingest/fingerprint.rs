//! Tells equal content from other content without keeping either.

use aws_lc_rs::digest::{Context, SHA256};
use model::{Body, Visibility};
use store::StoreError;

/// A hash of all that a new version can change. What an activity keeps from its first version (type, verb, published
/// time) is not in it. Of the recipients it has the names as they were sent, which are part of the body, and not the
/// accounts behind them: whether a version is a new one must not tell the sender which names exist.
pub(super) fn fingerprint(body: &Body, visibility: Visibility) -> Result<[u8; 16], StoreError> {
    // The fields of a body are written in a fixed order and with their lengths told by the quoting, so equal bodies
    // and only those have equal texts.
    // Who brought it is no content: of two connections that bring the same, the one would forever change the other's.
    let body = Body { imported_by: None, ..body.clone() };
    let body = serde_json::to_vec(&body).map_err(|error| StoreError::Corrupt(error.to_string()))?;
    let mut context = Context::new(&SHA256);
    context.update(&body);
    context.update(visibility.as_str().as_bytes());
    let digest = context.finish();
    digest.as_ref().first_chunk().copied().ok_or_else(|| StoreError::Corrupt("a hash is 32 bytes".to_owned()))
}

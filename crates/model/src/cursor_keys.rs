//! Seals cursors, so that they show neither account numbers nor positions in the delivery log.
//!
//! AES-GCM-SIV with a fixed nonce is deterministic: equal contents are equal texts, so equal pages have equal links.
//! A text is a version byte, the ciphertext and its tag, in base64url.

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

const VERSION: u8 = 2;
const AAD: &[u8] = b"cursor";

/// The keys of cursors: the first one seals, any of them opens. Without keys, nothing opens. Cloning is cheap.
#[derive(Clone, Default)]
pub struct CursorKeys(Arc<[LessSafeKey]>);

impl CursorKeys {
    /// The cipher of each key, prepared once.
    pub fn new<K: Deref<Target = [u8; 32]>>(keys: impl IntoIterator<Item = K>) -> CursorKeys {
        let cipher = |key: K| UnboundKey::new(&AES_256_GCM_SIV, &*key).ok().map(LessSafeKey::new);
        CursorKeys(keys.into_iter().filter_map(cipher).collect())
    }

    /// The text of a cursor with this content. The first byte of a content is its kind: collections have 0 to 2.
    pub fn seal(&self, mut content: Vec<u8>) -> String {
        let sealed = self
            .0
            .first()
            .and_then(|key| key.seal_in_place_append_tag(fixed_nonce(), Aad::from(AAD), &mut content).ok());
        if sealed.is_none() {
            // The cipher does not fail for contents of this size. If it did, the cursor would not open.
            content.clear();
        }
        content.insert(0, VERSION);
        URL_SAFE_NO_PAD.encode(content)
    }

    /// The content of a cursor that one of the keys sealed.
    pub fn open(&self, text: &str) -> Option<Vec<u8>> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let sealed = bytes.strip_prefix(&[VERSION])?;
        self.0.iter().find_map(|key| {
            let mut content = sealed.to_vec();
            let length = key.open_in_place(fixed_nonce(), Aad::from(AAD), &mut content).ok()?.len();
            content.truncate(length);
            Some(content)
        })
    }
}

/// A repeated nonce reveals only that two contents are equal.
fn fixed_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

impl fmt::Debug for CursorKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CursorKeys({})", self.0.len())
    }
}

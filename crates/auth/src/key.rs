//! Pre-shared keys: 256 random bits, shown once, stored as a hash.

use super::last_use::LastUse;
use super::{AuthError, CREDENTIAL_CACHE_TTL, Shared};
use model::{Account, Key, KeyId, Millis};
use moka::sync::Cache;
use seal::NoRandomness;
use std::net::IpAddr;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Prefix of every key, by which people and secret scanners recognise one.
const PREFIX: &str = "tfk_";
/// The length of 32 bytes in base64 without padding.
const ENCODED_LEN: usize = 43;

/// A new key. Debug does not show it.
#[derive(Debug)]
pub struct GeneratedKey {
    /// The key, shown once to its owner.
    pub text: Zeroizing<String>,
    /// The stored hash.
    pub hash: [u8; 32],
    /// The public identifier.
    pub id: KeyId,
}

/// Generates a key.
pub fn generate() -> Result<GeneratedKey, NoRandomness> {
    let text = seal::random_text::<32>(PREFIX)?;
    let hash = seal::sha256(text.as_bytes());
    Ok(GeneratedKey { text, hash, id: KeyId(u64::from_be_bytes(*seal::random()?)) })
}

/// The hash under which a key is stored, or `None` if the text does not have the form of a key.
pub fn hash_of(text: &str) -> Option<[u8; 32]> {
    let encoded = text.strip_prefix(PREFIX)?;
    let base64url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (encoded.len() == ENCODED_LEN && encoded.bytes().all(base64url)).then(|| seal::sha256(text.as_bytes()))
}

/// Authenticates accounts by key.
pub(super) struct Keys {
    shared: Shared,
    cache: Cache<[u8; 32], Arc<Key>>,
    uses: LastUse<[u8; 32]>,
}

impl Keys {
    pub(super) fn new(shared: Shared) -> Keys {
        let cache = Cache::builder().max_capacity(100_000).time_to_live(CREDENTIAL_CACHE_TTL).build();
        Keys { shared, cache, uses: LastUse::new() }
    }

    /// The account of a key, and the key. Only wrong keys are throttled: 256 bits cannot be guessed, and other clients
    /// at the same address must not block a valid key.
    pub(super) async fn open(
        &self,
        text: &str,
        remote: IpAddr,
    ) -> Result<(Arc<Account>, Arc<Key>), AuthError> {
        let found = match hash_of(text) {
            Some(hash) => self.open_hash(hash).await?,
            None => None,
        };
        match found {
            Some(found) => Ok(found),
            None => {
                self.shared.throttle.wrong_key(remote)?;
                Err(AuthError::BadCredentials)
            }
        }
    }

    /// The account's current state, if the key is still valid.
    pub(super) async fn revalidate(&self, key: &Key) -> store::Result<Option<Arc<Account>>> {
        Ok(self.open_hash(key.hash).await?.map(|(account, _)| account))
    }

    async fn open_hash(&self, hash: [u8; 32]) -> store::Result<Option<(Arc<Account>, Arc<Key>)>> {
        let now = self.shared.clock.now();
        let Some(key) = self.key(hash).await?.filter(|key| key.is_live(now)) else {
            return Ok(None);
        };
        let Some(account) = self.shared.accounts.get(key.owner).await?.filter(|account| account.may_act())
        else {
            return Ok(None);
        };
        self.record_use(&key, now);
        Ok(Some((account, key)))
    }

    async fn key(&self, hash: [u8; 32]) -> store::Result<Option<Arc<Key>>> {
        if let Some(key) = self.cache.get(&hash) {
            return Ok(Some(key));
        }
        let found = self.shared.store.key_by_hash(&hash).await?.map(Arc::new);
        if let Some(key) = &found {
            self.cache.insert(hash, Arc::clone(key));
        }
        Ok(found)
    }

    /// Removes a revoked key from the cache.
    pub(super) fn forget(&self, hash: &[u8; 32]) {
        self.cache.invalidate(hash);
    }

    /// Records the use of the key: in the background, at most once per interval.
    fn record_use(&self, key: &Key, now: Millis) {
        if !self.uses.is_due(key.hash, key.used, now) {
            return;
        }
        let (store, hash, id) = (Arc::clone(&self.shared.store), key.hash, key.id);
        tokio::spawn(async move {
            if let Err(error) = store.touch_key(&hash, now).await {
                tracing::warn!(%error, key = %id, "last use of key not recorded");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_a_prefix_and_43_characters() {
        let key = generate().unwrap();
        assert_eq!(key.text.len(), 47);
        assert_eq!(hash_of(&key.text), Some(key.hash));
        assert_ne!(key.text, generate().unwrap().text);
        assert!(!format!("{key:?}").contains(key.text.as_str()));
        let good = "x".repeat(43);
        assert!(hash_of(&format!("tfk_{good}")).is_some());
        for wrong in ["", "tfk_", "TFK_", &good, &format!("tfk_{good}x"), &format!("tfk_{}=", "x".repeat(42))]
        {
            assert_eq!(hash_of(wrong), None, "{wrong}");
        }
    }
}

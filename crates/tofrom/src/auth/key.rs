//! Pre-shared keys: 256 random bits, shown once, stored as a hash.

use super::last_use::LastUse;
use super::primitives::{self, NoRandomness};
use super::throttle::Throttle;
use super::{AuthError, CHANGES_COUNT_AFTER};
use crate::accounts::AccountCache;
use crate::clock::Clock;
use model::{Account, Key, KeyId, Millis};
use moka::sync::Cache;
use std::net::IpAddr;
use std::sync::Arc;
use store::Store;
use zeroize::Zeroizing;

/// What every key starts with, so that people and secret scanners know one when they see it.
const PREFIX: &str = "tfk_";
/// The length of 32 bytes in base64 without padding.
const ENCODED: usize = 43;

/// A new key. Debug does not show it.
#[derive(Debug)]
pub struct GeneratedKey {
    /// The key itself, for its owner's eyes, once.
    pub text: Zeroizing<String>,
    /// What is stored of it.
    pub hash: [u8; 32],
    /// Its public name.
    pub id: KeyId,
}

/// Makes a key.
pub fn generate() -> Result<GeneratedKey, NoRandomness> {
    let text = primitives::random_text::<32>(PREFIX)?;
    let hash = primitives::sha256(text.as_bytes());
    Ok(GeneratedKey { text, hash, id: KeyId(u64::from_be_bytes(*primitives::random()?)) })
}

/// The hash under which a key is stored; `None` if the text can't be a key.
pub fn hash_of(text: &str) -> Option<[u8; 32]> {
    let encoded = text.strip_prefix(PREFIX)?;
    let base64url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (encoded.len() == ENCODED && encoded.bytes().all(base64url)).then(|| primitives::sha256(text.as_bytes()))
}

/// Lets accounts in by key.
pub(super) struct Keys {
    store: Arc<dyn Store>,
    accounts: AccountCache,
    throttle: Arc<Throttle>,
    clock: Clock,
    known: Cache<[u8; 32], Arc<Key>>,
    uses: LastUse<[u8; 32]>,
}

impl Keys {
    pub(super) fn new(
        store: Arc<dyn Store>,
        accounts: AccountCache,
        throttle: Arc<Throttle>,
        clock: Clock,
    ) -> Keys {
        let known = Cache::builder().max_capacity(100_000).time_to_live(CHANGES_COUNT_AFTER).build();
        Keys { store, accounts, throttle, clock, known, uses: LastUse::new() }
    }

    /// The account that a key opens, and what for. The throttle is asked only about wrong keys: nobody guesses 256
    /// bits, and a right one must not suffer from what others do at the same address.
    pub(super) async fn open(
        &self,
        text: &str,
        remote: IpAddr,
    ) -> Result<(Arc<Account>, Arc<Key>), AuthError> {
        let opened = match hash_of(text) {
            Some(hash) => self.open_hash(hash).await?,
            None => None,
        };
        match opened {
            Some(opened) => Ok(opened),
            None => {
                self.throttle.wrong_key(remote)?;
                Err(AuthError::BadCredentials)
            }
        }
    }

    /// The account as it is now, if the key still opens it.
    pub(super) async fn still(&self, key: &Key) -> store::Result<Option<Arc<Account>>> {
        Ok(self.open_hash(key.hash).await?.map(|(account, _)| account))
    }

    async fn open_hash(&self, hash: [u8; 32]) -> store::Result<Option<(Arc<Account>, Arc<Key>)>> {
        let now = self.clock.now();
        let Some(key) = self.key(hash).await?.filter(|key| key.is_live(now)) else {
            return Ok(None);
        };
        let Some(account) = self.accounts.get(key.owner).await?.filter(|account| account.may_act()) else {
            return Ok(None);
        };
        self.note_use(&key, now);
        Ok(Some((account, key)))
    }

    async fn key(&self, hash: [u8; 32]) -> store::Result<Option<Arc<Key>>> {
        if let Some(key) = self.known.get(&hash) {
            return Ok(Some(key));
        }
        let found = self.store.key_by_hash(&hash).await?.map(Arc::new);
        if let Some(key) = &found {
            self.known.insert(hash, Arc::clone(key));
        }
        Ok(found)
    }

    /// Forgets a key that was just revoked.
    pub(super) fn forget(&self, hash: &[u8; 32]) {
        self.known.invalidate(hash);
    }

    /// Notes that the key was used, now and then and beside the request.
    fn note_use(&self, key: &Key, now: Millis) {
        if !self.uses.is_due(key.hash, key.used, now) {
            return;
        }
        let (store, hash, id) = (Arc::clone(&self.store), key.hash, key.id);
        tokio::spawn(async move {
            if let Err(error) = store.touch_key(&hash, now).await {
                tracing::warn!(%error, key = %id, "could not note that a key was used");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape() {
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

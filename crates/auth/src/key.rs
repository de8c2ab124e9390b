//! Pre-shared keys: 256 random bits, shown once, stored as a hash.
//!
//! A key may create others over HTTP. Each knows the key that created it, and works only while none in that line is revoked.

use super::last_use::LastUse;
use super::{AuthError, CREDENTIAL_CACHE_TTL, Shared};
use model::{Account, Key, KeyId, Millis, Quota, QuotaReached, Scopes, Uid};
use moka::sync::Cache;
use seal::NoRandomness;
use std::net::IpAddr;
use std::sync::Arc;
use store::{Store, StoreError};
use zeroize::Zeroizing;

/// Prefix of every key, by which people and secret scanners recognise one.
const PREFIX: &str = "tfk_";
/// The length of 32 bytes in base64 without padding.
const ENCODED_LEN: usize = 43;

/// The maximum number of keys in a line, each created by the one before it.
const MAX_LINE: usize = 8;
/// The maximum length of a name.
const MAX_NAME: usize = 100;

/// The properties of a key to create.
#[derive(Debug)]
pub struct NewKey {
    /// The name, see [`name`].
    pub name: String,
    /// The permissions.
    pub scopes: Scopes,
    /// When it expires.
    pub expires: Option<Millis>,
    /// The key that creates it, if one does.
    pub parent: Option<[u8; 32]>,
}

/// Why a key is not created.
#[derive(Debug, thiserror::Error)]
pub enum AddKeyError {
    /// The account has as many as it may.
    #[error(transparent)]
    Quota(QuotaReached),
    /// Too many keys have created each other.
    #[error(
        "a key may be created by a key that was created by a key, and so on, {MAX_LINE} times: use an earlier one"
    )]
    TooLongLine,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There are no random numbers.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

/// A valid name of a key: without surrounding blanks, or `None`.
pub fn name(text: &str) -> Option<String> {
    let name = text.trim();
    let valid = !name.is_empty() && name.chars().count() <= MAX_NAME && !name.chars().any(char::is_control);
    valid.then(|| name.to_owned())
}

/// Creates a key of an account that may have `max` of them. Returns it with its text, which is shown once.
pub async fn add(
    store: &dyn Store,
    owner: Uid,
    new: NewKey,
    max: u64,
    now: Millis,
) -> Result<(Key, Zeroizing<String>), AddKeyError> {
    if live(store, owner, now).await?.len() as u64 >= max {
        return Err(AddKeyError::Quota(QuotaReached { quota: Quota::Keys, max }));
    }
    if let Some(parent) = &new.parent
        && line_above(store, *parent).await?.len() >= MAX_LINE
    {
        return Err(AddKeyError::TooLongLine);
    }
    let GeneratedKey { text, hash, id } = generate()?;
    let NewKey { name, scopes, expires, parent } = new;
    let key = Key { id, hash, owner, name, scopes, created: now, expires, revoked: None, used: None, parent };
    store.add_key(&key).await?;
    Ok((key, text))
}

/// The keys of an account that work, oldest first.
pub async fn live(store: &dyn Store, owner: Uid, now: Millis) -> store::Result<Vec<Key>> {
    let mut live = Vec::new();
    for key in store.keys_of(owner).await?.into_iter().filter(|key| key.is_live(now)) {
        let line = match key.parent {
            Some(parent) => line_above(store, parent).await?,
            None => Vec::new(),
        };
        if line.iter().all(|above| above.revoked.is_none()) {
            live.push(key);
        }
    }
    Ok(live)
}

/// The key with this hash, the one that created it, and so on.
async fn line_above(store: &dyn Store, hash: [u8; 32]) -> store::Result<Vec<Key>> {
    let (mut line, mut next) = (Vec::new(), Some(hash));
    while let Some(hash) = next.filter(|_| line.len() < MAX_LINE) {
        let Some(key) = store.key_by_hash(&hash).await? else { break };
        next = key.parent;
        line.push(key);
    }
    Ok(line)
}

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
        if !self.has_live_line(&key).await? {
            return Ok(None);
        }
        let Some(account) = self.shared.accounts.get(key.owner).await?.filter(|account| account.may_act())
        else {
            return Ok(None);
        };
        self.record_use(&key, now);
        Ok(Some((account, key)))
    }

    /// Whether no key in the line that created this one is revoked.
    async fn has_live_line(&self, key: &Key) -> store::Result<bool> {
        let (mut next, mut length) = (key.parent, 0);
        while let Some(hash) = next {
            let Some(above) = self.key(hash).await?.filter(|above| above.revoked.is_none()) else {
                return Ok(false);
            };
            length += 1;
            if length > MAX_LINE {
                return Ok(false);
            }
            next = above.parent;
        }
        Ok(true)
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

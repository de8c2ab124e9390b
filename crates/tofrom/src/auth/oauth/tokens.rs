//! A cache of access tokens.

use super::super::CREDENTIAL_CACHE_TTL;
use super::super::last_use::LastUse;
use model::{AccessToken, Millis};
use moka::sync::Cache;
use std::sync::Arc;
use store::Store;

/// Binds a sealed secret to its token, so that it does not open for another one.
pub(in crate::auth) fn context(key: &str) -> String {
    format!("access-token-secret {key}")
}

pub(super) struct Tokens {
    store: Arc<dyn Store>,
    cache: Cache<String, Arc<AccessToken>>,
    /// Tokens that changed recently on this server. They bypass the cache, because a concurrent read may still insert
    /// the old state.
    changed: Cache<String, ()>,
    uses: LastUse<String>,
}

impl Tokens {
    pub(super) fn new(store: Arc<dyn Store>) -> Tokens {
        let cache = Cache::builder().max_capacity(100_000).time_to_live(CREDENTIAL_CACHE_TTL).build();
        let changed = Cache::builder().max_capacity(100_000).time_to_live(2 * CREDENTIAL_CACHE_TTL).build();
        Tokens { store, cache, changed, uses: LastUse::new() }
    }

    pub(super) async fn get(&self, key: &str) -> store::Result<Option<Arc<AccessToken>>> {
        if self.changed.contains_key(key) {
            return Ok(self.store.token(key).await?.map(Arc::new));
        }
        if let Some(token) = self.cache.get(key) {
            return Ok(Some(token));
        }
        let found = self.store.token(key).await?.map(Arc::new);
        if let Some(token) = &found {
            self.cache.insert(key.to_owned(), Arc::clone(token));
        }
        Ok(found)
    }

    /// Removes a changed token from the cache.
    pub(super) fn forget(&self, key: &str) {
        self.changed.insert(key.to_owned(), ());
        self.cache.invalidate(key);
    }

    /// Records the use of the token: in the background, at most once per interval.
    pub(super) fn record_use(&self, token: &AccessToken, now: Millis) {
        if self.uses.is_due(token.key.clone(), token.used, now) {
            let (store, key) = (Arc::clone(&self.store), token.key.clone());
            tokio::spawn(async move {
                if let Err(error) = store.touch_token(&key, now).await {
                    tracing::warn!(%error, token = %key, "last use of token not recorded");
                }
            });
        }
    }
}

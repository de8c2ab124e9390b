//! Access tokens, remembered for moments.

use super::super::CHANGES_COUNT_AFTER;
use super::super::last_use::LastUse;
use model::{AccessToken, Millis};
use moka::sync::Cache;
use std::sync::Arc;
use store::Store;

/// OwnerContext a sealed secret to its token, so that one can't be put in another's place.
pub(in crate::auth) fn context(key: &str) -> String {
    format!("access-token-secret {key}")
}

pub(super) struct Tokens {
    store: Arc<dyn Store>,
    known: Cache<String, Arc<AccessToken>>,
    /// Tokens that were just changed here. Whoever read one before that may still put it among the known ones.
    changed: Cache<String, ()>,
    uses: LastUse<String>,
}

impl Tokens {
    pub(super) fn new(store: Arc<dyn Store>) -> Tokens {
        let known = Cache::builder().max_capacity(100_000).time_to_live(CHANGES_COUNT_AFTER).build();
        let changed = Cache::builder().max_capacity(100_000).time_to_live(2 * CHANGES_COUNT_AFTER).build();
        Tokens { store, known, changed, uses: LastUse::new() }
    }

    pub(super) async fn get(&self, key: &str) -> store::Result<Option<Arc<AccessToken>>> {
        if self.changed.contains_key(key) {
            return Ok(self.store.token(key).await?.map(Arc::new));
        }
        if let Some(token) = self.known.get(key) {
            return Ok(Some(token));
        }
        let found = self.store.token(key).await?.map(Arc::new);
        if let Some(token) = &found {
            self.known.insert(key.to_owned(), Arc::clone(token));
        }
        Ok(found)
    }

    /// Forgets a token that was just changed.
    pub(super) fn forget(&self, key: &str) {
        self.changed.insert(key.to_owned(), ());
        self.known.invalidate(key);
    }

    /// Notes that the token was used, now and then and beside the request.
    pub(super) fn note_use(&self, token: &AccessToken, now: Millis) {
        if self.uses.is_due(token.key.clone(), token.used, now) {
            let (store, key) = (Arc::clone(&self.store), token.key.clone());
            tokio::spawn(async move {
                if let Err(error) = store.touch_token(&key, now).await {
                    tracing::warn!(%error, token = %key, "could not note that a token was used");
                }
            });
        }
    }
}

//! A cache of accounts by `uid`, because a page needs the names of all its actors; and changes and removals of
//! accounts.

use crate::clock::Clock;
use crate::following;
use infoset::first_illegal;
use model::{Account, Picture, Uid};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use store::{Connection, Result, Store, StoreError};

/// Changes an account by compare-and-set and returns the stored account. `None`: the account does not exist or was
/// removed. `change` may be called several times, each time with the stored account. Streams of collections with the
/// account's activities are notified if the change affects their visibility.
pub async fn change(
    store: &dyn Store,
    clock: &Clock,
    uid: Uid,
    mut change: impl FnMut(&mut Account),
) -> Result<Option<Account>> {
    let mut exists = false;
    let next = |stored: Option<&Account>| {
        let mut next = stored.filter(|account| !account.removed).cloned();
        exists = next.is_some();
        next.as_mut().map(&mut change);
        Ok(next)
    };
    let stored = store::update::<Account, StoreError>(store, &uid, clock.now(), next).await?;
    Ok(stored.filter(|_| exists))
}

/// Removes an account with its credentials, sources and edges permanently. `None`: it was already removed.
pub async fn remove(store: &dyn Store, clock: &Clock, uid: Uid) -> Result<Option<Account>> {
    // The account first: from then on no credential is valid and no activity is shown, even if a later step fails.
    let removing = change(store, clock, uid, |account| {
        (account.removed, account.password) = (true, None);
    });
    let Some(removed) = removing.await? else { return Ok(None) };
    let now = clock.now();
    for key in store.keys_of(uid).await? {
        store.revoke_key(uid, key.id, now).await?;
    }
    for token in store.tokens_of(uid).await? {
        store.revoke_token(&token.key, now).await?;
    }
    if store.picture(uid).await?.is_some() {
        store.put_picture(uid, &Picture::none(removed.version)).await?;
    }
    for Connection { owner, name, .. } in store.connections_of(uid).await? {
        let end = |stored: Option<&Connection>| {
            Ok(stored.map(|connection| Connection { removed: true, ..connection.clone() }))
        };
        store::update::<Connection, StoreError>(store, &(owner, name), now, end).await?;
    }
    store.forget_networks(uid).await?;
    following::leave(store, clock, uid).await?;
    Ok(Some(removed))
}

/// Removes an account's sessions and access tokens of earlier credential epochs. They are already invalid, so a
/// failure is only logged.
pub async fn remove_ended(store: &dyn Store, clock: &Clock, account: &Account) {
    let removing = async {
        for token in store.tokens_of(account.uid).await? {
            if token.revoked.is_none() && token.epoch < account.credential_epoch {
                store.revoke_token(&token.key, clock.now()).await?;
            }
        }
        for session in store.sessions_of(account.uid).await? {
            if session.epoch < account.credential_epoch {
                store.end_session(&session.hash).await?;
            }
        }
        Ok::<(), StoreError>(())
    };
    if let Err(error) = removing.await {
        tracing::warn!(%error, account = %account.name, "removal of ended sessions and tokens failed");
    }
}

/// Maximum length of a given or family name in characters.
pub(crate) const MAX_NAME_LEN: usize = 100;

/// Why a given or family name is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPersonName {
    /// It is too long.
    #[error("the name is too long: a given or family name has at most {MAX_NAME_LEN} characters")]
    TooLong,
    /// It has control characters.
    #[error("the name has control characters: use letters, digits, spaces and signs")]
    ControlCharacter,
}

/// Validates a given or family name from a form. An empty name counts as absent.
pub fn person_name(text: &str) -> std::result::Result<Option<String>, BadPersonName> {
    let name = text.trim();
    if name.chars().count() > MAX_NAME_LEN {
        return Err(BadPersonName::TooLong);
    }
    if first_illegal(name).is_some() || name.chars().any(char::is_control) {
        return Err(BadPersonName::ControlCharacter);
    }
    Ok(Some(name.to_owned()).filter(|name| !name.is_empty()))
}

/// TTL of cached accounts: how long another server may still use an account's old state.
const CACHE_TTL: Duration = Duration::from_secs(3);

/// A cache of accounts in front of the store.
#[derive(Clone)]
pub struct AccountCache {
    store: Arc<dyn Store>,
    cache: moka::sync::Cache<Uid, Arc<Account>>,
}

impl AccountCache {
    /// An empty cache.
    pub fn new(store: Arc<dyn Store>) -> AccountCache {
        let cache = moka::sync::Cache::builder().max_capacity(100_000).time_to_live(CACHE_TTL).build();
        AccountCache { store, cache }
    }

    /// The account with that `uid`.
    pub async fn get(&self, uid: Uid) -> Result<Option<Arc<Account>>> {
        Ok(self.get_many([uid]).await?.remove(&uid))
    }

    /// The account with that `uid`. It is read again if the cached account has an earlier credential epoch than the
    /// presented credential.
    pub async fn get_in_epoch(&self, uid: Uid, epoch: u32) -> Result<Option<Arc<Account>>> {
        let found = self.get(uid).await?;
        if found.as_ref().is_some_and(|account| account.credential_epoch < epoch) {
            self.forget(uid);
            return self.get(uid).await;
        }
        Ok(found)
    }

    /// The existing accounts with these `uid`s. Accounts that are not cached are read in one request.
    pub async fn get_many(&self, uids: impl IntoIterator<Item = Uid>) -> Result<HashMap<Uid, Arc<Account>>> {
        let mut found = HashMap::new();
        let mut missing = Vec::new();
        for uid in uids {
            if found.contains_key(&uid) || missing.contains(&uid) {
                continue;
            }
            match self.cache.get(&uid) {
                Some(account) => drop(found.insert(uid, account)),
                None => missing.push(uid),
            }
        }
        if !missing.is_empty() {
            for account in self.store.accounts(&missing).await?.into_iter().flatten() {
                found.insert(account.uid, self.remember(account));
            }
        }
        Ok(found)
    }

    /// Puts an account that was just read into the cache.
    pub fn remember(&self, account: Account) -> Arc<Account> {
        let account = Arc::new(account);
        self.cache.insert(account.uid, Arc::clone(&account));
        account
    }

    /// Changes an account like [`change`]. The change takes effect in this process immediately, in other processes
    /// within seconds.
    pub async fn change(
        &self,
        clock: &Clock,
        uid: Uid,
        changing: impl FnMut(&mut Account),
    ) -> Result<Option<Account>> {
        let changed = change(self.store.as_ref(), clock, uid, changing).await?;
        self.forget(uid);
        Ok(changed)
    }

    /// Removes a changed account from the cache.
    pub fn forget(&self, uid: Uid) {
        self.cache.invalidate(&uid);
    }
}

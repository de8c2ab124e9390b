//! Accounts by number, remembered for moments: whoever shows twenty activities needs their actors' names. And what goes
//! with changing and removing one.

use crate::clock::Clock;
use crate::following;
use infoset::first_illegal;
use model::{Account, Picture, Uid};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use store::{Connection, Result, Store, StoreError};

/// Changes an account by compare-and-set and returns what is stored then; `None`: there is no such account, or it was
/// removed. `change` may be called several times, each time with the stored account. Streams of collections in which the
/// account appears learn of it if that changes what they may show.
pub async fn change(
    store: &dyn Store,
    clock: &Clock,
    uid: Uid,
    mut change: impl FnMut(&mut Account),
) -> Result<Option<Account>> {
    let mut is_there = false;
    let next = |stored: Option<&Account>| {
        let mut next = stored.filter(|account| !account.removed).cloned();
        is_there = next.is_some();
        next.as_mut().map(&mut change);
        Ok(next)
    };
    let stored = store::update::<Account, StoreError>(store, &uid, clock.now(), next).await?;
    Ok(stored.filter(|_| is_there))
}

/// Removes an account with its credentials, sources and edges, for good. `None`: it was removed before.
pub async fn remove(store: &dyn Store, clock: &Clock, uid: Uid) -> Result<Option<Account>> {
    // The state first: from then on no credential opens anything and nothing is shown, whatever becomes of the rest.
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

/// Removes the sessions and access tokens that an account has from earlier credential epochs. They count for nothing
/// already, so a failure is only logged.
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

/// Characters of a given or family name.
pub(crate) const MAX_OF_A_NAME: usize = 100;

/// That can't be a given or family name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPersonName {
    /// It is too long.
    #[error("a given or family name has at most {MAX_OF_A_NAME} characters")]
    TooLong,
    /// It has characters that can't be shown.
    #[error("a given or family name can't have control characters")]
    ControlCharacter,
}

/// A given or family name as somebody typed it; empty is none.
pub fn person_name(typed: &str) -> std::result::Result<Option<String>, BadPersonName> {
    let name = typed.trim();
    if name.chars().count() > MAX_OF_A_NAME {
        return Err(BadPersonName::TooLong);
    }
    if first_illegal(name).is_some() || name.chars().any(char::is_control) {
        return Err(BadPersonName::ControlCharacter);
    }
    Ok(Some(name.to_owned()).filter(|name| !name.is_empty()))
}

/// How long a changed account may still look as before on a node that did not change it.
const REMEMBERED: Duration = Duration::from_secs(3);

/// A cache of accounts in front of the store.
#[derive(Clone)]
pub struct AccountCache {
    store: Arc<dyn Store>,
    known: moka::sync::Cache<Uid, Arc<Account>>,
}

impl AccountCache {
    /// An empty cache.
    pub fn new(store: Arc<dyn Store>) -> AccountCache {
        let known = moka::sync::Cache::builder().max_capacity(100_000).time_to_live(REMEMBERED).build();
        AccountCache { store, known }
    }

    /// The account of that number.
    pub async fn get(&self, uid: Uid) -> Result<Option<Arc<Account>>> {
        Ok(self.get_many([uid]).await?.remove(&uid))
    }

    /// The account of that number. It is read again where what is remembered is of an earlier credential epoch than a
    /// credential that was presented.
    pub async fn get_in_epoch(&self, uid: Uid, epoch: u32) -> Result<Option<Arc<Account>>> {
        let found = self.get(uid).await?;
        if found.as_ref().is_some_and(|account| account.credential_epoch < epoch) {
            self.forget(uid);
            return self.get(uid).await;
        }
        Ok(found)
    }

    /// The accounts of these numbers, as far as there are any; those that are not known in one look-up.
    pub async fn get_many(&self, uids: impl IntoIterator<Item = Uid>) -> Result<HashMap<Uid, Arc<Account>>> {
        let mut found = HashMap::new();
        let mut missing = Vec::new();
        for uid in uids {
            if found.contains_key(&uid) || missing.contains(&uid) {
                continue;
            }
            match self.known.get(&uid) {
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

    /// Keeps an account that was just read.
    pub fn remember(&self, account: Account) -> Arc<Account> {
        let account = Arc::new(account);
        self.known.insert(account.uid, Arc::clone(&account));
        account
    }

    /// Changes an account as [`change`] does. In this process that counts at once, in others within seconds.
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

    /// Forgets an account that was just changed.
    pub fn forget(&self, uid: Uid) {
        self.known.invalidate(&uid);
    }
}

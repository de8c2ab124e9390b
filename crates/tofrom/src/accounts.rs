//! Accounts by number, remembered for moments: whoever shows twenty activities needs their actors' names. And what goes
//! with changing and removing one.

use crate::clock::Clock;
use crate::following;
use infoset::first_illegal;
use model::{Account, Picture, Uid, Version};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use store::{Connection, Result, Store};

/// Replaces an account's state by one that is made of it; whoever watches collections that it is in is told if that
/// changes what they may see.
pub async fn change(
    store: &dyn Store,
    clock: &Clock,
    before: &Account,
    mut after: Account,
) -> Result<Account> {
    after.version = Version::next(clock.now(), Some(before.version));
    store.put_account(&after).await?;
    Ok(after)
}

/// Removes an account with its credentials, sources and edges, for good.
pub async fn remove(store: &dyn Store, clock: &Clock, account: &Account) -> Result<Account> {
    // The state first: from then on no credential opens anything and nothing is shown, whatever becomes of the rest.
    let removed = Account { removed: true, password: None, ..account.clone() };
    let removed = change(store, clock, account, removed).await?;
    let now = clock.now();
    for key in store.keys_of(account.uid).await? {
        store.revoke_key(account.uid, key.id, now).await?;
    }
    for token in store.tokens_of(account.uid).await? {
        store.revoke_token(&token.key, now).await?;
    }
    if store.picture(account.uid).await?.is_some() {
        store.put_picture(account.uid, &Picture::none(removed.version)).await?;
    }
    for connection in store.connections_of(account.uid).await? {
        let version = Version::next(now, Some(connection.version));
        store.put_connection(&Connection { removed: true, version, ..connection }).await?;
    }
    following::leave(store, clock, account.uid).await?;
    Ok(removed)
}

/// Characters of a given or family name.
pub(crate) const MOST_OF_A_NAME: usize = 100;

/// That can't be a given or family name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPersonName {
    /// It is too long.
    #[error("a given or family name has at most {MOST_OF_A_NAME} characters")]
    TooLong,
    /// It has characters that can't be shown.
    #[error("a given or family name can't have control characters")]
    ControlCharacter,
}

/// A given or family name as somebody typed it; empty is none.
pub fn person_name(typed: &str) -> std::result::Result<Option<String>, BadPersonName> {
    let name = typed.trim();
    if name.chars().count() > MOST_OF_A_NAME {
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

    /// Disables an account, or enables it again. Here that counts at once, on other nodes within seconds: streams of a
    /// disabled account end when they next look whether their credential still opens anything.
    pub async fn set_disabled(&self, clock: &Clock, account: &Account, disabled: bool) -> Result<Account> {
        let after = Account { disabled, ..account.clone() };
        let changed = change(self.store.as_ref(), clock, account, after).await?;
        self.forget(account.uid);
        Ok(changed)
    }

    /// Forgets an account that was just changed.
    pub fn forget(&self, uid: Uid) {
        self.known.invalidate(&uid);
    }
}

//! Accounts by number, remembered for moments: whoever shows twenty activities needs their actors' names. And what goes
//! with changing and removing one.

use crate::clock::Clock;
use crate::following;
use model::{Account, Uid, Version};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use store::{Result, Store};

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

/// Removes an account with its credentials and edges, for good.
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
    following::leave(store, clock, account.uid).await?;
    Ok(removed)
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

    /// Forgets an account that was just changed.
    pub fn forget(&self, uid: Uid) {
        self.known.invalidate(&uid);
    }
}

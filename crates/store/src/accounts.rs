//! The interface of accounts, their changes, and a cache of accounts by `uid`, because a page needs the names of all
//! its actors.

use crate::dependencies::{Dependencies, saw_account};
use crate::{Result, Store, StoreError, update};
use async_trait::async_trait;
use model::{Account, AccountName, AddressableBy, Clock, Millis, Picture, Uid, Version};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// A new account without its number, which the store assigns.
#[derive(Clone, Debug)]
pub struct NewAccount {
    /// The account's name.
    pub name: AccountName,
    /// The version of the initial state.
    pub version: Version,
    /// Given name.
    pub given_name: Option<String>,
    /// Family name.
    pub family_name: Option<String>,
    /// Whether every authenticated caller may read its public activities.
    pub public: bool,
    /// Whether it may act for any account.
    pub operator: bool,
    /// The hash of the password.
    pub password: Option<String>,
    /// Time of creation.
    pub created: Millis,
}

impl NewAccount {
    /// The initial state of the account with this number.
    pub(crate) fn into_account(self, uid: Uid) -> Account {
        Account {
            uid,
            name: self.name,
            version: self.version,
            given_name: self.given_name,
            family_name: self.family_name,
            public: self.public,
            operator: self.operator,
            password: self.password,
            created: self.created,
            removed: false,
            disabled: false,
            credential_epoch: 0,
            addressable_by: AddressableBy::default(),
        }
    }
}

/// Accounts: versioned states, found by name or number.
#[async_trait]
pub trait Accounts: Send + Sync {
    /// Claims the name and creates the account. `None`: the name is taken, or was taken by a removed account. Of
    /// concurrent calls with one name exactly one creates an account.
    async fn create_account(&self, new: NewAccount) -> Result<Option<Account>>;

    /// The account with this name, including a removed one.
    async fn account_by_name(&self, name: &AccountName) -> Result<Option<Account>>;

    /// The accounts with these numbers.
    async fn accounts(&self, uids: &[Uid]) -> Result<Vec<Option<Account>>>;

    /// Replaces the account's state if the stored version is `before`. Callers use [`update`] instead. Number, name
    /// and time of creation never change. If the account becomes public, private or removed, a task is appended to
    /// the log. `false`: another version is stored, and nothing was changed.
    async fn replace_account(&self, before: Version, account: &Account) -> Result<bool>;

    /// A page of the accounts that are not removed, after `after`, in an order that the engine chooses.
    async fn list_accounts(&self, after: Option<Uid>, limit: usize) -> Result<Vec<Account>>;

    /// Public accounts whose name begins with the prefix, or one of the words of whose display name does, in any case.
    /// Neither removed nor disabled ones. None for an empty prefix.
    async fn find_accounts(&self, prefix: &str, limit: usize) -> Result<Vec<Account>>;

    /// The account's picture.
    async fn picture(&self, uid: Uid) -> Result<Option<Picture>>;

    /// Replaces the account's picture unless the stored version is equal or later. A picture without any size deletes
    /// it.
    async fn put_picture(&self, uid: Uid, picture: &Picture) -> Result<()>;
}

/// Changes an account by compare-and-set and returns the stored account. `None`: the account does not exist or was
/// removed. `change` may be called several times, each time with the stored account. Streams of collections with the
/// account's activities are notified if the change affects their visibility.
pub async fn change_account(
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
    let stored = update::<Account, StoreError>(store, &uid, clock.now(), next).await?;
    Ok(stored.filter(|_| exists))
}

/// TTL of cached accounts: how long another server may still use an account's old state.
const CACHE_TTL: Duration = Duration::from_secs(3);

/// A cache of accounts in front of the store.
#[derive(Clone)]
pub struct AccountCache {
    store: Arc<dyn Store>,
    /// Shared, because every request clones this.
    cache: Arc<moka::sync::Cache<Uid, Arc<Account>>>,
}

impl AccountCache {
    /// An empty cache.
    pub fn new(store: Arc<dyn Store>) -> AccountCache {
        let cache = moka::sync::Cache::builder().max_capacity(100_000).time_to_live(CACHE_TTL).build();
        AccountCache { store, cache: Arc::new(cache) }
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
        missing.retain(|uid| !found.contains_key(uid));
        missing.into_iter().for_each(|uid| saw_account(uid, None));
        found.values().for_each(|account| saw_account(account.uid, Some(account.version)));
        Ok(found)
    }

    /// Whether the accounts that a read saw have the same versions.
    pub async fn are_unchanged(&self, dependencies: &Dependencies) -> Result<bool> {
        let expected = &dependencies.accounts;
        let is_cached = |(uid, version): &(Uid, Option<Version>)| {
            version.is_some() && self.cache.get(uid).map(|account| account.version) == *version
        };
        if expected.iter().all(is_cached) {
            return Ok(true);
        }
        let found = self.get_many(expected.iter().map(|(uid, _)| *uid)).await?;
        Ok(expected.iter().all(|(uid, version)| found.get(uid).map(|account| account.version) == *version))
    }

    /// Puts an account that was just read into the cache.
    pub fn remember(&self, account: Account) -> Arc<Account> {
        let account = Arc::new(account);
        self.cache.insert(account.uid, Arc::clone(&account));
        account
    }

    /// Changes an account like [`change_account`]. The change takes effect in this process immediately, in other processes
    /// within seconds.
    pub async fn change(
        &self,
        clock: &Clock,
        uid: Uid,
        changing: impl FnMut(&mut Account),
    ) -> Result<Option<Account>> {
        let changed = change_account(self.store.as_ref(), clock, uid, changing).await?;
        self.forget(uid);
        Ok(changed)
    }

    /// Removes a changed account from the cache.
    pub fn forget(&self, uid: Uid) {
        self.cache.invalidate(&uid);
    }
}

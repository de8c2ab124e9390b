//! The accounts that a caller may read, write for and change.

use crate::problem::Problem;
use auth::{AuthError, Principal};
use domain::live::Hub;
use domain::{accounts, following};
use model::{Account, AccountName, AddressableBy, Clock, EdgeFilter, Quotas, Reader, Uid, Version};
use std::sync::Arc;
use store::{AccountCache, NewAccount, Store};

/// Accounts, and the rights of callers to them.
#[derive(Clone)]
pub(crate) struct Accounts {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) cache: AccountCache,
    pub(crate) clock: Clock,
    pub(crate) hub: Arc<Hub>,
    pub(crate) quotas: Quotas,
}

/// The requested changes of an account. `None` keeps the value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// The given name; `Some(None)` removes it.
    pub(crate) given_name: Option<Option<String>>,
    /// The family name; `Some(None)` removes it.
    pub(crate) family_name: Option<Option<String>>,
    /// Whether every authenticated caller may read its public activities.
    pub(crate) public: Option<bool>,
    /// Who may address it.
    pub(crate) addressable_by: Option<AddressableBy>,
}

impl Accounts {
    /// The account with this name, unless it is removed.
    pub(crate) async fn named(&self, name: &str) -> Result<Account, Problem> {
        let name = AccountName::parse(name).map_err(|_| Problem::not_found())?;
        self.existing(&name).await?.ok_or_else(Problem::not_found)
    }

    async fn existing(&self, name: &AccountName) -> Result<Option<Account>, Problem> {
        Ok(self.store.account_by_name(name).await?.filter(|account| !account.removed))
    }

    /// The owner of the collection and the role in which the caller reads it. A private account looks like an absent
    /// one, and both cost one lookup.
    pub(crate) async fn open_collection(
        &self,
        caller: &Principal,
        name: &AccountName,
    ) -> Result<(Arc<Account>, Reader), Problem> {
        if caller.account.name == *name {
            return Ok((Arc::clone(&caller.account), Reader::Owner));
        }
        match self.existing(name).await? {
            Some(owner) if caller.is_operator() => Ok((Arc::new(owner), Reader::Owner)),
            Some(owner) if owner.public => {
                let uid = caller.account.uid;
                let owners = [owner.uid];
                let (edges, blocked) = tokio::try_join!(
                    self.store.edges(uid, &owners),
                    self.store.blocked_by(&caller.account.name, &owner.name),
                )?;
                if blocked.holds {
                    return Err(Problem::not_found());
                }
                let follows_owner = edges.into_iter().flatten().any(|edge| edge.following);
                let reader = Reader::Other { uid, follows_owner, blocks: blocked.changed };
                Ok((Arc::new(owner), reader))
            }
            _ => Err(Problem::not_found()),
        }
    }

    /// Whether the caller sees the account as a public one: it is public, and does not block the caller.
    pub(crate) async fn looks_public(&self, caller: &Account, account: &Account) -> Result<bool, Problem> {
        Ok(account.public && !self.store.blocked_by(&caller.name, &account.name).await?.holds)
    }

    /// The account that the caller may write for: itself, or any account for an operator. Of another account the caller
    /// learns only whether it is public. The scope is checked first, because it reveals nothing about any account.
    pub(crate) async fn open_for_writing(
        &self,
        caller: &Principal,
        name: Option<AccountName>,
    ) -> Result<Arc<Account>, Problem> {
        caller.must_write()?;
        let name = name.ok_or_else(Problem::not_found)?;
        if caller.account.name == name {
            return Ok(Arc::clone(&caller.account));
        }
        match self.existing(&name).await? {
            Some(account) if caller.is_operator() => Ok(Arc::new(account)),
            Some(account) if self.looks_public(&caller.account, &account).await? => {
                Err(AuthError::NotYours.into())
            }
            _ => Err(Problem::not_found()),
        }
    }

    /// The account whose private data the caller may see: itself, or any account for an operator.
    pub(crate) async fn open_private(
        &self,
        caller: &Principal,
        name: &AccountName,
    ) -> Result<Arc<Account>, Problem> {
        if caller.account.name == *name {
            return Ok(Arc::clone(&caller.account));
        }
        let found = self.existing(name).await?.filter(|_| caller.is_operator());
        found.map(Arc::new).ok_or_else(Problem::not_found)
    }

    /// The existing account, if the caller may change it. `None` if it does not exist and the caller may create it.
    pub(crate) async fn open_for_update(
        &self,
        caller: &Principal,
        name: &AccountName,
    ) -> Result<Option<Account>, Problem> {
        let operator = caller.is_operator();
        match self.store.account_by_name(name).await? {
            Some(account) if account.removed && operator => Err(Problem::name_gone()),
            Some(account) if account.removed => Err(Problem::not_found()),
            Some(account) if operator || account.uid == caller.account.uid => Ok(Some(account)),
            Some(account) if self.looks_public(&caller.account, &account).await? => {
                Err(AuthError::NotYours.into())
            }
            None if operator => Ok(None),
            _ => Err(Problem::not_found()),
        }
    }

    /// Creates the account. `None` if another request was faster.
    pub(crate) async fn create(
        &self,
        name: &AccountName,
        changes: &Changes,
    ) -> Result<Option<Account>, Problem> {
        let now = self.clock.now();
        let new = NewAccount {
            name: name.clone(),
            version: Version::next(now, None),
            given_name: changes.given_name.clone().flatten(),
            family_name: changes.family_name.clone().flatten(),
            public: changes.public.unwrap_or(false),
            operator: false,
            password: None,
            created: now,
        };
        let Some(created) = self.store.create_account(new).await? else { return Ok(None) };
        if changes.addressable_by.is_some() {
            self.change(created.uid, changes).await?;
        }
        Ok(Some(created))
    }

    /// Changes the account's profile.
    pub(crate) async fn change(&self, uid: Uid, changes: &Changes) -> Result<(), Problem> {
        let changed = self.cache.change(&self.clock, uid, |account| {
            if let Some(given_name) = &changes.given_name {
                account.given_name.clone_from(given_name);
            }
            if let Some(family_name) = &changes.family_name {
                account.family_name.clone_from(family_name);
            }
            account.public = changes.public.unwrap_or(account.public);
            account.addressable_by = changes.addressable_by.unwrap_or(account.addressable_by);
        });
        changed.await?.ok_or_else(Problem::not_found)?;
        self.hub.wrote();
        Ok(())
    }

    /// Makes an account follow another one, without a filter.
    pub(crate) async fn follow(&self, follower: &Account, followee: &Account) -> Result<(), Problem> {
        let (store, clock, filter) = (self.store.as_ref(), &self.clock, EdgeFilter::default());
        following::follow(store, clock, follower, followee, &filter, &self.quotas).await?;
        self.hub.wrote();
        Ok(())
    }

    /// Permanently removes an account with its credentials and edges. Continues if the client disconnects.
    pub(crate) async fn remove(&self, uid: Uid) -> Result<(), Problem> {
        let this = self.clone();
        let removal = tokio::spawn(async move {
            let removed = accounts::remove(this.store.as_ref(), &this.clock, uid).await?;
            removed.ok_or_else(Problem::not_found)?;
            this.cache.forget(uid);
            this.hub.wrote();
            Ok(())
        });
        removal.await.map_err(|_| Problem::internal())?
    }
}

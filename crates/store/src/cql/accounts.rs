//! Accounts. A name is claimed once, permanently. The claim contains the account's initial state, so a process that
//! finds a name without an account can write it. Every later state is a compare-and-set on the version.

use super::db::Query;
use super::lwt::Lwt;
use super::scan::Scan;
use super::{CqlStore, concurrently};
use crate::codec::{Encoded, addressable_by};
use crate::message::Intent;
use crate::{Accounts, NewAccount, Result, StoreError};
use async_trait::async_trait;
use model::{Account, AccountName, Picture, Uid, Version};
use uuid::Uuid;

const CLAIM: Lwt = Lwt::new(
    "INSERT INTO ident.username (name, uid, first, op) VALUES (?, ?, ?, ?) IF NOT EXISTS",
    "SELECT op FROM ident.username WHERE name = ?",
);
const BY_NAME: Query = Query::read("SELECT uid, first FROM ident.username WHERE name = ?");
const BY_NUMBER: Query = Query::read("SELECT account, addressable_by FROM ident.account WHERE uid = ?");
const WRITE: Lwt = Lwt::new(
    "UPDATE ident.account SET account = ?, addressable_by = ?, ver = ?, op = ? WHERE uid = ? IF ver = ?",
    "SELECT ver, op FROM ident.account WHERE uid = ?",
);
const COPY: Query = Query::write(
    "INSERT INTO ident.account (account, addressable_by, ver, op, uid) VALUES (?, ?, ?, ?, ?) USING TIMESTAMP 1",
);
const COPY_NAME: Query =
    Query::write("INSERT INTO ident.username (name, uid, first, op) VALUES (?, ?, ?, ?) USING TIMESTAMP 1");
const ALL: Scan = Scan::new(
    "SELECT uid, account, addressable_by FROM ident.account LIMIT ?",
    "SELECT uid, account, addressable_by FROM ident.account WHERE token(uid) > token(?) LIMIT ?",
);

const PICTURE: Query = Query::read("SELECT picture FROM ident.picture WHERE uid = ?");
const PUT_PICTURE: Query =
    Query::write("INSERT INTO ident.picture (uid, picture) VALUES (?, ?) USING TIMESTAMP ?");

/// A number that no account has: account numbers are positive.
const NO_ACCOUNT: Uid = Uid(0);

/// A new positive number. It is random, so it needs no coordination.
fn new_number() -> Uid {
    let (high, low) = Uuid::new_v4().as_u64_pair();
    // The constant bits of a UUID are combined with random ones of the other half.
    let random = (high ^ low.rotate_left(32)) >> 1;
    Uid(random.max(1).cast_signed())
}

fn addressable_cell(account: &Account) -> i8 {
    account.addressable_by.number().cast_signed()
}

/// The account of a row. The column counts: a program that does not know it writes the account without it.
fn stored_account(uid: Uid, account: &[u8], addressable: Option<i8>) -> Result<Account> {
    let account = Account::decoded_beside(account, uid)?;
    Ok(Account { addressable_by: addressable_by(addressable.unwrap_or(0))?, ..account })
}

impl CqlStore {
    /// Replaces a version of an account; `None` for an account that was never written. `false`: another version is
    /// stored.
    pub(super) async fn write_account(
        &self,
        before: Option<Version>,
        account: &Account,
        op: Uuid,
    ) -> Result<bool> {
        let uid = account.uid.0;
        let (addressable_by, before_ver) = (addressable_cell(account), before.map(|before| before.0));
        let values = (account.encoded(), addressable_by, account.version.0, op, uid, before_ver);
        self.db.replace(&WRITE, before, op, values, (uid,)).await
    }

    /// Whether this version of an account or a later one is stored.
    pub(super) async fn has_account(&self, account: &Account) -> Result<bool> {
        let current = self.account_by_number(account.uid).await?;
        Ok(current.is_some_and(|current| current.version >= account.version))
    }

    /// Writes an account of another store with its name, before any other process writes there.
    pub(super) async fn copy_named_account(&self, account: &Account) -> Result<()> {
        let name = (account.name.as_str(), account.uid.0, account.encoded(), Uuid::nil());
        self.add_words(account).await?;
        self.db.write(&COPY_NAME, name).await?;
        let addressable_by = addressable_cell(account);
        let state = (account.encoded(), addressable_by, account.version.0, Uuid::nil(), account.uid.0);
        self.db.write(&COPY, state).await?;
        if account.removed { self.queue_erasure(account.uid).await } else { Ok(()) }
    }

    /// A page of the accounts for which `include` is true.
    pub(super) async fn scan_accounts(
        &self,
        after: Option<Uid>,
        limit: usize,
        include: impl Fn(&Account) -> bool,
    ) -> Result<Vec<Account>> {
        let read = |(uid, account, addressable_by): (i64, Vec<u8>, Option<i8>)| {
            let account = stored_account(Uid(uid), &account, addressable_by)?;
            Ok((uid, Some(account).filter(&include)))
        };
        self.db.scan(&ALL, after.map(|uid| uid.0), limit, read).await
    }

    async fn account_by_number(&self, uid: Uid) -> Result<Option<Account>> {
        let found: Option<(Vec<u8>, Option<i8>)> = self.db.row(&BY_NUMBER, (uid.0,)).await?;
        found.map(|(account, addressable_by)| stored_account(uid, &account, addressable_by)).transpose()
    }
}

#[async_trait]
impl Accounts for CqlStore {
    async fn create_account(&self, new: NewAccount) -> Result<Option<Account>> {
        let account = new.into_account(new_number());
        let (name, op) = (account.name.as_str(), Uuid::new_v4());
        self.add_words(&account).await?;
        let claim = (name, account.uid.0, account.encoded(), op);
        let ours = |found: Option<(Uuid,)>| found.map(|(by,)| by == op);
        if !self.db.apply_lwt(&CLAIM, claim, (name,), ours).await? {
            return Ok(None);
        }
        // The name is taken from here on, so an error must not mean "nothing was changed".
        let unknown = |error: StoreError| StoreError::Unknown(error.to_string());
        self.write_account(None, &account, op).await.map_err(unknown)?;
        Ok(Some(account))
    }

    async fn account_by_name(&self, name: &AccountName) -> Result<Option<Account>> {
        let claim: Option<(i64, Vec<u8>)> = self.db.row(&BY_NAME, (name.as_str(),)).await?;
        let Some((uid, first)) = claim else {
            // As many reads as for a taken name: the duration must not reveal whether an account exists.
            self.account_by_number(NO_ACCOUNT).await?;
            return Ok(None);
        };
        if let Some(account) = self.account_by_number(Uid(uid)).await? {
            return Ok(Some(account));
        }
        let account = Account::decoded_beside(&first, Uid(uid))?;
        self.write_account(None, &account, Uuid::new_v4()).await?;
        // Another reader may have written it too, and it may have changed since.
        self.account_by_number(Uid(uid)).await
    }

    async fn accounts(&self, uids: &[Uid]) -> Result<Vec<Option<Account>>> {
        concurrently(uids.iter().map(|uid| self.account_by_number(*uid))).await
    }

    async fn replace_account(&self, before: Version, account: &Account) -> Result<bool> {
        let current = self.account_by_number(account.uid).await?;
        let Some(current) = current.filter(|current| current.version == before) else { return Ok(false) };
        let shown = (current.public, current.removed);
        let account = Account { name: current.name.clone(), created: current.created, ..account.clone() };
        let op = Uuid::new_v4();
        if account.removed && !current.removed {
            self.queue_erasure(account.uid).await?;
        }
        self.add_words(&account).await?;
        // The state is written by then, so an error must not mean "nothing was changed".
        let unknown = |error: StoreError| StoreError::Unknown(error.to_string());
        if shown == (account.public, account.removed) {
            let written = self.write_account(Some(before), &account, op).await?;
            if written {
                self.delete_words(&current, &account).await.map_err(unknown)?;
            }
            return Ok(written);
        }
        // The state before the message: an update that loses the race leaves no task behind. If this process stops in
        // between, the sweep finds the intent and finishes it.
        let stored = self.store_intent(Intent::Account { account: account.clone(), before, op }).await?;
        if !self.write_account(Some(before), &account, op).await? {
            self.drop_intent(&stored).await?;
            return Ok(false);
        }
        self.publish(&stored).await.map_err(unknown)?;
        self.delete_words(&current, &account).await.map_err(unknown)?;
        Ok(true)
    }

    async fn list_accounts(&self, after: Option<Uid>, limit: usize) -> Result<Vec<Account>> {
        self.scan_accounts(after, limit, |account| !account.removed).await
    }

    async fn find_accounts(&self, prefix: &str, limit: usize) -> Result<Vec<Account>> {
        self.find_by_word(prefix, limit).await
    }

    async fn picture(&self, uid: Uid) -> Result<Option<Picture>> {
        let found: Option<(Vec<u8>,)> = self.db.row(&PICTURE, (uid.0,)).await?;
        let found = found.map(|(picture,)| Picture::decoded(&picture)).transpose()?;
        Ok(found.filter(|picture| !picture.is_none()))
    }

    async fn put_picture(&self, uid: Uid, picture: &Picture) -> Result<()> {
        self.db.write(&PUT_PICTURE, (uid.0, picture.encoded(), picture.version.0)).await
    }
}

//! Accounts. A name is claimed once and for ever; the claim keeps the account's first state, so that whoever finds
//! a name whose account was never written can write it.

use super::db::Query;
use super::message::Ensure;
use super::once::Step;
use super::scan::Scan;
use super::{CqlStore, together};
use crate::bytes::{Put, Take};
use crate::{Accounts, NewAccount, Result, StoreError};
use async_trait::async_trait;
use model::{Account, AccountName, Picture, Uid};
use uuid::Uuid;

const CLAIM: Step = Step::new(
    "INSERT INTO ident.username (name, uid, first, op) VALUES (?, ?, ?, ?) IF NOT EXISTS",
    "SELECT op FROM ident.username WHERE name = ?",
);
const BY_NAME: Query = Query::read("SELECT uid, first FROM ident.username WHERE name = ?");
const BY_NUMBER: Query = Query::read("SELECT account FROM ident.account WHERE uid = ?");
const COPY_NAME: Query =
    Query::write("INSERT INTO ident.username (name, uid, first, op) VALUES (?, ?, ?, ?) USING TIMESTAMP 1");
const WRITE: Query = Query::write("INSERT INTO ident.account (uid, account) VALUES (?, ?) USING TIMESTAMP ?");
const ALL: Scan = Scan::new(
    "SELECT uid, account FROM ident.account LIMIT ?",
    "SELECT uid, account FROM ident.account WHERE token(uid) > token(?) LIMIT ?",
);

const PICTURE: Query = Query::read("SELECT picture FROM ident.picture WHERE uid = ?");
const PUT_PICTURE: Query =
    Query::write("INSERT INTO ident.picture (uid, picture) VALUES (?, ?) USING TIMESTAMP ?");

/// A positive number that nobody has: random, so that nobody needs to be asked.
fn new_number() -> Uid {
    let (high, low) = Uuid::new_v4().as_u64_pair();
    // The few bits that are the same in all of them meet random ones of the other half.
    let random = (high ^ low.rotate_left(32)) >> 1;
    Uid(random.max(1).cast_signed())
}

fn encoded(account: &Account) -> Vec<u8> {
    Put::new().account(account).finish()
}

fn decoded(uid: Uid, bytes: &[u8]) -> Result<Account> {
    Take::new(bytes).account(uid)
}

fn encoded_picture(picture: &Picture) -> Vec<u8> {
    let put = Put::new().signed(picture.version.0);
    picture.sizes.iter().fold(put, |put, size| put.blob(size)).finish()
}

fn decoded_picture(bytes: &[u8]) -> Result<Picture> {
    let mut take = Take::new(bytes);
    let version = take.version()?;
    let mut size = || take.blob().map(<[u8]>::to_vec);
    Ok(Picture { version, sizes: [size()?, size()?, size()?] })
}

impl CqlStore {
    /// Writes an account's state; of several the latest version stays.
    pub(super) async fn write_account(&self, account: &Account) -> Result<()> {
        self.db.write(&WRITE, (account.uid.0, encoded(account), account.version.0)).await
    }

    /// Writes an account that was made elsewhere, with its name, before anybody else writes there.
    pub(super) async fn copy_named_account(&self, account: &Account) -> Result<()> {
        let name = (account.name.as_str(), account.uid.0, encoded(account), Uuid::nil());
        self.db.write(&COPY_NAME, name).await?;
        self.write_account(account).await
    }

    /// A page of all accounts that `wanted` wants.
    pub(super) async fn scan_accounts(
        &self,
        after: Option<Uid>,
        limit: usize,
        wanted: impl Fn(&Account) -> bool,
    ) -> Result<Vec<Account>> {
        let read = |(uid, account): (i64, Vec<u8>)| {
            let account = decoded(Uid(uid), &account)?;
            Ok((uid, Some(account).filter(&wanted)))
        };
        self.db.scan(&ALL, after.map(|uid| uid.0), limit, read).await
    }

    async fn account_by_number(&self, uid: Uid) -> Result<Option<Account>> {
        let found: Option<(Vec<u8>,)> = self.db.row(&BY_NUMBER, (uid.0,)).await?;
        found.map(|(account,)| decoded(uid, &account)).transpose()
    }
}

#[async_trait]
impl Accounts for CqlStore {
    async fn create_account(&self, new: NewAccount) -> Result<Option<Account>> {
        let account = new.into_account(new_number());
        let (name, op) = (account.name.as_str(), Uuid::new_v4());
        let claim = (name, account.uid.0, encoded(&account), op);
        let ours = |found: Option<(Uuid,)>| found.map(|(by,)| by == op);
        if !self.db.take(&CLAIM, claim, (name,), ours).await? {
            return Ok(None);
        }
        // The name is taken from here on, so that "nothing was changed" would be wrong.
        let unknown = |error: StoreError| StoreError::Unknown(error.to_string());
        self.write_account(&account).await.map_err(unknown)?;
        Ok(Some(account))
    }

    async fn account_by_name(&self, name: &AccountName) -> Result<Option<Account>> {
        let claim: Option<(i64, Vec<u8>)> = self.db.row(&BY_NAME, (name.as_str(),)).await?;
        let Some((uid, first)) = claim else {
            return Ok(None);
        };
        if let Some(account) = self.account_by_number(Uid(uid)).await? {
            return Ok(Some(account));
        }
        let account = decoded(Uid(uid), &first)?;
        self.write_account(&account).await?;
        Ok(Some(account))
    }

    async fn accounts(&self, uids: &[Uid]) -> Result<Vec<Option<Account>>> {
        together(uids.iter().map(|uid| self.account_by_number(*uid))).await
    }

    async fn put_account(&self, account: &Account) -> Result<()> {
        let Some(before) = self.account_by_number(account.uid).await? else {
            return Ok(());
        };
        if before.version >= account.version {
            return Ok(());
        }
        let shown = (before.public, before.removed);
        let account = Account { name: before.name, created: before.created, ..account.clone() };
        if shown == (account.public, account.removed) {
            return self.write_account(&account).await;
        }
        self.follow_up(Ensure::Account(account)).await?;
        Ok(())
    }

    async fn list_accounts(&self, after: Option<Uid>, limit: usize) -> Result<Vec<Account>> {
        self.scan_accounts(after, limit, |account| !account.removed).await
    }

    async fn picture(&self, uid: Uid) -> Result<Option<Picture>> {
        let found: Option<(Vec<u8>,)> = self.db.row(&PICTURE, (uid.0,)).await?;
        let found = found.map(|(picture,)| decoded_picture(&picture)).transpose()?;
        Ok(found.filter(|picture| !picture.is_none()))
    }

    async fn put_picture(&self, uid: Uid, picture: &Picture) -> Result<()> {
        self.db.write(&PUT_PICTURE, (uid.0, encoded_picture(picture), picture.version.0)).await
    }
}

//! Accounts and their pictures.

use super::values::{corrupt, count, millis, version};
use super::{SqliteStore, log, name_index};
use crate::codec::addressable_by;
use crate::{Accounts, NewAccount, Result, Work, trace};
use async_trait::async_trait;
use model::{Account, AccountName, Picture, Uid, Version};
use rusqlite::{Connection, OptionalExtension, Row, Statement, params};

const BY_NAME: &str =
    "SELECT uid, name, ver, given_name, family_name, public, operator, password, created_ms, removed, disabled,
     credential_epoch, addressable_by FROM account WHERE name = ?1";
const BY_NUMBER: &str =
    "SELECT uid, name, ver, given_name, family_name, public, operator, password, created_ms, removed, disabled,
     credential_epoch, addressable_by FROM account WHERE uid = ?1";
const AFTER: &str =
    "SELECT uid, name, ver, given_name, family_name, public, operator, password, created_ms, removed, disabled,
     credential_epoch, addressable_by FROM account WHERE uid > ?1 AND NOT removed ORDER BY uid LIMIT ?2";

pub(super) const QUEUE_ERASURE: &str = "INSERT INTO erasure (uid) VALUES (?1) ON CONFLICT DO NOTHING";

pub(super) fn account(row: &Row<'_>) -> Result<Account> {
    let name = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
    Ok(Account {
        uid: Uid(row.get(0)?),
        name: AccountName::parse(name).map_err(|_| corrupt("invalid account name"))?,
        version: version(row, 2)?,
        given_name: row.get(3)?,
        family_name: row.get(4)?,
        public: row.get(5)?,
        operator: row.get(6)?,
        password: row.get(7)?,
        created: millis(row, 8)?,
        removed: row.get(9)?,
        disabled: row.get(10)?,
        credential_epoch: row.get(11)?,
        addressable_by: addressable_by(row.get::<_, i64>(12)?)?,
    })
}

fn picture(row: &Row<'_>) -> Result<Picture> {
    Ok(Picture { version: version(row, 0)?, sizes: [row.get(1)?, row.get(2)?, row.get(3)?] })
}

pub(super) fn by_number(connection: &Connection, uid: Uid) -> Result<Option<Account>> {
    first(&mut *connection.prepare_cached(BY_NUMBER)?, [uid.0])
}

fn first(statement: &mut Statement<'_>, key: impl rusqlite::Params) -> Result<Option<Account>> {
    statement.query(key)?.next()?.map(account).transpose()
}

#[async_trait]
impl Accounts for SqliteStore {
    async fn create_account(&self, new: NewAccount) -> Result<Option<Account>> {
        self.write(move |connection| {
            let uid = connection
                .prepare_cached(
                    "INSERT INTO account
                     (name, ver, given_name, family_name, public, operator, password, created_ms, removed)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0) ON CONFLICT DO NOTHING RETURNING uid",
                )?
                .query_row(
                    params![
                        new.name.as_str(),
                        new.version.0,
                        new.given_name,
                        new.family_name,
                        new.public,
                        new.operator,
                        new.password,
                        new.created.0
                    ],
                    |row| row.get(0).map(Uid),
                )
                .optional()?;
            let Some(uid) = uid else { return Ok(None) };
            let account = new.into_account(uid);
            name_index::put(connection, None, &account)?;
            Ok(Some(account))
        })
        .await
    }

    async fn account_by_name(&self, name: &AccountName) -> Result<Option<Account>> {
        self.read(|connection| first(&mut *connection.prepare_cached(BY_NAME)?, [name.as_str()])).await
    }

    async fn accounts(&self, uids: &[Uid]) -> Result<Vec<Option<Account>>> {
        if let [uid] = uids {
            let found = self.read(|connection| by_number(connection, *uid)).await;
            return found.map(|account| vec![account]);
        }
        self.read_snapshot(|connection| {
            let mut statement = connection.prepare_cached(BY_NUMBER)?;
            uids.iter().map(|uid| first(&mut statement, [uid.0])).collect()
        })
        .await
    }

    async fn replace_account(&self, version: Version, account: &Account) -> Result<bool> {
        let (account, trace) = (account.clone(), trace::current());
        self.write(move |connection| {
            let before = by_number(connection, account.uid)?;
            let replaced = connection
                .prepare_cached(
                    "UPDATE account SET ver = ?2, given_name = ?3, family_name = ?4, public = ?5,
                     operator = ?6, password = ?7, removed = ?8, disabled = ?9, credential_epoch = ?10,
                     addressable_by = ?11 WHERE uid = ?1 AND ver = ?12",
                )?
                .execute(params![
                    account.uid.0,
                    account.version.0,
                    account.given_name,
                    account.family_name,
                    account.public,
                    account.operator,
                    account.password,
                    account.removed,
                    account.disabled,
                    account.credential_epoch,
                    account.addressable_by.number(),
                    version.0
                ])?;
            if replaced > 0 {
                name_index::put(connection, before.as_ref(), &account)?;
            }
            let visible_state = |account: &Account| (account.public, account.removed);
            if replaced > 0 && before.as_ref().map(visible_state) != Some(visible_state(&account)) {
                let work = Work::Account { uid: account.uid, after: None };
                log::append(connection, &work.in_trace(trace))?;
            }
            if replaced > 0 && account.removed && before.is_some_and(|before| !before.removed) {
                connection.prepare_cached(QUEUE_ERASURE)?.execute([account.uid.0])?;
            }
            Ok(replaced > 0)
        })
        .await
    }

    async fn list_accounts(&self, after: Option<Uid>, limit: usize) -> Result<Vec<Account>> {
        let after = after.map_or(i64::MIN, |uid| uid.0);
        self.read_long(move |connection| {
            let mut statement = connection.prepare_cached(AFTER)?;
            let mut rows = statement.query(params![after, count(limit)])?;
            let mut accounts = Vec::new();
            while let Some(row) = rows.next()? {
                accounts.push(account(row)?);
            }
            Ok(accounts)
        })
        .await
    }

    async fn find_accounts(&self, prefix: &str, limit: usize) -> Result<Vec<Account>> {
        self.read_snapshot(|connection| name_index::find(connection, prefix, limit)).await
    }

    async fn picture(&self, uid: Uid) -> Result<Option<Picture>> {
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT ver, small, medium, large FROM picture WHERE uid = ?1")?;
            let found = statement.query([uid.0])?.next()?.map(picture).transpose()?;
            Ok(found.filter(|picture| !picture.is_none()))
        })
        .await
    }

    async fn put_picture(&self, uid: Uid, picture: &Picture) -> Result<()> {
        let Picture { version, sizes: [small, medium, large] } = picture.clone();
        self.write(move |connection| {
            connection
                .prepare_cached(
                    "INSERT INTO picture (uid, ver, small, medium, large) VALUES (?1, ?2, ?3, ?4, ?5)
                     ON CONFLICT (uid) DO UPDATE SET ver = excluded.ver, small = excluded.small,
                     medium = excluded.medium, large = excluded.large WHERE excluded.ver > picture.ver",
                )?
                .execute(params![uid.0, version.0, small, medium, large])?;
            Ok(())
        })
        .await
    }
}

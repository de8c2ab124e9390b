//! Pre-shared keys and applications. Rows are never deleted: revoked keys and removed applications must stay known.

use super::SqliteStore;
use super::values::{millis, optional_millis};
use crate::{Credentials, Result};
use async_trait::async_trait;
use model::{Application, Key, KeyId, Millis, Scopes, Uid};
use rusqlite::{Connection, Row, params};

/// Scopes from the column `writes`.
pub(super) fn scopes(row: &Row<'_>, column: usize) -> Result<Scopes> {
    Ok(if row.get(column)? { Scopes::ReadWrite } else { Scopes::Read })
}

fn key(row: &Row<'_>) -> Result<Key> {
    Ok(Key {
        hash: row.get(0)?,
        id: KeyId(row.get::<_, i64>(1)?.cast_unsigned()),
        owner: Uid(row.get(2)?),
        name: row.get(3)?,
        scopes: scopes(row, 4)?,
        created: millis(row, 5)?,
        expires: optional_millis(row, 6)?,
        revoked: optional_millis(row, 7)?,
        used: optional_millis(row, 8)?,
        parent: row.get(9)?,
    })
}

fn application(row: &Row<'_>) -> Result<Application> {
    Ok(Application {
        key: row.get(0)?,
        sealed_secret: row.get(1)?,
        name: row.get(2)?,
        callback: row.get(3)?,
        rsa_key: row.get(4)?,
        created: millis(row, 5)?,
        removed: optional_millis(row, 6)?,
        owner: row.get::<_, Option<i64>>(7)?.map(Uid),
    })
}

pub(super) fn all<T>(
    connection: &Connection,
    statement: &str,
    parameters: impl rusqlite::Params,
    read: impl Fn(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut statement = connection.prepare_cached(statement)?;
    let mut rows = statement.query(parameters)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

#[async_trait]
impl Credentials for SqliteStore {
    async fn add_key(&self, key: &Key) -> Result<()> {
        let key = key.clone();
        self.write(move |connection| {
            // A repeated insert does nothing, so it keeps a revocation in between.
            connection
                .prepare_cached(
                    "INSERT INTO key
                     (hash, id, owner, name, writes, created_ms, expires_ms, revoked_ms, used_ms, parent)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING",
                )?
                .execute(params![
                    key.hash,
                    key.id.0.cast_signed(),
                    key.owner.0,
                    key.name,
                    key.scopes.can_write(),
                    key.created.0,
                    key.expires.map(|at| at.0),
                    key.revoked.map(|at| at.0),
                    key.used.map(|at| at.0),
                    key.parent
                ])?;
            Ok(())
        })
        .await
    }

    async fn key_by_hash(&self, hash: &[u8; 32]) -> Result<Option<Key>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT hash, id, owner, name, writes, created_ms, expires_ms, revoked_ms, used_ms, parent
                 FROM key WHERE hash = ?1",
            )?;
            statement.query([hash])?.next()?.map(key).transpose()
        })
        .await
    }

    async fn keys_of(&self, owner: Uid) -> Result<Vec<Key>> {
        let statement =
            "SELECT hash, id, owner, name, writes, created_ms, expires_ms, revoked_ms, used_ms, parent
             FROM key WHERE owner = ?1 ORDER BY created_ms, id";
        self.read_long(move |connection| all(connection, statement, [owner.0], key)).await
    }

    async fn revoke_key(&self, owner: Uid, id: KeyId, at: Millis) -> Result<bool> {
        self.write(move |connection| {
            let revoked = connection
                .prepare_cached(
                    "UPDATE key SET revoked_ms = coalesce(revoked_ms, ?3) WHERE owner = ?1 AND id = ?2",
                )?
                .execute(params![owner.0, id.0.cast_signed(), at.0])?;
            Ok(revoked > 0)
        })
        .await
    }

    async fn touch_key(&self, hash: &[u8; 32], at: Millis) -> Result<()> {
        let hash = *hash;
        self.write(move |connection| {
            connection
                .prepare_cached("UPDATE key SET used_ms = max(coalesce(used_ms, ?2), ?2) WHERE hash = ?1")?
                .execute(params![hash, at.0])?;
            Ok(())
        })
        .await
    }

    async fn add_application(&self, application: &Application) -> Result<()> {
        let new = application.clone();
        self.write(move |connection| {
            connection
                .prepare_cached(
                    "INSERT INTO application
                     (key, sealed_secret, name, callback, rsa_key, created_ms, removed_ms, owner)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
                )?
                .execute(params![
                    new.key,
                    new.sealed_secret,
                    new.name,
                    new.callback,
                    new.rsa_key,
                    new.created.0,
                    new.removed.map(|at| at.0),
                    new.owner.map(|uid| uid.0)
                ])?;
            Ok(())
        })
        .await
    }

    async fn application(&self, key: &str) -> Result<Option<Application>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT key, sealed_secret, name, callback, rsa_key, created_ms, removed_ms, owner
                 FROM application WHERE key = ?1",
            )?;
            statement.query([key])?.next()?.map(application).transpose()
        })
        .await
    }

    async fn applications(&self) -> Result<Vec<Application>> {
        let statement = "SELECT key, sealed_secret, name, callback, rsa_key, created_ms, removed_ms, owner
             FROM application ORDER BY created_ms, key";
        self.read_long(move |connection| all(connection, statement, [], application)).await
    }

    async fn applications_of(&self, owner: Uid) -> Result<Vec<Application>> {
        let statement = "SELECT key, sealed_secret, name, callback, rsa_key, created_ms, removed_ms, owner
             FROM application WHERE owner = ?1 ORDER BY created_ms, key";
        self.read_long(move |connection| all(connection, statement, [owner.0], application)).await
    }

    async fn remove_application(&self, key: &str, at: Millis) -> Result<bool> {
        let key = key.to_owned();
        self.write(move |connection| {
            let removed = connection
                .prepare_cached(
                    "UPDATE application SET removed_ms = coalesce(removed_ms, ?2) WHERE key = ?1",
                )?
                .execute(params![key, at.0])?;
            Ok(removed > 0)
        })
        .await
    }
}

//! Temporary credentials, access tokens and nonces. There is a single writer, so a step that may
//! happen only once is an UPDATE with a condition.

use super::SqliteStore;
use super::credentials::{all, scopes};
use super::values::{corrupt, count, millis, optional_millis};
use crate::{Grants, Nonce, Result, Secret};
use async_trait::async_trait;
use model::{AccessToken, Millis, Progress, Temporary, Uid};
use rusqlite::{Connection, Row, params};

const REQUESTED: i64 = 0;
const ALLOWED: i64 = 1;
const REFUSED: i64 = 2;
const EXCHANGED: i64 = 3;

fn temporary(row: &Row<'_>) -> Result<Temporary> {
    let progress = match row.get(6)? {
        REQUESTED => Progress::Requested,
        ALLOWED => Progress::Allowed { by: Uid(row.get(7)?), verifier: row.get(8)?, epoch: row.get(10)? },
        REFUSED => Progress::Refused,
        EXCHANGED => Progress::Exchanged { token: row.get(9)? },
        _ => return Err(corrupt("invalid progress of temporary credentials")),
    };
    Ok(Temporary {
        key: row.get(0)?,
        sealed_secret: row.get(1)?,
        consumer: row.get(2)?,
        callback: row.get(3)?,
        scopes: scopes(row, 4)?,
        expires: millis(row, 5)?,
        progress,
    })
}

fn token(row: &Row<'_>) -> Result<AccessToken> {
    Ok(AccessToken {
        key: row.get(0)?,
        sealed_secret: row.get(1)?,
        consumer: row.get(2)?,
        owner: Uid(row.get(3)?),
        scopes: scopes(row, 4)?,
        created: millis(row, 5)?,
        expires: optional_millis(row, 6)?,
        revoked: optional_millis(row, 7)?,
        used: optional_millis(row, 8)?,
        epoch: row.get(9)?,
    })
}

/// Writes a token. Repeating it changes nothing, and keeps a revocation in between.
pub(super) fn put_token(connection: &Connection, token: &AccessToken) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO token
             (key, sealed_secret, consumer, owner, writes, created_ms, expires_ms, revoked_ms, used_ms, epoch)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            token.key,
            token.sealed_secret,
            token.consumer,
            token.owner.0,
            token.scopes.can_write(),
            token.created.0,
            token.expires.map(|at| at.0),
            token.revoked.map(|at| at.0),
            token.used.map(|at| at.0),
            token.epoch
        ])?;
    Ok(())
}

fn find_temporary(connection: &Connection, key: &str) -> Result<Option<Temporary>> {
    let mut statement = connection.prepare_cached(
        "SELECT key, sealed_secret, consumer, callback, writes, expires_ms, progress, allowed_by, verifier, token,
         allowed_epoch FROM temporary WHERE key = ?1",
    )?;
    statement.query([key])?.next()?.map(temporary).transpose()
}

/// Whether the temporary credentials have exactly this progress. Then this caller has taken the step.
fn has_progress(connection: &Connection, key: &str, progress: &Progress) -> Result<bool> {
    Ok(find_temporary(connection, key)?.is_some_and(|found| found.progress == *progress))
}

#[async_trait]
impl Grants for SqliteStore {
    async fn add_temporary(&self, temporary: &Temporary) -> Result<()> {
        let new = temporary.clone();
        self.write(move |connection| {
            connection
                .prepare_cached(
                    "INSERT INTO temporary (key, sealed_secret, consumer, callback, writes, expires_ms, progress)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
                )?
                .execute(params![
                    new.key,
                    new.sealed_secret,
                    new.consumer,
                    new.callback,
                    new.scopes.can_write(),
                    new.expires.0,
                    REQUESTED
                ])?;
            Ok(())
        })
        .await
    }

    async fn temporary(&self, key: &str) -> Result<Option<Temporary>> {
        self.read(|connection| find_temporary(connection, key)).await
    }

    async fn decide(&self, key: &str, decision: &Progress) -> Result<bool> {
        let (step, by, verifier) = match decision {
            Progress::Allowed { by, epoch, verifier } => (ALLOWED, Some((by.0, *epoch)), Some(*verifier)),
            Progress::Refused => (REFUSED, None, None),
            Progress::Requested | Progress::Exchanged { .. } => return Ok(false),
        };
        let (key, decision) = (key.to_owned(), decision.clone());
        self.write(move |connection| {
            connection
                .prepare_cached(
                    "UPDATE temporary SET progress = ?2, allowed_by = ?3, verifier = ?4, allowed_epoch = ?6
                     WHERE key = ?1 AND progress = ?5",
                )?
                .execute(params![
                    key,
                    step,
                    by.map(|(uid, _)| uid),
                    verifier,
                    REQUESTED,
                    by.map(|(_, epoch)| epoch)
                ])?;
            has_progress(connection, &key, &decision)
        })
        .await
    }

    async fn exchange(&self, key: &str, token: &AccessToken) -> Result<bool> {
        let (key, token) = (key.to_owned(), token.clone());
        self.write(move |connection| {
            let taken = connection
                .prepare_cached(
                    "UPDATE temporary SET progress = ?3, token = ?2 WHERE key = ?1 AND progress = ?4",
                )?
                .execute(params![key, token.key, EXCHANGED, ALLOWED])?;
            if taken == 0 {
                return has_progress(connection, &key, &Progress::Exchanged { token: token.key });
            }
            put_token(connection, &token)?;
            Ok(true)
        })
        .await
    }

    async fn token(&self, key: &str) -> Result<Option<AccessToken>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT key, sealed_secret, consumer, owner, writes, created_ms, expires_ms, revoked_ms, used_ms,
                 epoch FROM token WHERE key = ?1",
            )?;
            statement.query([key])?.next()?.map(token).transpose()
        })
        .await
    }

    async fn tokens_of(&self, owner: Uid) -> Result<Vec<AccessToken>> {
        let statement =
            "SELECT key, sealed_secret, consumer, owner, writes, created_ms, expires_ms, revoked_ms, used_ms,
             epoch FROM token WHERE owner = ?1 ORDER BY created_ms, key";
        self.read_long(move |connection| all(connection, statement, [owner.0], token)).await
    }

    async fn list_tokens(&self, after: Option<&str>, limit: usize) -> Result<Vec<AccessToken>> {
        let statement =
            "SELECT key, sealed_secret, consumer, owner, writes, created_ms, expires_ms, revoked_ms, used_ms,
             epoch FROM token WHERE key > ?1 ORDER BY key LIMIT ?2";
        // No key is empty.
        let after = after.unwrap_or_default().to_owned();
        self.read_long(move |connection| all(connection, statement, params![after, count(limit)], token))
            .await
    }

    async fn revoke_token(&self, key: &str, at: Millis) -> Result<bool> {
        let key = key.to_owned();
        self.write(move |connection| {
            let revoked = connection
                .prepare_cached("UPDATE token SET revoked_ms = coalesce(revoked_ms, ?2) WHERE key = ?1")?
                .execute(params![key, at.0])?;
            Ok(revoked > 0)
        })
        .await
    }

    async fn touch_token(&self, key: &str, at: Millis) -> Result<()> {
        let key = key.to_owned();
        self.write(move |connection| {
            connection
                .prepare_cached("UPDATE token SET used_ms = max(coalesce(used_ms, ?2), ?2) WHERE key = ?1")?
                .execute(params![key, at.0])?;
            Ok(())
        })
        .await
    }

    async fn reseal(&self, secret: &Secret, before: &[u8], after: &[u8]) -> Result<bool> {
        let (statement, key) = match secret {
            Secret::Application(key) => (
                "UPDATE application SET sealed_secret = ?3 WHERE key = ?1 AND sealed_secret IN (?2, ?3)",
                key,
            ),
            Secret::Token(key) => {
                ("UPDATE token SET sealed_secret = ?3 WHERE key = ?1 AND sealed_secret IN (?2, ?3)", key)
            }
        };
        let (key, before, after) = (key.clone(), before.to_vec(), after.to_vec());
        self.write(move |connection| {
            Ok(connection.prepare_cached(statement)?.execute(params![key, before, after])? > 0)
        })
        .await
    }

    async fn claim_nonce(&self, nonce: &Nonce) -> Result<bool> {
        let nonce = *nonce;
        // One statement without a savepoint, because every signed request waits for it.
        let claim = move |connection: &Connection| {
            let claimed = connection
                .prepare_cached(
                    "INSERT INTO nonces.nonce (until_ms, hash) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                )?
                .execute(params![nonce.until.0, nonce.hash])?;
            Ok(claimed > 0)
        };
        self.writer.write_without_savepoint(claim).await
    }
}

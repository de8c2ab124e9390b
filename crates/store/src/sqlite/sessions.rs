//! Sessions, tickets and networks of accounts, and the deletion of everything that has expired.

use super::SqliteStore;
use super::credentials::all;
use super::values::{count, millis};
use crate::{KnownNetwork, MAX_NETWORKS, Networks, Result, Sessions, Tickets};
use async_trait::async_trait;
use model::{Millis, Purpose, Session, Ticket, Uid};
use rusqlite::{Connection, Row, params};

/// The number of rows deleted in one write, so that other writes do not wait long.
const DELETE_BATCH: usize = 5_000;

const PUT_NETWORK: &str = "INSERT INTO network (owner, hash, expires_ms) VALUES (?1, ?2, ?3)
     ON CONFLICT (owner, hash) DO UPDATE SET expires_ms = max(expires_ms, excluded.expires_ms)";
const TRIM_NETWORKS: &str = "DELETE FROM network WHERE owner = ?1 AND hash NOT IN
     (SELECT hash FROM network WHERE owner = ?1 ORDER BY expires_ms DESC, hash DESC LIMIT ?2)";

fn session(row: &Row<'_>) -> Result<Session> {
    Ok(Session {
        hash: row.get(0)?,
        owner: Uid(row.get(1)?),
        password: row.get(2)?,
        created: millis(row, 3)?,
        expires: millis(row, 4)?,
        device: row.get(5)?,
        used: millis(row, 6)?,
        epoch: row.get(7)?,
    })
}

fn ticket(row: &Row<'_>) -> Result<Ticket> {
    let reset = row.get::<_, Option<i64>>(1)?;
    Ok(Ticket {
        hash: row.get(0)?,
        purpose: reset.map_or(Purpose::Invitation, |uid| Purpose::Reset(Uid(uid))),
        by: row.get::<_, Option<i64>>(2)?.map(Uid),
        created: millis(row, 3)?,
        expires: millis(row, 4)?,
    })
}

#[async_trait]
impl Sessions for SqliteStore {
    async fn add_session(&self, session: &Session) -> Result<()> {
        let new = session.clone();
        self.write(move |connection| {
            connection
                .prepare_cached(
                    "INSERT INTO session (hash, owner, password, created_ms, expires_ms, device, used_ms, epoch)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
                )?
                .execute(params![
                    new.hash,
                    new.owner.0,
                    new.password,
                    new.created.0,
                    new.expires.0,
                    new.device,
                    new.used.0,
                    new.epoch
                ])?;
            Ok(())
        })
        .await
    }

    async fn session(&self, hash: &[u8; 32]) -> Result<Option<Session>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT hash, owner, password, created_ms, expires_ms, device, used_ms, epoch
                 FROM session WHERE hash = ?1",
            )?;
            statement.query([hash])?.next()?.map(session).transpose()
        })
        .await
    }

    async fn sessions_of(&self, owner: Uid) -> Result<Vec<Session>> {
        let statement = "SELECT hash, owner, password, created_ms, expires_ms, device, used_ms, epoch
             FROM session WHERE owner = ?1 ORDER BY created_ms DESC, hash DESC";
        self.read_long(move |connection| all(connection, statement, [owner.0], session)).await
    }

    async fn touch_session(&self, hash: &[u8; 32], at: Millis) -> Result<()> {
        let hash = *hash;
        self.write(move |connection| {
            connection
                .prepare_cached("UPDATE session SET used_ms = max(used_ms, ?2) WHERE hash = ?1")?
                .execute(params![hash, at.0])?;
            Ok(())
        })
        .await
    }

    async fn end_session(&self, hash: &[u8; 32]) -> Result<()> {
        let hash = *hash;
        self.write(move |connection| {
            connection.prepare_cached("DELETE FROM session WHERE hash = ?1")?.execute([hash])?;
            Ok(())
        })
        .await
    }
}

#[async_trait]
impl Tickets for SqliteStore {
    async fn add_ticket(&self, ticket: &Ticket) -> Result<()> {
        let new = ticket.clone();
        let reset = match new.purpose {
            Purpose::Invitation => None,
            Purpose::Reset(uid) => Some(uid.0),
        };
        self.write(move |connection| {
            connection
                .prepare_cached(
                    "INSERT INTO ticket (hash, reset, made_by, created_ms, expires_ms)
                     VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
                )?
                .execute(params![new.hash, reset, new.by.map(|uid| uid.0), new.created.0, new.expires.0])?;
            Ok(())
        })
        .await
    }

    async fn ticket(&self, hash: &[u8; 32]) -> Result<Option<Ticket>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT hash, reset, made_by, created_ms, expires_ms FROM ticket WHERE hash = ?1 AND NOT used",
            )?;
            statement.query([hash])?.next()?.map(ticket).transpose()
        })
        .await
    }

    async fn use_ticket(&self, hash: &[u8; 32]) -> Result<bool> {
        let hash = *hash;
        self.write(move |connection| {
            let used = connection
                .prepare_cached("UPDATE ticket SET used = 1 WHERE hash = ?1 AND NOT used")?
                .execute([hash])?;
            Ok(used > 0)
        })
        .await
    }
}

#[async_trait]
impl Networks for SqliteStore {
    async fn note_network(&self, owner: Uid, network: &KnownNetwork) -> Result<()> {
        let KnownNetwork { hash, expires } = *network;
        self.write(move |connection| {
            connection.prepare_cached(PUT_NETWORK)?.execute(params![owner.0, hash, expires.0])?;
            connection.prepare_cached(TRIM_NETWORKS)?.execute([owner.0, count(MAX_NETWORKS)])?;
            Ok(())
        })
        .await
    }

    async fn networks_of(&self, owner: Uid) -> Result<Vec<KnownNetwork>> {
        self.read(|connection| {
            all(connection, "SELECT hash, expires_ms FROM network WHERE owner = ?1", [owner.0], |row| {
                Ok(KnownNetwork { hash: row.get(0)?, expires: millis(row, 1)? })
            })
        })
        .await
    }

    async fn forget_networks(&self, owner: Uid) -> Result<()> {
        self.write(move |connection| {
            connection.prepare_cached("DELETE FROM network WHERE owner = ?1")?.execute([owner.0])?;
            Ok(())
        })
        .await
    }
}

impl SqliteStore {
    /// Deletes the rows of all tables that expired before `now`.
    pub(super) async fn delete_expired(&self, now: Millis) -> Result<()> {
        for statement in [
            "DELETE FROM nonces.nonce WHERE (until_ms, hash) IN
             (SELECT until_ms, hash FROM nonces.nonce WHERE until_ms < ?1 ORDER BY until_ms LIMIT ?2)",
            "DELETE FROM temporary WHERE key IN
             (SELECT key FROM temporary WHERE expires_ms < ?1 ORDER BY expires_ms LIMIT ?2)",
            "DELETE FROM session WHERE hash IN
             (SELECT hash FROM session WHERE expires_ms < ?1 ORDER BY expires_ms LIMIT ?2)",
            "DELETE FROM ticket WHERE hash IN
             (SELECT hash FROM ticket WHERE expires_ms < ?1 ORDER BY expires_ms LIMIT ?2)",
            "DELETE FROM network WHERE (owner, hash) IN
             (SELECT owner, hash FROM network WHERE expires_ms < ?1 ORDER BY expires_ms LIMIT ?2)",
            // A version approximates the time at which a block or mute ended: a day later no write is that late.
            "DELETE FROM relation WHERE (name, kind, other) IN
             (SELECT name, kind, other FROM relation INDEXED BY relation_ended
             WHERE NOT holds AND ver < ?1 - 86400000 ORDER BY ver LIMIT ?2)",
            // Records of the audit log live for 400 days.
            "DELETE FROM audit WHERE (time_ms, shard, number) IN
             (SELECT time_ms, shard, number FROM audit WHERE time_ms < ?1 - 34560000000 ORDER BY time_ms LIMIT ?2)",
            "DELETE FROM audit_of WHERE (uid, time_ms, shard, number) IN
             (SELECT uid, time_ms, shard, number FROM audit_of WHERE time_ms < ?1 - 34560000000
             ORDER BY time_ms LIMIT ?2)",
            "DELETE FROM audit_head WHERE shard IN
             (SELECT shard FROM audit_head WHERE time_ms < ?1 - 34560000000 ORDER BY time_ms LIMIT ?2)",
        ] {
            loop {
                let forget = move |connection: &Connection| {
                    let bounds = params![now.0, count(DELETE_BATCH)];
                    Ok(connection.prepare_cached(statement)?.execute(bounds)?)
                };
                if self.write(forget).await? < DELETE_BATCH {
                    break;
                }
            }
        }
        Ok(())
    }
}

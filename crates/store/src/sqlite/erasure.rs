//! Erasure of removed accounts, in small commits. The writer zeroes what it deletes (`secure_delete`); when the
//! write-ahead log is truncated too, no file contains an erased text.

use super::SqliteStore;
use super::credentials::all;
use super::values::count;
use crate::{Erasures, Result};
use async_trait::async_trait;
use model::{Account, Uid};
use rusqlite::{Connection, params};
use std::sync::atomic::Ordering;

/// Activities erased in one job, so that no other write waits long.
const BATCH: usize = 500;
/// Attempts to truncate the write-ahead log at the end.
const TRUNCATE_ATTEMPTS: u32 = 20;

/// Authored entries by arrival, which no retraction deletes.
const AUTHORED: &str = "SELECT seq, aid FROM entry INDEXED BY entry_own
     WHERE uid = ?1 AND run % 4 = 0 AND (seq, aid) > (?2, ?3) ORDER BY seq, aid LIMIT ?4";
const CLEAR_BODY: &str = "UPDATE body SET content = x'', received_ms = NULL
     WHERE id = (SELECT body FROM activity WHERE aid = ?1) AND received_ms IS NOT NULL";
const DELETE_CLAIMS: &str = "DELETE FROM claim WHERE actor = ?1 AND (service, source_id) IN
     (SELECT service, source_id FROM claim WHERE actor = ?1 LIMIT ?2)";

/// What else belongs to an account. The sources come before the connections that name them.
const DELETE_REST: &[&str] = &[
    "DELETE FROM picture WHERE uid = ?1",
    "DELETE FROM session WHERE owner = ?1",
    "DELETE FROM key WHERE owner = ?1",
    "DELETE FROM token WHERE owner = ?1",
    "DELETE FROM temporary WHERE allowed_by = ?1",
    "DELETE FROM application WHERE owner = ?1",
    "DELETE FROM ticket WHERE reset = ?1 OR made_by = ?1",
    "DELETE FROM network WHERE owner = ?1",
    "DELETE FROM second_factor WHERE owner = ?1",
    "DELETE FROM source AS own WHERE own.id IN (SELECT source FROM connection WHERE owner = ?1) AND NOT EXISTS
     (SELECT 1 FROM connection WHERE connection.source = own.id AND owner <> ?1 AND NOT removed)",
    "DELETE FROM connection WHERE owner = ?1",
    "DELETE FROM hook_progress WHERE id IN (SELECT id FROM hook WHERE owner = ?1)",
    "DELETE FROM hook WHERE owner = ?1",
    "DELETE FROM seen WHERE uid = ?1",
    "DELETE FROM usage WHERE uid = ?1",
    // What the account decided about others, and what they have of it.
    "DELETE FROM relation WHERE kind = 2 AND other = (SELECT name FROM account WHERE uid = ?1) AND name IN
     (SELECT other FROM relation WHERE name = (SELECT name FROM account WHERE uid = ?1) AND kind = 0)",
    "DELETE FROM relation WHERE name = (SELECT name FROM account WHERE uid = ?1) AND kind < 2",
];

/// The place of an authored entry.
type Place = (i64, Vec<u8>);

/// Clears a batch of bodies after a place. Returns the places of the batch, and how many had a body.
fn clear_bodies(connection: &Connection, uid: Uid, (seq, aid): &Place) -> Result<(Vec<Place>, usize)> {
    let bounds = params![uid.0, seq, aid, count(BATCH)];
    let places = all(connection, AUTHORED, bounds, |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?)))?;
    let mut clear = connection.prepare_cached(CLEAR_BODY)?;
    let mut cleared = 0;
    for (_, aid) in &places {
        cleared += clear.execute([aid])?;
    }
    Ok((places, cleared))
}

#[async_trait]
impl Erasures for SqliteStore {
    async fn due_erasures(&self, limit: usize) -> Result<Vec<Uid>> {
        let due = "SELECT uid FROM erasure ORDER BY uid LIMIT ?1";
        self.read_long(move |connection| all(connection, due, [count(limit)], |row| Ok(Uid(row.get(0)?))))
            .await
    }

    async fn erase_account(&self, account: &Account) -> Result<u64> {
        let uid = account.uid;
        let (mut erased, mut last) = (0, (i64::MIN, Vec::new()));
        loop {
            let from = last.clone();
            let (places, cleared) =
                self.write(move |connection| clear_bodies(connection, uid, &from)).await?;
            erased += cleared as u64;
            let is_last = places.len() < BATCH;
            last = places.into_iter().next_back().unwrap_or(last);
            if is_last {
                break;
            }
        }
        loop {
            let delete = move |connection: &Connection| {
                Ok(connection.prepare_cached(DELETE_CLAIMS)?.execute([uid.0, count(BATCH)])?)
            };
            if self.write(delete).await? < BATCH {
                break;
            }
        }
        self.write(move |connection| {
            for statement in DELETE_REST {
                connection.prepare_cached(statement)?.execute([uid.0])?;
            }
            Ok(())
        })
        .await?;
        self.truncate_due.store(true, Ordering::Relaxed);
        self.truncate_log(TRUNCATE_ATTEMPTS).await?;
        Ok(erased)
    }

    async fn finish_erasure(&self, uid: Uid) -> Result<()> {
        self.write(move |connection| {
            connection.prepare_cached("DELETE FROM erasure WHERE uid = ?1")?.execute([uid.0])?;
            Ok(())
        })
        .await
    }
}

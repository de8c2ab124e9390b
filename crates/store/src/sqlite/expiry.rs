//! Deletes entries and bodies that are older than the retention. Claims and states stay: they contain no text, and a
//! repeated write of an expired activity must find them.
//!
//! The writer zeroes what it deletes (`secure_delete`), and free pages are used again. When the write-ahead log is
//! truncated too, no file contains an expired text.

use super::SqliteStore;
use super::changes::note_of;
use super::values::count;
use crate::{Part, Result};
use model::{Millis, Uid};
use rusqlite::{Connection, params};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Rows deleted in one job, so that no other write waits long.
const BATCH: usize = 500;
/// The pause between two jobs.
const PAUSE: Duration = Duration::from_millis(20);
/// How often a long deletion truncates the write-ahead log.
const TRUNCATE_INTERVAL: Duration = Duration::from_secs(20);
/// Attempts to truncate the write-ahead log, and the pause between two. A reader may be using it.
const TRUNCATE_ATTEMPTS: u32 = 20;
const TRUNCATE_PAUSE: Duration = Duration::from_secs(1);

const EXPIRED_RUN: &str = "SELECT uid, run FROM run_of WHERE oldest_ms < ?1 ORDER BY oldest_ms LIMIT 1";
const DELETE_ENTRIES: &str = "DELETE FROM entry WHERE uid = ?1 AND run = ?2 AND (received_ms, aid) IN
     (SELECT received_ms, aid FROM entry WHERE uid = ?1 AND run = ?2 AND received_ms < ?3
     ORDER BY received_ms, aid LIMIT ?4)";
const OLDEST: &str = "SELECT min(received_ms) FROM entry WHERE uid = ?1 AND run = ?2";
const CLEAR_BODIES: &str = "UPDATE body SET content = x'', received_ms = NULL WHERE id IN
     (SELECT id FROM body WHERE received_ms < ?1 ORDER BY received_ms LIMIT ?2)";

impl SqliteStore {
    /// Deletes everything that is older than the retention at `now`, in small commits.
    pub(super) async fn delete_older_than_retention(&self, now: Millis) -> Result<()> {
        let Some(retention) = self.retention else { return Ok(()) };
        let age = i64::try_from(retention.as_millis()).unwrap_or(i64::MAX);
        let oldest = now.0.saturating_sub(age);
        let mut truncated = Instant::now();
        for delete in [delete_entries, clear_bodies] {
            loop {
                let done = self.write(move |connection| delete(connection, oldest)).await?;
                if done > 0 {
                    self.truncate_due.store(true, Ordering::Relaxed);
                }
                if done < BATCH {
                    break;
                }
                if truncated.elapsed() > TRUNCATE_INTERVAL {
                    self.truncate_log(1).await?;
                    truncated = Instant::now();
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
        self.truncate_log(TRUNCATE_ATTEMPTS).await
    }

    /// Truncates the write-ahead log if something was deleted since the last time. After failed attempts the next
    /// expiry tries again.
    pub(super) async fn truncate_log(&self, attempts: u32) -> Result<()> {
        for attempt in 1..=attempts {
            if !self.truncate_due.load(Ordering::Relaxed) {
                return Ok(());
            }
            if self.writer.truncate_log().await? {
                self.truncate_due.store(false, Ordering::Relaxed);
            } else if attempt < attempts {
                tokio::time::sleep(TRUNCATE_PAUSE).await;
            }
        }
        Ok(())
    }
}

/// Deletes a batch of expired entries. Returns its size; a run without an expired entry counts as one.
fn delete_entries(connection: &Connection, oldest: i64) -> Result<usize> {
    let mut next = connection.prepare_cached(EXPIRED_RUN)?;
    let mut done = 0;
    while done < BATCH {
        let mut rows = next.query([oldest])?;
        let Some(row) = rows.next()? else { break };
        let (uid, run): (i64, i64) = (row.get(0)?, row.get(1)?);
        drop(rows);
        note_of(Part::Collection, Uid(uid));
        let bounds = params![uid, run, oldest, count(BATCH - done)];
        done += connection.prepare_cached(DELETE_ENTRIES)?.execute(bounds)?.max(1);
        let left: Option<i64> = connection.prepare_cached(OLDEST)?.query_row([uid, run], |row| row.get(0))?;
        match left {
            Some(oldest) => connection
                .prepare_cached("UPDATE run_of SET oldest_ms = ?3 WHERE uid = ?1 AND run = ?2")?
                .execute([uid, run, oldest])?,
            None => connection
                .prepare_cached("DELETE FROM run_of WHERE uid = ?1 AND run = ?2")?
                .execute([uid, run])?,
        };
    }
    Ok(done)
}

/// Clears a batch of expired bodies. Returns its size.
fn clear_bodies(connection: &Connection, oldest: i64) -> Result<usize> {
    Ok(connection.prepare_cached(CLEAR_BODIES)?.execute([oldest, count(BATCH)])?)
}

//! Usage: counted in the transaction that accepts an activity, so it is exact.

use super::SqliteStore;
use super::credentials::all;
use crate::usage::day_of;
use crate::{Acceptance, Result, Usage, Usages};
use async_trait::async_trait;
use model::{Millis, Uid};
use rusqlite::{Connection, Row, params};

const ADD: &str = "INSERT INTO usage (uid, day, activities, bytes) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (uid, day) DO UPDATE SET activities = activities + excluded.activities,
     bytes = bytes + excluded.bytes";
const PUT: &str = "INSERT INTO usage (uid, day, activities, bytes) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (uid, day) DO UPDATE SET activities = excluded.activities, bytes = excluded.bytes";
const SUM: &str = "SELECT coalesce(sum(activities), 0), coalesce(sum(bytes), 0) FROM usage
     WHERE uid = ?1 AND day >= ?2";
const EVERY: &str = "SELECT day, activities, bytes FROM usage WHERE uid = ?1 ORDER BY day";

/// Counts an accepted version.
pub(super) fn count(connection: &Connection, item: &Acceptance) -> Result<()> {
    if item.usage != Usage::default() {
        let day = day_of(item.activity.state.received);
        let values = [item.source.actor.0, day, item.usage.activities, item.usage.bytes];
        connection.prepare_cached(ADD)?.execute(values)?;
    }
    Ok(())
}

/// The usage by day.
pub(super) fn every(connection: &Connection, uid: Uid) -> Result<Vec<(i64, Usage)>> {
    let read = |row: &Row<'_>| Ok((row.get(0)?, Usage { activities: row.get(1)?, bytes: row.get(2)? }));
    all(connection, EVERY, [uid.0], read)
}

/// Replaces the usage of some days.
pub(super) fn put(connection: &Connection, uid: Uid, days: &[(i64, Usage)]) -> Result<()> {
    let mut put = connection.prepare_cached(PUT)?;
    days.iter().try_for_each(|(day, usage)| {
        put.execute(params![uid.0, day, usage.activities, usage.bytes])?;
        Ok(())
    })
}

#[async_trait]
impl Usages for SqliteStore {
    async fn usage(&self, uid: Uid, since: Option<Millis>) -> Result<Usage> {
        let first = since.map_or(i64::MIN, day_of);
        self.read(|connection| {
            let read = |row: &Row<'_>| Ok(Usage { activities: row.get(0)?, bytes: row.get(1)? });
            Ok(connection.prepare_cached(SUM)?.query_row([uid.0, first], read)?)
        })
        .await
    }

    /// Nothing waits.
    async fn flush_usage(&self) -> Result<()> {
        Ok(())
    }
}

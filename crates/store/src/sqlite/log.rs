//! The delivery log: rows that wait to be acknowledged.

use super::SqliteStore;
use super::values::{activity_id, count, pack_uids, position, seq, unpack_uids, version};
use crate::{Log, Result, Task};
use async_trait::async_trait;
use model::{ActivityId, Position, Uid, Version};
use rusqlite::{Connection, params};

/// Everything before the oldest task that waits; with none waiting, everything that was ever appended.
const FLOOR: &str = "SELECT coalesce((SELECT min(seq) - 1 FROM log),
     (SELECT seq FROM sqlite_sequence WHERE name = 'log'), 0)";

/// Appends a task within the present transaction. Only one transaction writes at a time, so positions become
/// visible in their order.
pub(super) fn append(
    connection: &Connection,
    id: ActivityId,
    version: Version,
    formerly: &[Uid],
) -> Result<Position> {
    let seq = connection
        .prepare_cached("INSERT INTO log (aid, ver, formerly) VALUES (?1, ?2, ?3)")?
        .insert(params![id.as_bytes(), version.0, pack_uids(formerly)])?;
    Ok(Position(seq.cast_unsigned()))
}

/// Everything up to here has been delivered.
pub(super) fn floor(connection: &Connection) -> Result<i64> {
    Ok(connection.prepare_cached(FLOOR)?.query_row([], |row| row.get(0))?)
}

#[async_trait]
impl Log for SqliteStore {
    async fn floor(&self) -> Result<Position> {
        self.read(|connection| Ok(Position(floor(connection)?.cast_unsigned()))).await
    }

    async fn pending(&self, limit: usize) -> Result<Vec<Task>> {
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT seq, aid, ver, formerly FROM log ORDER BY seq LIMIT ?1")?;
            let mut rows = statement.query([count(limit)])?;
            let mut tasks = Vec::new();
            while let Some(row) = rows.next()? {
                tasks.push(Task {
                    position: position(row, 0)?,
                    id: activity_id(row, 1)?,
                    version: version(row, 2)?,
                    formerly: unpack_uids(row, 3)?,
                });
            }
            Ok(tasks)
        })
        .await
    }

    async fn acknowledge(&self, positions: &[Position]) -> Result<()> {
        let positions = positions.to_vec();
        self.write(move |connection| {
            let mut statement = connection.prepare_cached("DELETE FROM log WHERE seq = ?1")?;
            for position in positions {
                statement.execute([seq(position)])?;
            }
            Ok(())
        })
        .await
    }
}

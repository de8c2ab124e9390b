//! The delivery log: rows until they are acknowledged.

use super::SqliteStore;
use super::changes::note;
use super::copying::OLDEST;
use super::restore::LOST;
use super::values::{corrupt, count, millis, position, seq};
use crate::codec::Encoded;
use crate::dependencies::{Part, Subject};
use crate::{DeadLetter, Log, Result, Task, TracedWork, Work, trace};
use async_trait::async_trait;
use model::{Millis, Position};
use rusqlite::{Connection, OptionalExtension, Row, params};

/// Everything before the oldest task; without tasks, everything that was ever appended.
const FLOOR: &str = "SELECT coalesce((SELECT min(seq) - 1 FROM task),
     (SELECT seq FROM sqlite_sequence WHERE name = 'task'), 0)";

const APPEND: &str = "INSERT INTO task (work, attempts, not_before_ms) VALUES (?1, ?2, ?3)";
const WAIT: &str = "INSERT INTO waiting (work, attempts, not_before_ms) VALUES (?1, ?2, ?3)";
const REQUEUE_DUE: &str = "INSERT INTO task (work, attempts, not_before_ms)
     SELECT work, attempts, not_before_ms FROM waiting
     WHERE not_before_ms <= ?1 ORDER BY not_before_ms, number";
const PENDING: &str = "SELECT work, attempts, seq, not_before_ms FROM task ORDER BY seq LIMIT ?1";
const PUT_DEAD_LETTER: &str =
    "INSERT INTO dead_letter (work, attempts, error, at_ms) VALUES (?1, ?2, ?3, ?4)";
const DEAD_LETTERS: &str = "SELECT work, attempts, number, error, at_ms
     FROM dead_letter WHERE number > ?1 ORDER BY number LIMIT ?2";

/// Appends a task within the current transaction. There is one writer, so positions become visible in order.
pub(super) fn append(connection: &Connection, work: &TracedWork) -> Result<Position> {
    let seq = insert(connection, APPEND, work, 0, Millis(0))?;
    Ok(Position(seq.cast_unsigned()))
}

fn insert(
    connection: &Connection,
    statement: &str,
    work: &TracedWork,
    attempts: u32,
    not_before: Millis,
) -> Result<i64> {
    note(Part::Floor, &[]);
    Ok(connection.prepare_cached(statement)?.insert(params![work.encoded(), attempts, not_before.0])?)
}

/// The work in the first column.
fn work(row: &Row<'_>) -> Result<TracedWork> {
    TracedWork::decoded(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?)
}

fn delete(connection: &Connection, at: Position) -> Result<bool> {
    note(Part::Floor, &[]);
    Ok(connection.prepare_cached("DELETE FROM task WHERE seq = ?1")?.execute([seq(at)])? > 0)
}

/// Everything up to this position is delivered.
pub(super) fn floor(connection: &Connection) -> Result<i64> {
    Ok(connection.prepare_cached(FLOOR)?.query_row([], |row| row.get(0))?)
}

/// The last assigned position.
pub(super) fn end(connection: &Connection) -> Result<i64> {
    let last = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'task'), 0)";
    Ok(connection.prepare_cached(last)?.query_row([], |row| row.get(0))?)
}

/// Assigns positions above `last` from now on.
pub(super) fn continue_at(connection: &Connection, last: i64) -> Result<()> {
    connection.execute("DELETE FROM sqlite_sequence WHERE name = 'task'", [])?;
    connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('task', ?1)", [last])?;
    Ok(())
}

/// Moves all tasks up to `last` to the end of the log.
pub(super) fn append_again(connection: &Connection, last: i64) -> Result<()> {
    let mut tasks = connection
        .prepare("SELECT work, attempts, seq, not_before_ms FROM task WHERE seq <= ?1 ORDER BY seq")?;
    let mut rows = tasks.query([last])?;
    while let Some(row) = rows.next()? {
        let work = work(row)?.moved_from(position(row, 2)?);
        insert(connection, APPEND, &work, row.get(1)?, millis(row, 3)?)?;
    }
    connection.execute("DELETE FROM task WHERE seq <= ?1", [last])?;
    Ok(())
}

/// The positions that were assigned after a backup that was restored later: each pair is the last position of a backup, and
/// the first one after its restoration.
pub(super) fn lost(connection: &Connection) -> Result<Vec<(Position, Position)>> {
    let text: Option<String> = fact(connection, LOST)?;
    let pair = |pair: &str| {
        let (last, first) = pair.split_once('-')?;
        Some((Position(last.parse().ok()?), Position(first.parse().ok()?)))
    };
    let gaps = text.as_deref().unwrap_or_default().split(' ').filter(|pair| !pair.is_empty());
    gaps.map(|gap| pair(gap).ok_or_else(|| corrupt("invalid lost positions"))).collect()
}

/// Arrivals are never deleted. A copied store has the fact [`OLDEST`].
fn oldest(connection: &Connection) -> Result<Position> {
    Ok(Position(fact(connection, OLDEST)?.and_then(|text| text.parse().ok()).unwrap_or(0)))
}

fn fact(connection: &Connection, name: &str) -> Result<Option<String>> {
    let value = "SELECT value FROM fact WHERE name = ?1";
    Ok(connection.prepare_cached(value)?.query_row([name], |row| row.get(0)).optional()?)
}

#[async_trait]
impl Log for SqliteStore {
    async fn append(&self, work: &Work) -> Result<Position> {
        let work = work.clone().in_trace(trace::current());
        self.write(move |connection| append(connection, &work)).await
    }

    async fn floor(&self) -> Result<Position> {
        let read = |connection: &Connection| Ok(Position(floor(connection)?.cast_unsigned()));
        self.read_one_cached(&self.value_caches.floor, &(), Subject::new(Part::Floor, &[]), read).await
    }

    async fn pending(&self, limit: usize) -> Result<Vec<Task>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(PENDING)?;
            let mut rows = statement.query([count(limit)])?;
            let mut tasks = Vec::new();
            while let Some(row) = rows.next()? {
                let TracedWork { work, trace } = work(row)?;
                tasks.push(Task {
                    position: position(row, 2)?,
                    work,
                    trace,
                    attempts: row.get(1)?,
                    not_before: millis(row, 3)?,
                });
            }
            Ok(tasks)
        })
        .await
    }

    async fn acknowledge(&self, done: &[Position], next: &[TracedWork]) -> Result<()> {
        let (done, next) = (done.to_vec(), next.to_vec());
        self.write(move |connection| {
            for work in &next {
                append(connection, work)?;
            }
            for at in done {
                delete(connection, at)?;
            }
            Ok(())
        })
        .await
    }

    async fn requeue_due(&self, now: Millis) -> Result<()> {
        let any = "SELECT 1 FROM waiting WHERE not_before_ms <= ?1 LIMIT 1";
        if !self.read(|connection| Ok(connection.prepare_cached(any)?.exists([now.0])?)).await? {
            return Ok(());
        }
        self.write(move |connection| {
            note(Part::Floor, &[]);
            connection.prepare_cached(REQUEUE_DUE)?.execute([now.0])?;
            let delete = "DELETE FROM waiting WHERE not_before_ms <= ?1";
            Ok(connection.prepare_cached(delete)?.execute([now.0]).map(drop)?)
        })
        .await
    }

    async fn sweep(&self, _now: Millis) -> Result<usize> {
        // A write and its task are one transaction, so no task is ever missing.
        Ok(0)
    }

    async fn oldest(&self, _now: Millis) -> Result<Position> {
        self.read(oldest).await
    }

    async fn resume_at(&self, after: Position, _now: Millis) -> Result<Position> {
        self.read(move |connection| {
            let gaps = lost(connection)?.into_iter();
            let passed = gaps.filter(|(last, first)| *last < after && after < *first).map(|(_, first)| first);
            Ok(passed.chain([oldest(connection)?]).fold(after, Position::max))
        })
        .await
    }

    async fn retry(&self, task: &Task, not_before: Millis) -> Result<()> {
        let task = task.clone();
        self.write(move |connection| {
            // If it was acknowledged in the meantime, it is done.
            if delete(connection, task.position)? {
                insert(connection, WAIT, &task.moved(), task.attempts, not_before)?;
            }
            Ok(())
        })
        .await
    }

    async fn dead_letter(&self, task: &Task, error: &str, at: Millis) -> Result<()> {
        let (task, error) = (task.clone(), error.to_owned());
        self.write(move |connection| {
            if delete(connection, task.position)? {
                connection.prepare_cached(PUT_DEAD_LETTER)?.execute(params![
                    task.moved().encoded(),
                    task.attempts,
                    error,
                    at.0
                ])?;
            }
            Ok(())
        })
        .await
    }

    async fn dead_letters(&self, after: Option<u64>, limit: usize) -> Result<Vec<DeadLetter>> {
        let after = i64::try_from(after.unwrap_or(0)).unwrap_or(i64::MAX);
        self.read(|connection| {
            let mut statement = connection.prepare_cached(DEAD_LETTERS)?;
            let mut rows = statement.query(params![after, count(limit)])?;
            let mut letters = Vec::new();
            while let Some(row) = rows.next()? {
                letters.push(DeadLetter {
                    number: row.get::<_, i64>(2)?.cast_unsigned(),
                    work: Some(work(row)?.work),
                    attempts: row.get(1)?,
                    error: row.get(3)?,
                    at: millis(row, 4)?,
                });
            }
            Ok(letters)
        })
        .await
    }

    async fn replay(&self, number: u64) -> Result<bool> {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        self.write(move |connection| {
            note(Part::Floor, &[]);
            let insert = "INSERT INTO task (work) SELECT work FROM dead_letter WHERE number = ?1";
            connection.prepare_cached(insert)?.execute([number])?;
            let delete = "DELETE FROM dead_letter WHERE number = ?1";
            Ok(connection.prepare_cached(delete)?.execute([number])? > 0)
        })
        .await
    }
}

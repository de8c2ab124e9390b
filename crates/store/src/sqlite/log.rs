//! The delivery log: rows that wait to be acknowledged.

use super::SqliteStore;
use super::copying::OLDEST;
use super::values::{
    activity_id, corrupt, count, millis, pack_uids, position, seq, unpack_uids, unpack_visibility, version,
    visibility_number,
};
use crate::{DeadLetter, Log, Result, Task, Work};
use async_trait::async_trait;
use model::{Formerly, Millis, Position, Spot, Uid};
use rusqlite::{Connection, OptionalExtension, Row, params};

/// Everything before the oldest task that waits; with none waiting, everything that was ever appended.
const FLOOR: &str = "SELECT coalesce((SELECT min(seq) - 1 FROM task),
     (SELECT seq FROM sqlite_sequence WHERE name = 'task'), 0)";

const APPEND: &str = "INSERT INTO task
     (kind, aid, ver, one, other, visibility, formerly, accepted, attempts, not_before_ms)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

const WAIT: &str = "INSERT INTO waiting
     (kind, aid, ver, one, other, visibility, formerly, accepted, attempts, not_before_ms)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

const COME_DUE: &str = "INSERT INTO task
     (kind, aid, ver, one, other, visibility, formerly, accepted, attempts, not_before_ms)
     SELECT kind, aid, ver, one, other, visibility, formerly, accepted, attempts, not_before_ms
     FROM waiting WHERE not_before_ms <= ?1 ORDER BY not_before_ms, number";

const PENDING: &str =
    "SELECT kind, aid, ver, one, other, visibility, formerly, accepted, attempts, seq, not_before_ms
     FROM task ORDER BY seq LIMIT ?1";

const BURY: &str = "INSERT INTO dead_letter
     (kind, aid, ver, one, other, visibility, formerly, accepted, attempts, why, at_ms)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

const LETTERS: &str =
    "SELECT kind, aid, ver, one, other, visibility, formerly, accepted, attempts, number, why, at_ms
     FROM dead_letter WHERE number > ?1 ORDER BY number LIMIT ?2";

const VERSION: i64 = 0;
const FOLLOWERS: i64 = 1;
const EDGE: i64 = 2;
const ACCOUNT: i64 = 3;
const REMOVAL: i64 = 4;
const ADDRESSED: i64 = 5;

/// A task's columns.
#[derive(Default)]
struct Columns {
    kind: i64,
    aid: Option<[u8; 16]>,
    ver: Option<i64>,
    one: Option<i64>,
    other: Option<i64>,
    visibility: Option<i64>,
    formerly: Option<Vec<u8>>,
    accepted: Option<i64>,
}

impl From<&Work> for Columns {
    fn from(work: &Work) -> Columns {
        match work {
            Work::Version { id, version, formerly, accepted } => Columns {
                kind: VERSION,
                aid: Some(*id.as_bytes()),
                ver: Some(version.0),
                visibility: formerly.as_ref().map(|before| visibility_number(before.visibility)),
                formerly: formerly.as_ref().map(|before| pack_uids(&before.addressed)),
                accepted: accepted.map(seq),
                ..Columns::default()
            },
            Work::Followers { id, version, formerly, accepted, after } => Columns {
                kind: FOLLOWERS,
                aid: Some(*id.as_bytes()),
                ver: Some(version.0),
                one: Some(after.0),
                visibility: formerly.map(visibility_number),
                accepted: Some(seq(*accepted)),
                ..Columns::default()
            },
            Work::Edge { follower, followee, version, following } => Columns {
                kind: EDGE,
                ver: Some(version.0),
                one: Some(follower.0),
                other: Some(followee.0),
                accepted: Some(i64::from(*following)),
                ..Columns::default()
            },
            Work::Account { uid, after } => Columns {
                kind: ACCOUNT,
                one: Some(uid.0),
                other: after.map(|after| after.0),
                ..Columns::default()
            },
            Work::Addressed { uid, after } => Columns {
                kind: ADDRESSED,
                one: Some(uid.0),
                ver: after.map(|spot| spot.time.0),
                aid: after.map(|spot| *spot.id.as_bytes()),
                ..Columns::default()
            },
            Work::Removal { owner, id } => {
                Columns { kind: REMOVAL, aid: Some(*id.as_bytes()), one: Some(owner.0), ..Columns::default() }
            }
        }
    }
}

/// From the columns kind, aid, ver, one, other, visibility, formerly, accepted.
fn work(row: &Row<'_>) -> Result<Work> {
    let visibility = |row: &Row<'_>| row.get::<_, Option<i64>>(5)?.map(unpack_visibility).transpose();
    Ok(match row.get(0)? {
        VERSION => Work::Version {
            id: activity_id(row, 1)?,
            version: version(row, 2)?,
            formerly: match visibility(row)? {
                Some(visibility) => Some(Formerly { visibility, addressed: unpack_uids(row, 6)? }),
                None => None,
            },
            accepted: row.get::<_, Option<i64>>(7)?.map(|_| position(row, 7)).transpose()?,
        },
        ADDRESSED => {
            let spot =
                |time| Ok::<_, crate::StoreError>(Spot { time: Millis(time), id: activity_id(row, 1)? });
            let after = row.get::<_, Option<i64>>(2)?.map(spot).transpose()?;
            Work::Addressed { uid: Uid(row.get(3)?), after }
        }
        FOLLOWERS => Work::Followers {
            id: activity_id(row, 1)?,
            version: version(row, 2)?,
            formerly: visibility(row)?,
            accepted: position(row, 7)?,
            after: Uid(row.get(3)?),
        },
        EDGE => Work::Edge {
            follower: Uid(row.get(3)?),
            followee: Uid(row.get(4)?),
            version: version(row, 2)?,
            following: row.get(7)?,
        },
        ACCOUNT => Work::Account { uid: Uid(row.get(3)?), after: row.get::<_, Option<i64>>(4)?.map(Uid) },
        REMOVAL => Work::Removal { owner: Uid(row.get(3)?), id: activity_id(row, 1)? },
        _ => return Err(corrupt("not a kind of task")),
    })
}

/// Appends a task within the present transaction. Only one transaction writes at a time, so positions become
/// visible in their order.
pub(super) fn append(connection: &Connection, work: &Work) -> Result<Position> {
    let seq = insert(connection, APPEND, work, 0, Millis(0))?;
    Ok(Position(seq.cast_unsigned()))
}

fn insert(
    connection: &Connection,
    statement: &str,
    work: &Work,
    attempts: u32,
    not_before: Millis,
) -> Result<i64> {
    let c = Columns::from(work);
    Ok(connection.prepare_cached(statement)?.insert(params![
        c.kind,
        c.aid,
        c.ver,
        c.one,
        c.other,
        c.visibility,
        c.formerly,
        c.accepted,
        attempts,
        not_before.0
    ])?)
}

fn delete(connection: &Connection, at: Position) -> Result<bool> {
    Ok(connection.prepare_cached("DELETE FROM task WHERE seq = ?1")?.execute([seq(at)])? > 0)
}

/// Everything up to here has been delivered.
pub(super) fn floor(connection: &Connection) -> Result<i64> {
    Ok(connection.prepare_cached(FLOOR)?.query_row([], |row| row.get(0))?)
}

#[async_trait]
impl Log for SqliteStore {
    async fn append(&self, work: &Work) -> Result<Position> {
        let work = work.clone();
        self.write(move |connection| append(connection, &work)).await
    }

    async fn floor(&self) -> Result<Position> {
        self.read(|connection| Ok(Position(floor(connection)?.cast_unsigned()))).await
    }

    async fn pending(&self, limit: usize) -> Result<Vec<Task>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(PENDING)?;
            let mut rows = statement.query([count(limit)])?;
            let mut tasks = Vec::new();
            while let Some(row) = rows.next()? {
                tasks.push(Task {
                    position: position(row, 9)?,
                    work: work(row)?,
                    attempts: row.get(8)?,
                    not_before: millis(row, 10)?,
                });
            }
            Ok(tasks)
        })
        .await
    }

    async fn acknowledge(&self, done: &[Position], next: &[Work]) -> Result<()> {
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

    async fn come_due(&self, now: Millis) -> Result<()> {
        let any = "SELECT 1 FROM waiting WHERE not_before_ms <= ?1 LIMIT 1";
        if !self.read(|connection| Ok(connection.prepare_cached(any)?.exists([now.0])?)).await? {
            return Ok(());
        }
        self.write(move |connection| {
            connection.prepare_cached(COME_DUE)?.execute([now.0])?;
            let gone = "DELETE FROM waiting WHERE not_before_ms <= ?1";
            Ok(connection.prepare_cached(gone)?.execute([now.0]).map(drop)?)
        })
        .await
    }

    async fn sweep(&self, _now: Millis) -> Result<usize> {
        // Whatever was begun is in the log, because both are one transaction.
        Ok(0)
    }

    async fn oldest(&self, _now: Millis) -> Result<Position> {
        // Nothing is forgotten; what was copied here from elsewhere says where it begins.
        let text = "SELECT value FROM fact WHERE name = ?1";
        let found: Option<String> = self
            .read(|connection| {
                Ok(connection.prepare_cached(text)?.query_row([OLDEST], |row| row.get(0)).optional()?)
            })
            .await?;
        Ok(Position(found.and_then(|text| text.parse().ok()).unwrap_or(0)))
    }

    async fn retry(&self, task: &Task, not_before: Millis) -> Result<()> {
        let task = task.clone();
        self.write(move |connection| {
            // Whoever acknowledged it meanwhile did what is to be done.
            if delete(connection, task.position)? {
                insert(connection, WAIT, &task.work.moved_from(task.position), task.attempts, not_before)?;
            }
            Ok(())
        })
        .await
    }

    async fn bury(&self, task: &Task, why: &str, at: Millis) -> Result<()> {
        let (task, why) = (task.clone(), why.to_owned());
        self.write(move |connection| {
            if delete(connection, task.position)? {
                let c = Columns::from(&task.work.moved_from(task.position));
                connection.prepare_cached(BURY)?.execute(params![
                    c.kind,
                    c.aid,
                    c.ver,
                    c.one,
                    c.other,
                    c.visibility,
                    c.formerly,
                    c.accepted,
                    task.attempts,
                    why,
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
            let mut statement = connection.prepare_cached(LETTERS)?;
            let mut rows = statement.query(params![after, count(limit)])?;
            let mut letters = Vec::new();
            while let Some(row) = rows.next()? {
                letters.push(DeadLetter {
                    number: row.get::<_, i64>(9)?.cast_unsigned(),
                    work: work(row)?,
                    attempts: row.get(8)?,
                    why: row.get(10)?,
                    at: millis(row, 11)?,
                });
            }
            Ok(letters)
        })
        .await
    }

    async fn replay(&self, number: u64) -> Result<bool> {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        self.write(move |connection| {
            let again = "INSERT INTO task (kind, aid, ver, one, other, visibility, formerly, accepted)
                 SELECT kind, aid, ver, one, other, visibility, formerly, accepted
                 FROM dead_letter WHERE number = ?1";
            connection.prepare_cached(again)?.execute([number])?;
            let gone = "DELETE FROM dead_letter WHERE number = ?1";
            Ok(connection.prepare_cached(gone)?.execute([number])? > 0)
        })
        .await
    }
}

//! By which way what is followed comes into collections: decisions and registers, a row each. There is one writer, so
//! whoever decides is alone.

use super::credentials::all;
use super::values::{corrupt, count, optional_millis, position, seq, version};
use super::{SqliteStore, feed, log};
use crate::{LastRead, Result, Ways, Work};
use async_trait::async_trait;
use model::{Audience, Entry, Millis, Phase, Position, Reading, Sleep, Stage, Uid, Version, Way};
use rusqlite::{Connection, OptionalExtension, Row, params};

const AUDIENCE: &str = "SELECT ver, stage FROM audience WHERE uid = ?1";
const PUT_AUDIENCE: &str = "INSERT INTO audience (uid, ver, stage) VALUES (?1, ?2, ?3)
     ON CONFLICT (uid) DO UPDATE SET ver = excluded.ver, stage = excluded.stage
     WHERE excluded.ver > audience.ver";

const DECIDED: &str = "SELECT pulled FROM way WHERE follower = ?1 AND followee = ?2";
/// What was decided stays; an edge that ended by its version does not begin by it.
const NOTE_EDGE: &str = "INSERT INTO way (follower, followee, pulled, ver, follows, seq)
     VALUES (?1, ?2, ?3, ?4, TRUE, ?5)
     ON CONFLICT (follower, followee) DO UPDATE SET ver = excluded.ver, follows = TRUE, seq = excluded.seq
     WHERE excluded.ver > way.ver OR excluded.ver = way.ver AND way.follows AND excluded.seq > way.seq";
const END_EDGE: &str = "UPDATE way SET ver = ?3, follows = FALSE
     WHERE follower = ?1 AND followee = ?2 AND ver <= ?3";
pub(super) const PULLS_FROM: &str = "SELECT count(*) FROM way INDEXED BY way_pulled
     WHERE follower = ?1 AND pulled AND follows";
pub(super) const PULLED: &str = "SELECT followee, seq FROM way INDEXED BY way_pulled
     WHERE follower = ?1 AND pulled AND follows ORDER BY followee";
pub(super) const PUSHED: &str = "SELECT follower, seq FROM way INDEXED BY way_pushed
     WHERE followee = ?1 AND follower > ?2 AND NOT pulled AND follows ORDER BY follower LIMIT ?3";

pub(super) const READER: &str = "SELECT ver, phase, seq, read_ms FROM reader WHERE uid = ?1";
const NOTE_READ: &str = "INSERT INTO reader (uid, read_ms) VALUES (?1, ?2)
     ON CONFLICT (uid) DO UPDATE SET read_ms = excluded.read_ms
     WHERE reader.read_ms IS NULL OR excluded.read_ms > reader.read_ms";
/// Of two that are asleep by one version the earlier place stays.
const PUT_PHASE: &str = "INSERT INTO reader (uid, ver, phase, seq) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (uid) DO UPDATE SET ver = excluded.ver, phase = excluded.phase, seq = excluded.seq
     WHERE excluded.ver > reader.ver
     OR excluded.ver = reader.ver AND excluded.phase = 1 AND reader.phase = 1 AND excluded.seq < reader.seq";

/// Asleep comes before every place.
const PUT_SLEEP: &str = "INSERT INTO sleep (followee, follower, ver, seq) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (followee, follower) DO UPDATE SET ver = excluded.ver, seq = excluded.seq
     WHERE (excluded.ver, coalesce(excluded.seq, -1)) > (sleep.ver, coalesce(sleep.seq, -1))";

const STAGES: [Stage; 4] = [Stage::Pushed, Stage::Preparing, Stage::Pulled, Stage::PushedAgain];

fn stage_number(stage: Stage) -> i64 {
    match stage {
        Stage::Pushed => 0,
        Stage::Preparing => 1,
        Stage::Pulled => 2,
        Stage::PushedAgain => 3,
    }
}

/// From the columns ver, stage.
fn audience(row: &Row<'_>) -> Result<Audience> {
    let number: i64 = row.get(1)?;
    let stage = STAGES.into_iter().find(|stage| stage_number(*stage) == number);
    Ok(Audience { version: version(row, 0)?, stage: stage.ok_or_else(|| corrupt("not a stage"))? })
}

/// From a row of [`READER`].
fn last_read(row: &Row<'_>) -> Result<LastRead> {
    let phase = match row.get(1)? {
        0 => Phase::Awake,
        1 => Phase::Asleep { since: position(row, 2)? },
        2 => Phase::Returning { since: position(row, 2)? },
        _ => return Err(corrupt("not a phase")),
    };
    Ok(LastRead { at: optional_millis(row, 3)?, version: version(row, 0)?, phase })
}

/// From a row of [`PULLED`] or [`PUSHED`].
fn uid_and_since(row: &Row<'_>) -> Result<(Uid, Position)> {
    Ok((Uid(row.get(0)?), position(row, 1)?))
}

fn last_read_of(connection: &Connection, uid: Uid) -> Result<LastRead> {
    let found = connection.prepare_cached(READER)?.query([uid.0])?.next()?.map(last_read).transpose()?;
    Ok(found.unwrap_or_default())
}

/// `false`: the stored phase is as late or later.
fn put_phase(connection: &Connection, uid: Uid, version: Version, phase: Phase) -> Result<bool> {
    let (number, since) = match phase {
        Phase::Awake => (0, None),
        Phase::Asleep { since } => (1, Some(seq(since))),
        Phase::Returning { since } => (2, Some(seq(since))),
    };
    let mut put = connection.prepare_cached(PUT_PHASE)?;
    Ok(put.execute(params![uid.0, version.0, number, since])? > 0)
}

fn decide(connection: &Connection, follower: Uid, followee: Uid, most: usize) -> Result<bool> {
    let decided = connection
        .prepare_cached(DECIDED)?
        .query_row([follower.0, followee.0], |row| row.get(0))
        .optional()?;
    if let Some(pulled) = decided {
        return Ok(pulled);
    }
    let others: i64 = connection.prepare_cached(PULLS_FROM)?.query_row([follower.0], |row| row.get(0))?;
    Ok(others < count(most))
}

#[async_trait]
impl Ways for SqliteStore {
    async fn audiences(&self, uids: &[Uid]) -> Result<Vec<Audience>> {
        self.read_together(|connection| {
            let mut statement = connection.prepare_cached(AUDIENCE)?;
            let mut one = |uid: &Uid| {
                let found = statement.query([uid.0])?.next()?.map(audience).transpose()?;
                Ok(found.unwrap_or_default())
            };
            uids.iter().map(&mut one).collect()
        })
        .await
    }

    async fn put_audience(&self, uid: Uid, audience: &Audience) -> Result<()> {
        let row = [uid.0, audience.version.0, stage_number(audience.stage)];
        self.writer
            .write_one(move |connection| {
                Ok(connection.prepare_cached(PUT_AUDIENCE)?.execute(row).map(drop)?)
            })
            .await
    }

    async fn choose(
        &self,
        follower: Uid,
        followee: Uid,
        since: Position,
        version: Version,
        most: usize,
    ) -> Result<Way> {
        self.write(move |connection| {
            let pulled = decide(connection, follower, followee, most)?;
            let edge = params![follower.0, followee.0, pulled, version.0, seq(since)];
            connection.prepare_cached(NOTE_EDGE)?.execute(edge)?;
            Ok(if pulled { Way::Pulled } else { Way::Pushed })
        })
        .await
    }

    async fn unchoose(&self, follower: Uid, followee: Uid, version: Version) -> Result<()> {
        let edge = [follower.0, followee.0, version.0];
        self.writer
            .write_one(move |connection| Ok(connection.prepare_cached(END_EDGE)?.execute(edge).map(drop)?))
            .await
    }

    async fn pushed_followers(
        &self,
        followee: Uid,
        after: Option<Uid>,
        limit: usize,
    ) -> Result<Vec<(Uid, Position)>> {
        let from = [followee.0, after.map_or(i64::MIN, |uid| uid.0), count(limit)];
        self.read_long(move |connection| all(connection, PUSHED, from, uid_and_since)).await
    }

    async fn reading(&self, uid: Uid) -> Result<Reading> {
        self.read_together(|connection| {
            let LastRead { version, phase, .. } = last_read_of(connection, uid)?;
            Ok(Reading { version, phase, pulled: all(connection, PULLED, [uid.0], uid_and_since)? })
        })
        .await
    }

    async fn note_read(&self, uid: Uid, at: Millis) -> Result<()> {
        self.writer
            .write_one(move |connection| {
                Ok(connection.prepare_cached(NOTE_READ)?.execute([uid.0, at.0]).map(drop)?)
            })
            .await
    }

    async fn last_reads(&self, uids: &[Uid]) -> Result<Vec<LastRead>> {
        self.read_together(|connection| uids.iter().map(|uid| last_read_of(connection, *uid)).collect()).await
    }

    async fn put_phase(&self, uid: Uid, version: Version, phase: Phase) -> Result<()> {
        self.writer.write_one(move |connection| put_phase(connection, uid, version, phase).map(drop)).await
    }

    async fn wake(
        &self,
        uid: Uid,
        version: Version,
        since: Position,
        _now: Millis,
    ) -> Result<Option<Position>> {
        self.write(move |connection| {
            let version = version.following();
            if !put_phase(connection, uid, version, Phase::Returning { since })? {
                return Ok(None);
            }
            let work = Work::Return { uid, version, since, after: None, within: None };
            log::append(connection, &work).map(Some)
        })
        .await
    }

    async fn put_sleep(
        &self,
        follower: Uid,
        followees: &[Uid],
        version: Version,
        sleep: Sleep,
    ) -> Result<()> {
        let followees = followees.to_vec();
        let awake = match sleep {
            Sleep::Asleep => None,
            Sleep::Awake(since) => Some(seq(since)),
        };
        self.write(move |connection| {
            let mut put = connection.prepare_cached(PUT_SLEEP)?;
            let mut note = |followee: &Uid| {
                Ok(put.execute(params![followee.0, follower.0, version.0, awake]).map(drop)?)
            };
            followees.iter().try_for_each(&mut note)
        })
        .await
    }

    async fn followed_entries(&self, owner: Uid, own: &[Entry]) -> Result<Vec<Option<Entry>>> {
        self.read_together(|connection| feed::followed::entries(connection, &self.facets, owner, own)).await
    }
}

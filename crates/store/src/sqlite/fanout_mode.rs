//! By which way what is followed comes into collections: decisions and registers, a row each. There is one writer, so
//! whoever decides is alone.

use super::credentials::all;
use super::values::{corrupt, count, optional_millis, position, seq, version};
use super::{SqliteStore, feed, log};
use crate::{FanoutModes, LastRead, Result, Work};
use async_trait::async_trait;
use model::{
    DeliveryState, Dormancy, EdgeDormancy, Entry, FanoutMode, FanoutStage, FanoutState, Millis, Position,
    Uid, Version,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

const FANOUT_STATE: &str = "SELECT ver, stage FROM fanout_state WHERE uid = ?1";
const PUT_FANOUT_STATE: &str = "INSERT INTO fanout_state (uid, ver, stage) VALUES (?1, ?2, ?3)
     ON CONFLICT (uid) DO UPDATE SET ver = excluded.ver, stage = excluded.stage
     WHERE excluded.ver > fanout_state.ver";

const DECIDED: &str = "SELECT pulled FROM fanout_mode WHERE follower = ?1 AND followee = ?2";
/// What was decided stays; an edge that ended by its version does not begin by it.
const NOTE_EDGE: &str = "INSERT INTO fanout_mode (follower, followee, pulled, ver, follows, seq)
     VALUES (?1, ?2, ?3, ?4, TRUE, ?5)
     ON CONFLICT (follower, followee) DO UPDATE SET ver = excluded.ver, follows = TRUE, seq = excluded.seq
     WHERE excluded.ver > fanout_mode.ver OR excluded.ver = fanout_mode.ver AND fanout_mode.follows AND excluded.seq > fanout_mode.seq";
const END_EDGE: &str = "UPDATE fanout_mode SET ver = ?3, follows = FALSE
     WHERE follower = ?1 AND followee = ?2 AND ver <= ?3";
pub(super) const PULLS_FROM: &str = "SELECT count(*) FROM fanout_mode INDEXED BY fanout_mode_pulled
     WHERE follower = ?1 AND pulled AND follows";
pub(super) const PULLED: &str = "SELECT followee, seq FROM fanout_mode INDEXED BY fanout_mode_pulled
     WHERE follower = ?1 AND pulled AND follows ORDER BY followee";
pub(super) const PUSHED: &str = "SELECT follower, seq FROM fanout_mode INDEXED BY fanout_mode_pushed
     WHERE followee = ?1 AND follower > ?2 AND NOT pulled AND follows ORDER BY follower LIMIT ?3";

pub(super) const DELIVERY_STATE: &str =
    "SELECT ver, dormancy, seq, read_ms FROM delivery_state WHERE uid = ?1";
const NOTE_READ: &str = "INSERT INTO delivery_state (uid, read_ms) VALUES (?1, ?2)
     ON CONFLICT (uid) DO UPDATE SET read_ms = excluded.read_ms
     WHERE delivery_state.read_ms IS NULL OR excluded.read_ms > delivery_state.read_ms";
/// Of two that are dormant by one version the earlier position stays.
const PUT_DORMANCY: &str = "INSERT INTO delivery_state (uid, ver, dormancy, seq) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (uid) DO UPDATE SET ver = excluded.ver, dormancy = excluded.dormancy, seq = excluded.seq
     WHERE excluded.ver > delivery_state.ver
     OR excluded.ver = delivery_state.ver AND excluded.dormancy = 1 AND delivery_state.dormancy = 1 AND excluded.seq < delivery_state.seq";

/// Asleep comes before every position.
const PUT_EDGE_DORMANCY: &str =
    "INSERT INTO edge_dormancy (followee, follower, ver, seq) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (followee, follower) DO UPDATE SET ver = excluded.ver, seq = excluded.seq
     WHERE (excluded.ver, coalesce(excluded.seq, -1)) > (edge_dormancy.ver, coalesce(edge_dormancy.seq, -1))";

const STAGES: [FanoutStage; 4] =
    [FanoutStage::Push, FanoutStage::Preparing, FanoutStage::Pull, FanoutStage::Reverted];

fn stage_number(stage: FanoutStage) -> i64 {
    match stage {
        FanoutStage::Push => 0,
        FanoutStage::Preparing => 1,
        FanoutStage::Pull => 2,
        FanoutStage::Reverted => 3,
    }
}

/// From the columns ver, stage.
fn fanout_state(row: &Row<'_>) -> Result<FanoutState> {
    let number: i64 = row.get(1)?;
    let stage = STAGES.into_iter().find(|stage| stage_number(*stage) == number);
    Ok(FanoutState { version: version(row, 0)?, stage: stage.ok_or_else(|| corrupt("not a stage"))? })
}

/// From a row of [`DELIVERY_STATE`].
fn last_read(row: &Row<'_>) -> Result<LastRead> {
    let dormancy = match row.get(1)? {
        0 => Dormancy::Active,
        1 => Dormancy::Dormant { since: position(row, 2)? },
        2 => Dormancy::CatchingUp { since: position(row, 2)? },
        _ => return Err(corrupt("not a dormancy")),
    };
    Ok(LastRead { at: optional_millis(row, 3)?, version: version(row, 0)?, dormancy })
}

/// From a row of [`PULLED`] or [`PUSHED`].
fn uid_and_since(row: &Row<'_>) -> Result<(Uid, Position)> {
    Ok((Uid(row.get(0)?), position(row, 1)?))
}

fn last_read_of(connection: &Connection, uid: Uid) -> Result<LastRead> {
    let found =
        connection.prepare_cached(DELIVERY_STATE)?.query([uid.0])?.next()?.map(last_read).transpose()?;
    Ok(found.unwrap_or_default())
}

/// `false`: the stored dormancy is as late or later.
fn put_dormancy(connection: &Connection, uid: Uid, version: Version, dormancy: Dormancy) -> Result<bool> {
    let (number, since) = match dormancy {
        Dormancy::Active => (0, None),
        Dormancy::Dormant { since } => (1, Some(seq(since))),
        Dormancy::CatchingUp { since } => (2, Some(seq(since))),
    };
    let mut put = connection.prepare_cached(PUT_DORMANCY)?;
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
impl FanoutModes for SqliteStore {
    async fn fanout_states(&self, uids: &[Uid]) -> Result<Vec<FanoutState>> {
        self.read_together(|connection| {
            let mut statement = connection.prepare_cached(FANOUT_STATE)?;
            let mut one = |uid: &Uid| {
                let found = statement.query([uid.0])?.next()?.map(fanout_state).transpose()?;
                Ok(found.unwrap_or_default())
            };
            uids.iter().map(&mut one).collect()
        })
        .await
    }

    async fn put_fanout_state(&self, uid: Uid, fanout_state: &FanoutState) -> Result<()> {
        let row = [uid.0, fanout_state.version.0, stage_number(fanout_state.stage)];
        self.writer
            .write_one(move |connection| {
                Ok(connection.prepare_cached(PUT_FANOUT_STATE)?.execute(row).map(drop)?)
            })
            .await
    }

    async fn assign_mode(
        &self,
        follower: Uid,
        followee: Uid,
        since: Position,
        version: Version,
        most: usize,
    ) -> Result<FanoutMode> {
        self.write(move |connection| {
            let pulled = decide(connection, follower, followee, most)?;
            let edge = params![follower.0, followee.0, pulled, version.0, seq(since)];
            connection.prepare_cached(NOTE_EDGE)?.execute(edge)?;
            Ok(if pulled { FanoutMode::Pull } else { FanoutMode::Push })
        })
        .await
    }

    async fn release_mode(&self, follower: Uid, followee: Uid, version: Version) -> Result<()> {
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

    async fn delivery_state(&self, uid: Uid) -> Result<DeliveryState> {
        self.read_together(|connection| {
            let LastRead { version, dormancy, .. } = last_read_of(connection, uid)?;
            Ok(DeliveryState { version, dormancy, pulled: all(connection, PULLED, [uid.0], uid_and_since)? })
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

    async fn put_dormancy(&self, uid: Uid, version: Version, dormancy: Dormancy) -> Result<()> {
        self.writer
            .write_one(move |connection| put_dormancy(connection, uid, version, dormancy).map(drop))
            .await
    }

    async fn reactivate(
        &self,
        uid: Uid,
        version: Version,
        since: Position,
        _now: Millis,
    ) -> Result<Option<Position>> {
        self.write(move |connection| {
            let version = version.following();
            if !put_dormancy(connection, uid, version, Dormancy::CatchingUp { since })? {
                return Ok(None);
            }
            let work = Work::CatchUp { uid, version, since, after: None, within: None };
            log::append(connection, &work).map(Some)
        })
        .await
    }

    async fn put_edge_dormancy(
        &self,
        follower: Uid,
        followees: &[Uid],
        version: Version,
        dormancy: EdgeDormancy,
    ) -> Result<()> {
        let followees = followees.to_vec();
        let active = match dormancy {
            EdgeDormancy::Dormant => None,
            EdgeDormancy::ActiveAfter(since) => Some(seq(since)),
        };
        self.write(move |connection| {
            let mut put = connection.prepare_cached(PUT_EDGE_DORMANCY)?;
            let mut note = |followee: &Uid| {
                Ok(put.execute(params![followee.0, follower.0, version.0, active]).map(drop)?)
            };
            followees.iter().try_for_each(&mut note)
        })
        .await
    }

    async fn followed_entries(&self, owner: Uid, own: &[Entry]) -> Result<Vec<Option<Entry>>> {
        self.read_together(|connection| feed::followed::entries(connection, &self.facets, owner, own)).await
    }
}

//! Fan-out modes, fan-out states and dormancy, one row each. There is a single writer, so an assignment has no race.

use super::changes::note_of;
use super::credentials::all;
use super::pool::snapshot;
use super::values::{corrupt, count, optional_millis, position, seq, version};
use super::{SqliteStore, feed, log};
use crate::dependencies::{Part, Subject, depends_on};
use crate::{FanoutModes, LastRead, Result, Work, trace};
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

const ASSIGNED: &str = "SELECT pulled FROM fanout_mode WHERE follower = ?1 AND followee = ?2";
/// The assigned mode stays. An edge that ended with a version does not begin with the same version.
const PUT_EDGE: &str = "INSERT INTO fanout_mode (follower, followee, pulled, ver, follows, seq)
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
const PUT_READ: &str = "INSERT INTO delivery_state (uid, read_ms) VALUES (?1, ?2)
     ON CONFLICT (uid) DO UPDATE SET read_ms = excluded.read_ms
     WHERE delivery_state.read_ms IS NULL OR excluded.read_ms > delivery_state.read_ms";
/// Of two `Dormant` states with the same version the earlier position wins.
const PUT_DORMANCY: &str = "INSERT INTO delivery_state (uid, ver, dormancy, seq) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (uid) DO UPDATE SET ver = excluded.ver, dormancy = excluded.dormancy, seq = excluded.seq
     WHERE excluded.ver > delivery_state.ver
     OR excluded.ver = delivery_state.ver AND excluded.dormancy = 1 AND delivery_state.dormancy = 1 AND excluded.seq < delivery_state.seq";

/// Dormant (NULL) is before every position.
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
    Ok(FanoutState {
        version: version(row, 0)?,
        stage: stage.ok_or_else(|| corrupt("invalid fan-out stage"))?,
    })
}

/// From a row of [`DELIVERY_STATE`].
fn last_read(row: &Row<'_>) -> Result<LastRead> {
    let dormancy = match row.get(1)? {
        0 => Dormancy::Active,
        1 => Dormancy::Dormant { since: position(row, 2)? },
        2 => Dormancy::CatchingUp { since: position(row, 2)? },
        _ => return Err(corrupt("invalid dormancy")),
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

/// `false`: the stored version is equal or later.
fn put_dormancy(connection: &Connection, uid: Uid, version: Version, dormancy: Dormancy) -> Result<bool> {
    let (number, since) = match dormancy {
        Dormancy::Active => (0, None),
        Dormancy::Dormant { since } => (1, Some(seq(since))),
        Dormancy::CatchingUp { since } => (2, Some(seq(since))),
    };
    note_of(Part::DeliveryState, uid);
    let mut put = connection.prepare_cached(PUT_DORMANCY)?;
    Ok(put.execute(params![uid.0, version.0, number, since])? > 0)
}

fn is_pulled(connection: &Connection, follower: Uid, followee: Uid, max_pulled: usize) -> Result<bool> {
    let assigned = connection
        .prepare_cached(ASSIGNED)?
        .query_row([follower.0, followee.0], |row| row.get(0))
        .optional()?;
    if let Some(pulled) = assigned {
        return Ok(pulled);
    }
    let pulled: i64 = connection.prepare_cached(PULLS_FROM)?.query_row([follower.0], |row| row.get(0))?;
    Ok(pulled < count(max_pulled))
}

#[async_trait]
impl FanoutModes for SqliteStore {
    async fn fanout_states(&self, uids: &[Uid]) -> Result<Vec<FanoutState>> {
        self.read_snapshot(|connection| {
            let mut statement = connection.prepare_cached(FANOUT_STATE)?;
            let mut find = |uid: &Uid| {
                let found = statement.query([uid.0])?.next()?.map(fanout_state).transpose()?;
                Ok(found.unwrap_or_default())
            };
            uids.iter().map(&mut find).collect()
        })
        .await
    }

    async fn put_fanout_state(&self, uid: Uid, fanout_state: &FanoutState) -> Result<()> {
        let row = [uid.0, fanout_state.version.0, stage_number(fanout_state.stage)];
        self.writer
            .write_without_savepoint(move |connection| {
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
        max_pulled: usize,
    ) -> Result<FanoutMode> {
        self.write(move |connection| {
            let pulled = is_pulled(connection, follower, followee, max_pulled)?;
            note_of(Part::DeliveryState, follower);
            let edge = params![follower.0, followee.0, pulled, version.0, seq(since)];
            connection.prepare_cached(PUT_EDGE)?.execute(edge)?;
            Ok(if pulled { FanoutMode::Pull } else { FanoutMode::Push })
        })
        .await
    }

    async fn release_mode(&self, follower: Uid, followee: Uid, version: Version) -> Result<()> {
        let edge = [follower.0, followee.0, version.0];
        self.writer
            .write_without_savepoint(move |connection| {
                note_of(Part::DeliveryState, follower);
                Ok(connection.prepare_cached(END_EDGE)?.execute(edge).map(drop)?)
            })
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
        let subject = Subject::of(Part::DeliveryState, uid);
        depends_on([subject]);
        let read = |connection: &Connection| {
            snapshot(connection, || {
                let LastRead { version, dormancy, .. } = last_read_of(connection, uid)?;
                let pulled = all(connection, PULLED, [uid.0], uid_and_since)?;
                Ok(DeliveryState { version, dormancy, pulled })
            })
        };
        self.read_one_cached(&self.value_caches.delivery_states, &uid, subject, read).await
    }

    async fn note_read(&self, uid: Uid, at: Millis) -> Result<()> {
        self.writer
            .write_without_savepoint(move |connection| {
                note_of(Part::DeliveryState, uid);
                Ok(connection.prepare_cached(PUT_READ)?.execute([uid.0, at.0]).map(drop)?)
            })
            .await
    }

    async fn last_reads(&self, uids: &[Uid]) -> Result<Vec<LastRead>> {
        self.read_snapshot(|connection| uids.iter().map(|uid| last_read_of(connection, *uid)).collect()).await
    }

    async fn put_dormancy(&self, uid: Uid, version: Version, dormancy: Dormancy) -> Result<()> {
        self.writer
            .write_without_savepoint(move |connection| {
                put_dormancy(connection, uid, version, dormancy).map(drop)
            })
            .await
    }

    async fn reactivate(
        &self,
        uid: Uid,
        version: Version,
        since: Position,
        _now: Millis,
    ) -> Result<Option<Position>> {
        let trace = trace::current();
        self.write(move |connection| {
            let version = version.following();
            if !put_dormancy(connection, uid, version, Dormancy::CatchingUp { since })? {
                return Ok(None);
            }
            let work = Work::CatchUp { uid, version, since, after: None, within: None };
            log::append(connection, &work.in_trace(trace)).map(Some)
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
            let mut write = |followee: &Uid| {
                Ok(put.execute(params![followee.0, follower.0, version.0, active]).map(drop)?)
            };
            followees.iter().try_for_each(&mut write)
        })
        .await
    }

    async fn followed_entries(&self, owner: Uid, own: &[Entry]) -> Result<Vec<Option<Entry>>> {
        self.read_snapshot(|connection| feed::followed::entries(connection, &self.facets, owner, own)).await
    }
}

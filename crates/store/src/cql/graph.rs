//! Edges. The follower's end has every edge that ever was; the other end has them in shards, of which there are more
//! the more accounts follow, so that no partition grows without end. An edge knows where in the log it was made.

use super::db::offset;
use super::message::{Intent, put_edge, take_edge};
use super::{CqlStore, Query, together};
use crate::bytes::{WireReader, WireWriter};
use crate::{Follower, Graph, Result};
use async_trait::async_trait;
use model::{Edge, Position, Uid};
use std::collections::{BTreeMap, HashMap};

/// From so many rows in a shard on there are more shards.
const FULL: i64 = 12_000;
/// One write in so many counts.
const COUNTED: u64 = 512;
/// Each level has 16 times as many shards as the one before.
const MAX_LEVELS: i8 = 3;

const EDGES: Query = Query::read("SELECT followee, edge FROM feed.following WHERE uid = ? AND followee IN ?");
const FOLLOWING: Query =
    Query::read("SELECT followee, edge FROM feed.following WHERE uid = ? AND followee > ? LIMIT ?");
const PUT_FOLLOWING: Query =
    Query::write("INSERT INTO feed.following (uid, followee, edge) VALUES (?, ?, ?) USING TIMESTAMP ?");
const PUT_FOLLOWER: Query = Query::write(
    "INSERT INTO feed.follower (uid, shard, follower, edge) VALUES (?, ?, ?, ?) USING TIMESTAMP ?",
);
const FOLLOWERS: Query = Query::read(
    "SELECT follower, edge FROM feed.follower WHERE uid = ? AND shard = ? AND follower > ? LIMIT ?",
);
const COUNT: Query = Query::read("SELECT COUNT(*) FROM feed.follower WHERE uid = ? AND shard = ?");
const LEVEL: Query = Query::read("SELECT level FROM feed.followers WHERE uid = ?");
const PUT_LEVEL: Query =
    Query::write("INSERT INTO feed.followers (uid, level) VALUES (?, ?) USING TIMESTAMP ?");

/// The cell of an edge: where it was made, and what it is.
fn cell(edge: &Edge, at: Position) -> Vec<u8> {
    put_edge(WireWriter::new().ordered(at.0), edge).finish()
}

fn read(cell: &[u8]) -> Result<(Position, Edge)> {
    let mut take = WireReader::new(cell);
    Ok((Position(take.ordered()?), take_edge(&mut take)?))
}

/// The shards of a level.
fn shards(level: i8) -> u64 {
    16_u64.pow(level.unsigned_abs().into())
}

fn shard(level: i8, number: u64) -> i32 {
    i32::from(level) << 16 | i32::try_from(number).unwrap_or(0)
}

/// A number of that edge, of so many.
fn mixed(follower: Uid, followee: Uid, many: u64) -> u64 {
    offset(&[follower.0.to_be_bytes(), followee.0.to_be_bytes()].concat(), many)
}

/// How many are asked of each of so many shards where so many are wanted.
pub(super) fn portion(wanted: usize, shards: usize) -> usize {
    (wanted / shards * 5 / 4).clamp(50, 2_500)
}

/// Of what shards gave, each in order and so many at most, that below which nothing is missing; and how far that goes, if
/// there may be more.
pub(super) fn known_of<T>(parts: Vec<Vec<(Uid, T)>>, asked: usize) -> (Vec<(Uid, T)>, Option<Uid>) {
    // Below the smallest last one of those that go on, everything is there.
    let full = parts.iter().filter(|part| part.len() == asked);
    let known_to = full.filter_map(|part| part.last()).map(|(uid, _)| *uid).min();
    let known = parts.into_iter().flatten().filter(|(uid, _)| known_to.is_none_or(|last| *uid <= last));
    (known.collect(), known_to)
}

impl CqlStore {
    /// Both ends of an edge that was made at that position; the follower's end last, because by it the edge is known.
    pub(super) async fn write_edge(
        &self,
        follower: Uid,
        followee: Uid,
        edge: &Edge,
        at: Position,
    ) -> Result<()> {
        let (cell, version) = (cell(edge, at), edge.version.0);
        let (level, shard) = self.shard_for(follower, followee).await?;
        self.db.write(&PUT_FOLLOWER, (followee.0, shard, follower.0, &cell, version)).await?;
        self.db.write(&PUT_FOLLOWING, (follower.0, followee.0, &cell, version)).await?;
        if mixed(follower, followee, COUNTED) == 0 && level < MAX_LEVELS {
            let count = self.db.row::<(i64,)>(&COUNT, (followee.0, shard)).await?;
            if count.is_some_and(|(rows,)| rows >= FULL) {
                let level = level + 1;
                self.db.write(&PUT_LEVEL, (followee.0, level, i64::from(level))).await?;
            }
        }
        Ok(())
    }

    /// The edges of a follower after `after`, those that ended too.
    pub(super) async fn edges_after(
        &self,
        follower: Uid,
        after: i64,
        limit: i32,
    ) -> Result<Vec<(Uid, Edge)>> {
        let rows = self.db.rows::<(i64, Vec<u8>)>(&FOLLOWING, (follower.0, after, limit)).await?;
        rows.into_iter().map(|(followee, cell)| Ok((Uid(followee), read(&cell)?.1))).collect()
    }

    async fn level(&self, followee: Uid) -> Result<i8> {
        Ok(self.db.row::<(i8,)>(&LEVEL, (followee.0,)).await?.map_or(0, |(level,)| level))
    }

    /// The level of an account, and the shard in which what is written of a follower goes.
    pub(super) async fn shard_for(&self, follower: Uid, followee: Uid) -> Result<(i8, i32)> {
        let level = self.level(followee).await?;
        Ok((level, shard(level, mixed(follower, followee, shards(level)))))
    }

    /// The followers of a shard after `after`, edges that ended too.
    async fn shard_of(
        &self,
        followee: Uid,
        shard: i32,
        after: i64,
        limit: usize,
    ) -> Result<Vec<(Uid, (Position, Edge))>> {
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let rows = self.db.rows::<(i64, Vec<u8>)>(&FOLLOWERS, (followee.0, shard, after, limit)).await?;
        rows.into_iter().map(|(uid, cell)| Ok((Uid(uid), read(&cell)?))).collect()
    }
}

#[async_trait]
impl Graph for CqlStore {
    async fn put_edge(&self, follower: Uid, followee: Uid, edge: &Edge) -> Result<Option<Position>> {
        let present = self.edges(follower, &[followee]).await?.into_iter().flatten().next();
        if present.is_some_and(|present| present.version >= edge.version) {
            return Ok(None);
        }
        self.follow_up(Intent::Edge { follower, followee, edge: *edge }).await.map(Some)
    }

    async fn edges(&self, follower: Uid, followees: &[Uid]) -> Result<Vec<Option<Edge>>> {
        let mut wanted: Vec<i64> = followees.iter().map(|uid| uid.0).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut found: HashMap<i64, Edge> = HashMap::new();
        for some in wanted.chunks(100) {
            for (followee, cell) in self.db.rows::<(i64, Vec<u8>)>(&EDGES, (follower.0, some)).await? {
                found.insert(followee, read(&cell)?.1);
            }
        }
        Ok(followees.iter().map(|uid| found.get(&uid.0).copied()).collect())
    }

    async fn following(&self, follower: Uid, after: Option<Uid>, limit: usize) -> Result<Vec<(Uid, Edge)>> {
        let mut after = after.map_or(i64::MIN, |uid| uid.0);
        let mut found = Vec::new();
        while found.len() < limit {
            // Edges that ended are passed over.
            let asked = i32::try_from(limit - found.len()).unwrap_or(i32::MAX).clamp(100, 5_000);
            let edges = self.edges_after(follower, after, asked).await?;
            let ended = edges.len() < asked.unsigned_abs() as usize;
            after = edges.last().map_or(after, |(followee, _)| followee.0);
            found.extend(edges.into_iter().filter(|(_, edge)| edge.following));
            if ended {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    async fn followers(&self, followee: Uid, after: Option<Uid>, limit: usize) -> Result<Vec<Follower>> {
        let all: Vec<i32> = (0..=self.level(followee).await?)
            .flat_map(|level| (0..shards(level)).map(move |number| shard(level, number)))
            .collect();
        let mut after = after.map_or(i64::MIN, |uid| uid.0);
        let mut found = Vec::new();
        while found.len() < limit {
            let asked = portion(limit - found.len(), all.len());
            let parts =
                together(all.iter().map(|shard| self.shard_of(followee, *shard, after, asked))).await?;
            let (known, known_to) = known_of(parts, asked);
            let mut latest: BTreeMap<Uid, (Edge, Position)> = BTreeMap::new();
            for (uid, (at, edge)) in known {
                // Whoever followed before there were more shards may stand in two.
                let one = latest.entry(uid).or_insert((edge, at));
                if (edge.version, at) > (one.0.version, one.1) {
                    *one = (edge, at);
                }
            }
            let following = latest.into_iter().filter(|(_, (edge, _))| edge.following);
            let follower = |(uid, (edge, since)): (Uid, (Edge, Position))| Follower {
                uid,
                version: edge.version,
                since,
                dormancy: None,
            };
            let mut followers: Vec<Follower> = following.take(limit - found.len()).map(follower).collect();
            self.add_edge_dormancy(followee, &all, &mut followers).await?;
            found.extend(followers);
            match known_to {
                Some(last) => after = last.0,
                None => break,
            }
        }
        Ok(found)
    }
}

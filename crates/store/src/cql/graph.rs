//! Edges. The follower's end has every edge, including ended ones. The followee's end has them in shards, whose
//! number grows with the followers, so that partitions stay bounded. An edge has the position at which it was
//! created.

use super::db::hash_slot;
use super::{CqlStore, Query, concurrently};
use crate::codec::{self, Encoded};
use crate::message::Intent;
use crate::{Follower, Graph, Result};
use async_trait::async_trait;
use model::{Edge, EdgeFilter, Position, Uid, Version};
use std::collections::{BTreeMap, HashMap};

/// The number of rows of a shard from which there are more shards.
const FULL: i64 = 12_000;
/// One write in this many counts the rows.
const COUNT_INTERVAL: u64 = 512;
/// Each level has 16 times as many shards as the one before.
const MAX_LEVELS: i8 = 3;

const EDGES: Query =
    Query::read("SELECT followee, edge, filter FROM feed.following WHERE uid = ? AND followee IN ?");
const FOLLOWING: Query =
    Query::read("SELECT followee, edge, filter FROM feed.following WHERE uid = ? AND followee > ? LIMIT ?");
const PUT_FOLLOWING: Query =
    Query::write("INSERT INTO feed.following (uid, followee, edge) VALUES (?, ?, ?) USING TIMESTAMP ?");
const PUT_FILTER: Query =
    Query::write("UPDATE feed.following USING TIMESTAMP ? SET filter = ? WHERE uid = ? AND followee = ?");
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

/// The cell of an edge: the position at which it was created, and its state.
fn cell(edge: &Edge, at: Position) -> Vec<u8> {
    [at.0.to_be_bytes().as_slice(), &edge.encoded()].concat()
}

/// The cell of a filter: its version, and the filter.
fn filter_cell(version: Version, filter: &EdgeFilter) -> Vec<u8> {
    [version.0.to_be_bytes().as_slice(), &filter.encoded()].concat()
}

fn read_filter(mut cell: &[u8]) -> Result<(EdgeFilter, Version)> {
    let version = codec::take(&mut cell).map(i64::from_be_bytes)?;
    Ok((EdgeFilter::decoded(cell)?, Version(version)))
}

/// The columns followee, edge and filter.
type FollowingRow = (i64, Vec<u8>, Option<Vec<u8>>);

fn read(mut cell: &[u8], filter: Option<&[u8]>) -> Result<(Position, Edge)> {
    let at = codec::take(&mut cell).map(u64::from_be_bytes)?;
    let filter = filter.map(read_filter).transpose()?.unwrap_or_default();
    Ok((Position(at), Edge::decoded_beside(cell, filter)?))
}

/// The edge of a row of the follower's end.
fn read_following((followee, edge, filter): FollowingRow) -> Result<(Uid, Edge)> {
    Ok((Uid(followee), read(&edge, filter.as_deref())?.1))
}

/// The number of shards of a level.
fn shards(level: i8) -> u64 {
    16_u64.pow(level.unsigned_abs().into())
}

fn shard(level: i8, number: u64) -> i32 {
    i32::from(level) << 16 | i32::try_from(number).unwrap_or(0)
}

/// The hash of an edge, modulo `slots`.
fn edge_slot(follower: Uid, followee: Uid, slots: u64) -> u64 {
    hash_slot(&[follower.0.to_be_bytes(), followee.0.to_be_bytes()].concat(), slots)
}

/// The number of rows to read from each shard.
pub(super) fn portion(limit: usize, shards: usize) -> usize {
    (limit / shards * 5 / 4).clamp(50, 2_500)
}

/// Merges the rows of shards, each in order and at most `limit` long. Returns the rows up to which nothing is
/// missing, and the last of them if there may be more.
pub(super) fn merge_shards<T>(parts: Vec<Vec<(Uid, T)>>, limit: usize) -> (Vec<(Uid, T)>, Option<Uid>) {
    // Everything up to the smallest last row of the incomplete shards is known.
    let full = parts.iter().filter(|part| part.len() == limit);
    let known_to = full.filter_map(|part| part.last()).map(|(uid, _)| *uid).min();
    let known = parts.into_iter().flatten().filter(|(uid, _)| known_to.is_none_or(|last| *uid <= last));
    (known.collect(), known_to)
}

impl CqlStore {
    /// Writes both ends of an edge created at this position. The follower's end comes last, because the edge is found
    /// by it.
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
        let filter = filter_cell(edge.filter_version, &edge.filter);
        let row = (follower.0, followee.0, &cell, version);
        let filter = (edge.filter_version.0, filter, follower.0, followee.0);
        self.db.write_both(&PUT_FOLLOWING, &PUT_FILTER, (row, filter)).await?;
        if edge_slot(follower, followee, COUNT_INTERVAL) == 0 && level < MAX_LEVELS {
            let count = self.db.row::<(i64,)>(&COUNT, (followee.0, shard)).await?;
            if count.is_some_and(|(rows,)| rows >= FULL) {
                let level = level + 1;
                self.db.write(&PUT_LEVEL, (followee.0, level, i64::from(level))).await?;
            }
        }
        Ok(())
    }

    /// Writes the filter of an edge. The latest version wins.
    pub(super) async fn write_edge_filter(
        &self,
        follower: Uid,
        followee: Uid,
        version: Version,
        filter: &EdgeFilter,
    ) -> Result<()> {
        let values = (version.0, filter_cell(version, filter), follower.0, followee.0);
        self.db.write(&PUT_FILTER, values).await
    }

    /// The edges of a follower after `after`, including ended ones.
    pub(super) async fn edges_after(
        &self,
        follower: Uid,
        after: i64,
        limit: i32,
    ) -> Result<Vec<(Uid, Edge)>> {
        let rows = self.db.rows::<FollowingRow>(&FOLLOWING, (follower.0, after, limit)).await?;
        rows.into_iter().map(read_following).collect()
    }

    async fn level(&self, followee: Uid) -> Result<i8> {
        Ok(self.db.row::<(i8,)>(&LEVEL, (followee.0,)).await?.map_or(0, |(level,)| level))
    }

    /// The level of an account, and the shard for the rows of a follower.
    pub(super) async fn shard_for(&self, follower: Uid, followee: Uid) -> Result<(i8, i32)> {
        let level = self.level(followee).await?;
        Ok((level, shard(level, edge_slot(follower, followee, shards(level)))))
    }

    /// The followers of a shard after `after`, including ended edges.
    async fn shard_of(
        &self,
        followee: Uid,
        shard: i32,
        after: i64,
        limit: usize,
    ) -> Result<Vec<(Uid, (Position, Edge))>> {
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let rows = self.db.rows::<(i64, Vec<u8>)>(&FOLLOWERS, (followee.0, shard, after, limit)).await?;
        rows.into_iter().map(|(uid, cell)| Ok((Uid(uid), read(&cell, None)?))).collect()
    }
}

#[async_trait]
impl Graph for CqlStore {
    async fn put_edge(&self, follower: Uid, followee: Uid, edge: &Edge) -> Result<Option<Position>> {
        let current = self.edges(follower, &[followee]).await?.into_iter().flatten().next();
        if current.is_some_and(|current| current.version >= edge.version) {
            return Ok(None);
        }
        self.commit_intent(Intent::Edge { follower, followee, edge: edge.clone() }).await.map(Some)
    }

    async fn put_edge_filter(
        &self,
        follower: Uid,
        followee: Uid,
        version: Version,
        filter: &EdgeFilter,
    ) -> Result<Option<Position>> {
        let current = self.edges(follower, &[followee]).await?.into_iter().flatten().next();
        // An edge without a row has no filter.
        if current.is_none_or(|current| current.filter_version >= version) {
            return Ok(None);
        }
        let filter = filter.clone();
        self.commit_intent(Intent::EdgeFilter { follower, followee, version, filter }).await.map(Some)
    }

    async fn edges(&self, follower: Uid, followees: &[Uid]) -> Result<Vec<Option<Edge>>> {
        let mut uids: Vec<i64> = followees.iter().map(|uid| uid.0).collect();
        uids.sort_unstable();
        uids.dedup();
        let mut found: HashMap<i64, Edge> = HashMap::new();
        for part in uids.chunks(100) {
            for row in self.db.rows::<FollowingRow>(&EDGES, (follower.0, part)).await? {
                let (followee, edge) = read_following(row)?;
                found.insert(followee.0, edge);
            }
        }
        Ok(followees.iter().map(|uid| found.get(&uid.0).cloned()).collect())
    }

    async fn following(&self, follower: Uid, after: Option<Uid>, limit: usize) -> Result<Vec<(Uid, Edge)>> {
        let mut after = after.map_or(i64::MIN, |uid| uid.0);
        let mut found = Vec::new();
        while found.len() < limit {
            // Ended edges are skipped.
            let page = i32::try_from(limit - found.len()).unwrap_or(i32::MAX).clamp(100, 5_000);
            let edges = self.edges_after(follower, after, page).await?;
            let ended = edges.len() < page.unsigned_abs() as usize;
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
            let page = portion(limit - found.len(), all.len());
            let parts =
                concurrently(all.iter().map(|shard| self.shard_of(followee, *shard, after, page))).await?;
            let (known, known_to) = merge_shards(parts, page);
            let mut latest: BTreeMap<Uid, (Edge, Position)> = BTreeMap::new();
            for (uid, (at, edge)) in known {
                // A follower from before there were more shards may be in two.
                let is_later = |known: &(Edge, Position)| (edge.version, at) > (known.0.version, known.1);
                if latest.get(&uid).is_none_or(is_later) {
                    latest.insert(uid, (edge, at));
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

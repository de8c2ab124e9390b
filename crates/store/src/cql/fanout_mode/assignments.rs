//! Assignment of fan-out modes. An assignment is a row that is written conditionally, once. The rows that follow from
//! it are the same for every process that finds it.

use super::cells;
use crate::Result;
use crate::cql::db::{corrupt, hash_slot};
use crate::cql::graph::{merge_shards, portion};
use crate::cql::{CqlStore, Lwt, Query, concurrently};
use model::{FanoutMode, Position, Uid, Version};
use uuid::Uuid;

/// The number of shards for followers in push mode. They are few: only those that already pull from the maximum.
const SHARDS: u64 = 16;

const ASSIGNED: Query =
    Query::read("SELECT pulled FROM ident.fanout_mode WHERE follower = ? AND followee = ?");
const ASSIGN: Lwt = Lwt::new(
    "INSERT INTO ident.fanout_mode (follower, followee, pulled, op) VALUES (?, ?, ?, ?) IF NOT EXISTS",
    "SELECT op FROM ident.fanout_mode WHERE follower = ? AND followee = ?",
);
const PUT_PULLED: Query =
    Query::write("INSERT INTO feed.delivery_state (uid, followee, edge) VALUES (?, ?, ?) USING TIMESTAMP ?");
const PUT_PUSHED: Query = Query::write(
    "INSERT INTO feed.pushed_follower (uid, shard, follower, edge) VALUES (?, ?, ?, ?) USING TIMESTAMP ?",
);
const PUSHED: Query = Query::read(
    "SELECT follower, edge FROM feed.pushed_follower WHERE uid = ? AND shard = ? AND follower > ? LIMIT ?",
);

fn shard(follower: Uid) -> i16 {
    i16::try_from(hash_slot(&follower.0.to_be_bytes(), SHARDS)).unwrap_or(0)
}

fn mode(pulled: bool) -> FanoutMode {
    if pulled { FanoutMode::Pull } else { FanoutMode::Push }
}

impl CqlStore {
    /// The assigned mode, if there is one.
    pub(super) async fn assigned_mode(&self, follower: Uid, followee: Uid) -> Result<Option<FanoutMode>> {
        let found: Option<(bool,)> = self.db.row(&ASSIGNED, (follower.0, followee.0)).await?;
        Ok(found.map(|(pulled,)| mode(pulled)))
    }

    /// Assigns the preferred mode, or returns the mode that another process has assigned.
    pub(super) async fn try_assign_mode(
        &self,
        follower: Uid,
        followee: Uid,
        preferred: FanoutMode,
    ) -> Result<FanoutMode> {
        let op = Uuid::new_v4();
        let ours = |found: Option<(Uuid,)>| found.map(|(by,)| by == op);
        let values = (follower.0, followee.0, preferred == FanoutMode::Pull, op);
        if self.db.apply_lwt(&ASSIGN, values, (follower.0, followee.0), ours).await? {
            return Ok(preferred);
        }
        let found = self.assigned_mode(follower, followee).await?;
        found.ok_or_else(|| corrupt("assigned fan-out mode is missing"))
    }

    /// Lists an edge under its mode, or unlists it if `since` is `None`.
    pub(super) async fn write_mode(
        &self,
        (follower, followee): (Uid, Uid),
        mode: FanoutMode,
        since: Option<Position>,
        version: Version,
    ) -> Result<()> {
        let cell = cells::edge(since.unwrap_or_default(), since.is_some());
        match mode {
            FanoutMode::Pull => self.db.write(&PUT_PULLED, (follower.0, followee.0, cell, version.0)).await,
            FanoutMode::Push => {
                let values = (followee.0, shard(follower), follower.0, cell, version.0);
                self.db.write(&PUT_PUSHED, values).await
            }
        }
    }

    /// The followers of a shard after `after`, including ended edges.
    async fn pushed_of(
        &self,
        followee: Uid,
        shard: i16,
        after: i64,
        limit: usize,
    ) -> Result<Vec<(Uid, Option<Position>)>> {
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let rows: Vec<(i64, Vec<u8>)> = self.db.rows(&PUSHED, (followee.0, shard, after, limit)).await?;
        rows.into_iter().map(|(uid, cell)| Ok((Uid(uid), cells::edge_of(&cell)?))).collect()
    }

    /// The followers in push mode, ordered by number, after `after`.
    pub(super) async fn pushed_after(
        &self,
        followee: Uid,
        after: Option<Uid>,
        limit: usize,
    ) -> Result<Vec<(Uid, Position)>> {
        let mut after = after.map_or(i64::MIN, |uid| uid.0);
        let mut found = Vec::new();
        let shards: Vec<i16> = (0..SHARDS).filter_map(|shard| i16::try_from(shard).ok()).collect();
        while found.len() < limit {
            let page = portion(limit - found.len(), shards.len());
            let parts = shards.iter().map(|shard| self.pushed_of(followee, *shard, after, page));
            let parts = concurrently(parts).await?;
            let (known, known_to) = merge_shards(parts, page);
            let following = known.into_iter().filter_map(|(uid, since)| Some((uid, since?)));
            let mut followers: Vec<(Uid, Position)> = following.collect();
            followers.sort_unstable();
            found.extend(followers);
            match known_to {
                Some(last) => after = last.0,
                None => break,
            }
        }
        found.truncate(limit);
        Ok(found)
    }
}

//! Dormancy of edges, in the shards of the followers (see [`super::graph`]). A follower from before there were more
//! shards may be in two; the latest version counts.

use super::fanout_mode::cells;
use super::{CqlStore, Query, concurrently};
use crate::{Follower, Result};
use model::{EdgeDormancy, Uid, Version};
use std::collections::HashMap;

const PUT: Query = Query::write(
    "INSERT INTO feed.edge_dormancy (uid, shard, follower, dormancy) VALUES (?, ?, ?, ?) USING TIMESTAMP ?",
);
const AMONG: Query = Query::read(
    "SELECT follower, dormancy FROM feed.edge_dormancy WHERE uid = ? AND shard = ? AND follower >= ? AND follower <= ?",
);

impl CqlStore {
    /// Records whether fan-out from an account skips a follower.
    pub(super) async fn write_edge_dormancy(
        &self,
        follower: Uid,
        followee: Uid,
        version: Version,
        dormancy: EdgeDormancy,
    ) -> Result<()> {
        let (_, shard) = self.shard_for(follower, followee).await?;
        let values = (followee.0, shard, follower.0, cells::edge_dormancy(version, dormancy), version.0);
        self.db.write(&PUT, values).await
    }

    /// Sets the dormancy of followers, which are ordered by number.
    pub(super) async fn add_edge_dormancy(
        &self,
        followee: Uid,
        shards: &[i32],
        followers: &mut [Follower],
    ) -> Result<()> {
        let (Some(first), Some(last)) = (followers.first(), followers.last()) else { return Ok(()) };
        let range = (first.uid.0, last.uid.0);
        // In all shards: the row of a follower and that of its dormancy may be in different ones.
        let parts = shards.iter().map(|shard| self.db.rows(&AMONG, (followee.0, *shard, range.0, range.1)));
        let parts: Vec<Vec<(i64, Vec<u8>)>> = concurrently(parts).await?;
        let mut latest: HashMap<i64, Vec<u8>> = HashMap::new();
        for (follower, cell) in parts.into_iter().flatten() {
            let newest = latest.entry(follower).or_default();
            // An older version has smaller bytes.
            *newest = std::mem::take(newest).max(cell);
        }
        for follower in followers {
            let cell = latest.get(&follower.uid.0);
            follower.dormancy = cell.map(|cell| cells::edge_dormancy_of(cell)).transpose()?;
        }
        Ok(())
    }
}

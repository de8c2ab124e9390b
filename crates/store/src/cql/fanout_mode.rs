//! Fan-out modes, fan-out states and dormancy. The delivery state of an account is one partition that one statement
//! reads, because every page needs it.

mod assignments;
pub(super) mod cells;

use super::{CqlStore, Query, concurrently};
use crate::message::Intent;
use crate::{FanoutModes, LastRead, Result};
use async_trait::async_trait;
use model::{
    DeliveryState, Dormancy, EdgeDormancy, Entry, FanoutMode, FanoutState, Millis, Position, Uid, Version,
};

const FANOUT_STATE: Query = Query::read("SELECT fanout_state FROM feed.fanout_state WHERE uid = ?");
const PUT_FANOUT_STATE: Query =
    Query::write("INSERT INTO feed.fanout_state (uid, fanout_state) VALUES (?, ?) USING TIMESTAMP ?");
const DELIVERY_STATE: Query =
    Query::read("SELECT followee, edge, dormancy FROM feed.delivery_state WHERE uid = ?");
const LAST_READ: Query =
    Query::read("SELECT read_ms, dormancy FROM feed.delivery_state WHERE uid = ? LIMIT 1");
const PUT_READ: Query =
    Query::write("UPDATE feed.delivery_state USING TIMESTAMP ? SET read_ms = ? WHERE uid = ?");
const PUT_DORMANCY: Query =
    Query::write("UPDATE feed.delivery_state USING TIMESTAMP ? SET dormancy = ? WHERE uid = ?");

/// The columns followee, edge and dormancy. An account that never pulled has one row without the first two.
type DeliveryStateRow = (Option<i64>, Option<Vec<u8>>, Option<Vec<u8>>);

/// A dormancy and its version; the default if there is no cell.
fn dormancy_of(cell: Option<&[u8]>) -> Result<(Version, Dormancy)> {
    cell.map(cells::dormancy_of).transpose().map(Option::unwrap_or_default)
}

impl CqlStore {
    async fn fanout_state(&self, uid: Uid) -> Result<FanoutState> {
        let found: Option<(Vec<u8>,)> = self.db.row(&FANOUT_STATE, (uid.0,)).await?;
        found.map(|(cell,)| cells::fanout_state_of(&cell)).transpose().map(Option::unwrap_or_default)
    }

    async fn last_read(&self, uid: Uid) -> Result<LastRead> {
        let found: Option<(Option<i64>, Option<Vec<u8>>)> = self.db.row(&LAST_READ, (uid.0,)).await?;
        let (at, dormancy) = found.unwrap_or_default();
        let (version, dormancy) = dormancy_of(dormancy.as_deref())?;
        Ok(LastRead { at: at.map(Millis), version, dormancy })
    }

    /// Writes an account's dormancy. The latest version wins.
    pub(super) async fn write_dormancy(&self, uid: Uid, version: Version, dormancy: Dormancy) -> Result<()> {
        self.db.write(&PUT_DORMANCY, (version.0, cells::dormancy(version, dormancy), uid.0)).await
    }
}

#[async_trait]
impl FanoutModes for CqlStore {
    async fn fanout_states(&self, uids: &[Uid]) -> Result<Vec<FanoutState>> {
        concurrently(uids.iter().map(|uid| self.fanout_state(*uid))).await
    }

    async fn put_fanout_state(&self, uid: Uid, fanout_state: &FanoutState) -> Result<()> {
        self.db
            .write(&PUT_FANOUT_STATE, (uid.0, cells::fanout_state(fanout_state), fanout_state.version.0))
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
        let mode = match self.assigned_mode(follower, followee).await? {
            Some(mode) => mode,
            None => {
                let pulled = self.delivery_state(follower).await?.pulled;
                let preferred = if pulled.len() < max_pulled { FanoutMode::Pull } else { FanoutMode::Push };
                self.try_assign_mode(follower, followee, preferred).await?
            }
        };
        self.write_mode((follower, followee), mode, Some(since), version).await?;
        Ok(mode)
    }

    async fn release_mode(&self, follower: Uid, followee: Uid, version: Version) -> Result<()> {
        match self.assigned_mode(follower, followee).await? {
            Some(mode) => self.write_mode((follower, followee), mode, None, version).await,
            None => Ok(()),
        }
    }

    async fn pushed_followers(
        &self,
        followee: Uid,
        after: Option<Uid>,
        limit: usize,
    ) -> Result<Vec<(Uid, Position)>> {
        self.pushed_after(followee, after, limit).await
    }

    async fn delivery_state(&self, uid: Uid) -> Result<DeliveryState> {
        let rows: Vec<DeliveryStateRow> = self.db.rows(&DELIVERY_STATE, (uid.0,)).await?;
        let (version, dormancy) = dormancy_of(rows.first().and_then(|(.., dormancy)| dormancy.as_deref()))?;
        let mut pulled = Vec::new();
        for (followee, edge, _) in rows {
            let Some((followee, edge)) = followee.zip(edge) else { continue };
            pulled.extend(cells::edge_of(&edge)?.map(|since| (Uid(followee), since)));
        }
        Ok(DeliveryState { version, dormancy, pulled })
    }

    async fn note_read(&self, uid: Uid, at: Millis) -> Result<()> {
        self.db.write(&PUT_READ, (at.0, at.0, uid.0)).await
    }

    async fn last_reads(&self, uids: &[Uid]) -> Result<Vec<LastRead>> {
        concurrently(uids.iter().map(|uid| self.last_read(*uid))).await
    }

    async fn put_dormancy(&self, uid: Uid, version: Version, dormancy: Dormancy) -> Result<()> {
        self.write_dormancy(uid, version, dormancy).await
    }

    async fn reactivate(
        &self,
        uid: Uid,
        version: Version,
        since: Position,
        now: Millis,
    ) -> Result<Option<Position>> {
        if self.last_read(uid).await?.version > version {
            return Ok(None);
        }
        let reactivation = Intent::Reactivate { uid, version: version.following(), since, at: now };
        self.commit_intent(reactivation).await.map(Some)
    }

    async fn put_edge_dormancy(
        &self,
        follower: Uid,
        followees: &[Uid],
        version: Version,
        dormancy: EdgeDormancy,
    ) -> Result<()> {
        let all =
            followees.iter().map(|followee| self.write_edge_dormancy(follower, *followee, version, dormancy));
        concurrently(all).await.map(drop)
    }

    async fn followed_entries(&self, owner: Uid, own: &[Entry]) -> Result<Vec<Option<Entry>>> {
        self.look_up_followed(owner, own).await
    }
}

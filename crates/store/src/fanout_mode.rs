//! Fan-out modes of edges, fan-out states of actors, and dormancy of accounts.
//!
//! Every value here is a versioned last-writer-wins register, or is assigned once and never changes. A late write of
//! an earlier version changes nothing.

use crate::Result;
use async_trait::async_trait;
use model::{
    DeliveryState, Dormancy, EdgeDormancy, Entry, FanoutMode, FanoutState, Millis, Position, Uid, Version,
};

/// A current follower of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follower {
    /// The follower.
    pub uid: Uid,
    /// The version of the edge.
    pub version: Version,
    /// The position at which the edge was created. Backfill delivers activities that were accepted before it, fan-out
    /// those that are accepted after it.
    pub since: Position,
    /// The dormancy of the edge; `None` if it was never dormant.
    pub dormancy: Option<EdgeDormancy>,
}

impl Follower {
    /// Whether fan-out writes an activity accepted at this position into the follower's collection.
    pub fn is_pushed_at(&self, accepted: Position) -> bool {
        let active = match self.dormancy {
            None => true,
            Some(EdgeDormancy::Dormant) => false,
            Some(EdgeDormancy::ActiveAfter(since)) => since < accepted,
        };
        active && self.since < accepted
    }
}

/// The last read of an account's collections, and its dormancy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastRead {
    /// Time of the last read. `None`: never read.
    pub at: Option<Millis>,
    /// The version of `dormancy`.
    pub version: Version,
    /// Whether fan-out skips the account.
    pub dormancy: Dormancy,
}

/// Fan-out modes and dormancy.
#[async_trait]
pub trait FanoutModes: Send + Sync {
    /// The fan-out states of these actors.
    async fn fanout_states(&self, uids: &[Uid]) -> Result<Vec<FanoutState>>;

    /// Replaces the fan-out state of an actor unless the stored version is equal or later.
    async fn put_fanout_state(&self, uid: Uid, fanout_state: &FanoutState) -> Result<()>;

    /// Assigns a fan-out mode to the pair, permanently, and returns it. The first call decides: `Pull`, unless the
    /// follower already pulls from `max_pulled` actors. From then on [`delivery_state`](FanoutModes::delivery_state)
    /// or [`pushed_followers`](FanoutModes::pushed_followers) lists the edge of this version, created at `since`.
    async fn assign_mode(
        &self,
        follower: Uid,
        followee: Uid,
        since: Position,
        version: Version,
        max_pulled: usize,
    ) -> Result<FanoutMode>;

    /// Records that the edge ended with this version. Neither of the two lists it until there is a later edge. The
    /// assigned mode stays. Does nothing if no mode was assigned.
    async fn release_mode(&self, follower: Uid, followee: Uid, version: Version) -> Result<()>;

    /// The followers in push mode, to which pulled activities must be pushed too, each with the position at which its
    /// edge was created. Ordered by number, after `after`.
    async fn pushed_followers(
        &self,
        followee: Uid,
        after: Option<Uid>,
        limit: usize,
    ) -> Result<Vec<(Uid, Position)>>;

    /// How activities reach the account's collections.
    async fn delivery_state(&self, uid: Uid) -> Result<DeliveryState>;

    /// Records a read of the account's collections. The latest time wins.
    async fn note_read(&self, uid: Uid, at: Millis) -> Result<()>;

    /// The last reads of these accounts.
    async fn last_reads(&self, uids: &[Uid]) -> Result<Vec<LastRead>>;

    /// Replaces an account's dormancy unless the stored version is equal or later. Of two `Dormant` states with the
    /// same version the earlier `since` wins.
    async fn put_dormancy(&self, uid: Uid, version: Version, dormancy: Dormancy) -> Result<()>;

    /// Reactivates an account that is dormant with this version and this `since`: its dormancy becomes `CatchingUp`
    /// with the next version, and a task is appended to the log. Returns the position of the task. `None`: a later
    /// version is stored, and nothing was changed. `now` dates the intent, so that a sweep finds it.
    async fn reactivate(
        &self,
        uid: Uid,
        version: Version,
        since: Position,
        now: Millis,
    ) -> Result<Option<Position>>;

    /// Records whether fan-out from these followees skips the follower, unless a later version is stored. Of equal
    /// versions active wins over dormant, and a later position over an earlier one.
    async fn put_edge_dormancy(
        &self,
        follower: Uid,
        followees: &[Uid],
        version: Version,
        dormancy: EdgeDormancy,
    ) -> Result<()>;

    /// The owner's entries of these activities with the reason `Followed`. `own` has the authored entries of the
    /// activities; only their identifier, facet and two times are used.
    async fn followed_entries(&self, owner: Uid, own: &[Entry]) -> Result<Vec<Option<Entry>>>;
}

//! By which way what is followed comes into collections: who pulls what, and who is dormant.
//!
//! All of it are registers with a version, or are decided once for ever: who comes late with an earlier version changes
//! nothing.

use crate::Result;
use async_trait::async_trait;
use model::{
    DeliveryState, Dormancy, EdgeDormancy, Entry, FanoutMode, FanoutState, Millis, Position, Uid, Version,
};

/// Who follows an account now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follower {
    /// Who.
    pub uid: Uid,
    /// The version of the edge.
    pub version: Version,
    /// The position in the log at which the edge was made: what was accepted before that comes with the edge, what is
    /// accepted after it by itself.
    pub since: Position,
    /// Whether it is pushed. From a later position than `since` on, where the follower was dormant since then.
    pub dormancy: Option<EdgeDormancy>,
}

impl Follower {
    /// Whether what is accepted there is pushed to this follower.
    pub fn is_pushed_at(&self, accepted: Position) -> bool {
        let active = match self.dormancy {
            None => true,
            Some(EdgeDormancy::Dormant) => false,
            Some(EdgeDormancy::ActiveAfter(since)) => since < accepted,
        };
        active && self.since < accepted
    }
}

/// When an account's collections were last read, and what follows from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastRead {
    /// When; `None`: never.
    pub at: Option<Millis>,
    /// The version of the dormancy.
    pub version: Version,
    /// Whether it is active.
    pub dormancy: Dormancy,
}

/// By which way what is followed comes into collections.
#[async_trait]
pub trait FanoutModes: Send + Sync {
    /// How what these accounts do is marked.
    async fn fanout_states(&self, uids: &[Uid]) -> Result<Vec<FanoutState>>;

    /// Replaces that of an account, unless the stored version is as late or later.
    async fn put_fanout_state(&self, uid: Uid, fanout_state: &FanoutState) -> Result<()>;

    /// Decides by which way what the followee does comes to the follower, once for ever: of many calls the first one's
    /// decision stays, and all give it. It is pulled, unless the follower pulls from `most` others by now. Notes it for
    /// the edge of that version, made at `since`, from where on [`reading`](FanoutModes::reading) and
    /// [`pushed_followers`](FanoutModes::pushed_followers) tell of it.
    async fn assign_mode(
        &self,
        follower: Uid,
        followee: Uid,
        since: Position,
        version: Version,
        most: usize,
    ) -> Result<FanoutMode>;

    /// Notes that the edge ended by that version: neither of them tells of it any more, until there is a later one. What
    /// was decided stays decided. Where nothing was, nothing happens.
    async fn release_mode(&self, follower: Uid, followee: Uid, version: Version) -> Result<()>;

    /// Those followers to whom it was decided to push also what is marked as pulled, by number, those after `after`, each
    /// with where the edge was made.
    async fn pushed_followers(
        &self,
        followee: Uid,
        after: Option<Uid>,
        limit: usize,
    ) -> Result<Vec<(Uid, Position)>>;

    /// How the account's collections are read.
    async fn delivery_state(&self, uid: Uid) -> Result<DeliveryState>;

    /// Notes that the account's collections were read; the latest time stays.
    async fn note_read(&self, uid: Uid, at: Millis) -> Result<()>;

    /// When the collections of these accounts were last read.
    async fn last_reads(&self, uids: &[Uid]) -> Result<Vec<LastRead>>;

    /// Replaces an account's dormancy, unless the stored version is as late or later. Of two that fall dormant by one version
    /// the one with the earlier `since` stays.
    async fn put_dormancy(&self, uid: Uid, version: Version, dormancy: Dormancy) -> Result<()>;

    /// Has an account that sleeps by that version since there return, by the version that follows, and has that followed
    /// up: a task in the log, whose position is given. `None`: a later version is stored, and nothing was changed. The time
    /// tells whoever looks for what was begun where to look.
    async fn reactivate(
        &self,
        uid: Uid,
        version: Version,
        since: Position,
        now: Millis,
    ) -> Result<Option<Position>>;

    /// Notes whether these accounts push to the follower, unless a later version is noted; of one version active counts
    /// more than dormant, and the later position more than the earlier.
    async fn put_edge_dormancy(
        &self,
        follower: Uid,
        followees: &[Uid],
        version: Version,
        dormancy: EdgeDormancy,
    ) -> Result<()>;

    /// The entries that the owner's collection has of these activities because their actors are followed. What is given
    /// are the entries among what their actors did; of these only identifier, facet and the two times count.
    async fn followed_entries(&self, owner: Uid, own: &[Entry]) -> Result<Vec<Option<Entry>>>;
}

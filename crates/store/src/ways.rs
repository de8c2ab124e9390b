//! By which way what is followed comes into collections: who pulls what, and who is asleep.
//!
//! All of it are registers with a version, or are decided once for ever: who comes late with an earlier version changes
//! nothing.

use crate::Result;
use async_trait::async_trait;
use model::{Audience, Entry, Millis, Phase, Position, Reading, Sleep, Uid, Version, Way};

/// Who follows an account now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follower {
    /// Who.
    pub uid: Uid,
    /// The version of the edge.
    pub version: Version,
    /// The place in the log at which the edge was made: what was accepted before that comes with the edge, what is
    /// accepted after it by itself.
    pub since: Position,
    /// Whether it is pushed. From a later place than `since` on, where the follower was asleep since then.
    pub sleep: Option<Sleep>,
}

impl Follower {
    /// Whether what is accepted there is pushed to this follower.
    pub fn is_pushed_at(&self, accepted: Position) -> bool {
        let awake = match self.sleep {
            None => true,
            Some(Sleep::Asleep) => false,
            Some(Sleep::Awake(since)) => since < accepted,
        };
        awake && self.since < accepted
    }
}

/// When an account's collections were last read, and what follows from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastRead {
    /// When; `None`: never.
    pub at: Option<Millis>,
    /// The version of the phase.
    pub version: Version,
    /// Whether it is awake.
    pub phase: Phase,
}

/// By which way what is followed comes into collections.
#[async_trait]
pub trait Ways: Send + Sync {
    /// How what these accounts do is marked.
    async fn audiences(&self, uids: &[Uid]) -> Result<Vec<Audience>>;

    /// Replaces that of an account, unless the stored version is as late or later.
    async fn put_audience(&self, uid: Uid, audience: &Audience) -> Result<()>;

    /// Decides by which way what the followee does comes to the follower, once for ever: of many calls the first one's
    /// decision stays, and all give it. It is pulled, unless the follower pulls from `most` others by now. Notes it for
    /// the edge of that version, made at `since`, from where on [`reading`](Ways::reading) and
    /// [`pushed_followers`](Ways::pushed_followers) tell of it.
    async fn choose(
        &self,
        follower: Uid,
        followee: Uid,
        since: Position,
        version: Version,
        most: usize,
    ) -> Result<Way>;

    /// Notes that the edge ended by that version: neither of them tells of it any more, until there is a later one. What
    /// was decided stays decided. Where nothing was, nothing happens.
    async fn unchoose(&self, follower: Uid, followee: Uid, version: Version) -> Result<()>;

    /// Those followers to whom it was decided to push also what is marked as pulled, by number, those after `after`, each
    /// with where the edge was made.
    async fn pushed_followers(
        &self,
        followee: Uid,
        after: Option<Uid>,
        limit: usize,
    ) -> Result<Vec<(Uid, Position)>>;

    /// How the account's collections are read.
    async fn reading(&self, uid: Uid) -> Result<Reading>;

    /// Notes that the account's collections were read; the latest time stays.
    async fn note_read(&self, uid: Uid, at: Millis) -> Result<()>;

    /// When the collections of these accounts were last read.
    async fn last_reads(&self, uids: &[Uid]) -> Result<Vec<LastRead>>;

    /// Replaces an account's phase, unless the stored version is as late or later. Of two that fall asleep by one version
    /// the one with the earlier `since` stays.
    async fn put_phase(&self, uid: Uid, version: Version, phase: Phase) -> Result<()>;

    /// Has an account that sleeps by that version since there return, by the version that follows, and has that followed
    /// up: a task in the log, whose place is given. `None`: a later version is stored, and nothing was changed. The time
    /// tells whoever looks for what was begun where to look.
    async fn wake(
        &self,
        uid: Uid,
        version: Version,
        since: Position,
        now: Millis,
    ) -> Result<Option<Position>>;

    /// Notes whether these accounts push to the follower, unless a later version is noted; of one version awake counts
    /// more than asleep, and the later place more than the earlier.
    async fn put_sleep(&self, follower: Uid, followees: &[Uid], version: Version, sleep: Sleep)
    -> Result<()>;

    /// The entries that the owner's collection has of these activities because their actors are followed. What is given
    /// are the entries among what their actors did; of these only identifier, facet and the two times count.
    async fn followed_entries(&self, owner: Uid, own: &[Entry]) -> Result<Vec<Option<Entry>>>;
}

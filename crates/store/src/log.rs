//! The delivery log: what is still to be done for what was accepted.
//!
//! Whatever changes collections appends a task in the moment of its acceptance: [`Activities::accept`](crate::Activities)
//! and [`Graph::put_edge`](crate::Graph) do so themselves. A worker does what a task asks and acknowledges it. Tasks may
//! be done twice, out of order, or by several workers at once.

use crate::Result;
use async_trait::async_trait;
use model::{ActivityId, Millis, Position, PriorAudience, SortKey, Uid, Version, Visibility};

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Deliver a version of an activity to everybody whom it concerns.
    Version {
        /// The activity.
        id: ActivityId,
        /// The version that was accepted.
        version: Version,
        /// What the version before it was; `None` for the first one.
        prior: Option<PriorAudience>,
        /// At which position it was accepted, if that is not the task's own: who followed later gets it otherwise.
        accepted: Option<Position>,
    },
    /// The rest of that: the followers after this one.
    Followers {
        /// The activity.
        id: ActivityId,
        /// The version that was accepted.
        version: Version,
        /// Who could see the version before it.
        prior: Option<Visibility>,
        /// At which position the version was accepted: who followed later gets it otherwise.
        accepted: Position,
        /// Those up to this one have it.
        after: Uid,
    },
    /// An account follows another now, or does not any more.
    Edge {
        /// Who.
        follower: Uid,
        /// Whom.
        followee: Uid,
        /// The version of the edge.
        version: Version,
        /// Whether it follows by that version.
        following: bool,
    },
    /// An account became public or private, or was removed: whoever watches collections that it is in must look anew.
    Account {
        /// Which.
        uid: Uid,
        /// Of its followers those up to this one have been told.
        after: Option<Uid>,
    },
    /// The rest of that: those whom its activities address.
    Addressed {
        /// Which account.
        uid: Uid,
        /// Of its activities those down to this sort_key are done, in the order of receipt.
        after: Option<SortKey>,
    },
    /// An account took an activity out of what reaches it.
    Removal {
        /// Who.
        owner: Uid,
        /// Which.
        id: ActivityId,
    },
    /// Very many follow an account: prepare them for pulling what it does, and then let it be pulled.
    PrepareFollowers {
        /// Which account.
        uid: Uid,
        /// Of its followers those up to this one are prepared.
        after: Option<Uid>,
    },
    /// An account fell dormant: nothing need be pushed to it.
    BecomeDormant {
        /// Which.
        uid: Uid,
        /// The version of its dormancy.
        version: Version,
        /// Of whom it follows those up to this one do not push any more.
        after: Option<Uid>,
    },
    /// An account came back: push to it again, and deliver what it missed.
    CatchUp {
        /// Which.
        uid: Uid,
        /// The version of its return.
        version: Version,
        /// What was accepted up to there it has.
        since: Position,
        /// Of whom it follows those up to this one are done.
        after: Option<Uid>,
        /// And of this one everything down to that sort_key, in the order of receipt.
        within: Option<(Uid, SortKey)>,
    },
}

impl Work {
    /// The same work for a task elsewhere in the log than at `position`, where it was first.
    pub(crate) fn moved_from(&self, position: Position) -> Work {
        match self.clone() {
            Work::Version { id, version, prior, accepted } => {
                Work::Version { id, version, prior, accepted: accepted.or(Some(position)) }
            }
            other => other,
        }
    }

    /// The version that the work is for; it is about the time of its acceptance.
    pub fn version(&self) -> Option<Version> {
        match self {
            Work::Version { version, .. } | Work::Followers { version, .. } | Work::Edge { version, .. } => {
                Some(*version)
            }
            Work::Account { .. }
            | Work::Addressed { .. }
            | Work::Removal { .. }
            | Work::PrepareFollowers { .. }
            | Work::BecomeDormant { .. }
            | Work::CatchUp { .. } => None,
        }
    }
}

/// Something to be done, and how that went so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its position in the log.
    pub position: Position,
    /// What is to be done.
    pub work: Work,
    /// How often it was tried in vain.
    pub attempts: u32,
    /// Not to be tried again before.
    pub not_before: Millis,
}

/// How much there is still to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// So many tasks wait.
    pub tasks: usize,
    /// The oldest of them since about then, where that can be told.
    pub oldest: Option<Millis>,
}

/// A task that was given up; an operator may have it tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Tells letters apart.
    pub number: u64,
    /// What was to be done.
    pub work: Work,
    /// How often it was tried.
    pub attempts: u32,
    /// Why it did not work the last time.
    pub why: String,
    /// When it was given up.
    pub at: Millis,
}

/// The delivery log.
#[async_trait]
pub trait Log: Send + Sync {
    /// Appends a task; gives its position.
    async fn append(&self, work: &Work) -> Result<Position>;

    /// Everything up to here has been delivered and can be read.
    async fn floor(&self) -> Result<Position>;

    /// Tasks that are not acknowledged, oldest first; those that wait for their time are not among them.
    async fn pending(&self, limit: usize) -> Result<Vec<Task>>;

    /// How much waits, counted up to `most`. To ask takes nothing out of the log: whoever does not deliver may ask too.
    async fn backlog(&self, most: usize) -> Result<Backlog> {
        let tasks = self.pending(most).await?;
        // A version is about the time of its acceptance, which is good enough for an age.
        let oldest = tasks.iter().find_map(|task| task.work.version());
        Ok(Backlog { tasks: tasks.len(), oldest: oldest.map(|version| Millis(version.0)) })
    }

    /// Marks tasks that [`pending`](Log::pending) gave as done: all their deliveries are durable. What is still to be done for them is appended first, so
    /// that nothing falls between; together where the engine can.
    async fn acknowledge(&self, done: &[Position], next: &[Work]) -> Result<()>;

    /// Puts the tasks whose time has come by `now` at the end of the log.
    async fn requeue_due(&self, now: Millis) -> Result<()>;

    /// Takes a task that did not work out of the log until its time comes, so that it holds nobody up: the floor goes on.
    async fn retry(&self, task: &Task, not_before: Millis) -> Result<()>;

    /// Puts back into the log what it should have and does not: what was begun and never got there, and what it lost.
    /// Gives the number of tasks. Whoever calls it often enough loses nothing, whatever becomes of the log.
    async fn sweep(&self, now: Millis) -> Result<usize>;

    /// Where the arrivals begin that are still kept: what came before may have been forgotten. It is seven days back at
    /// least, or as far back as this log goes.
    async fn oldest(&self, now: Millis) -> Result<Position>;

    /// Gives a task up: it becomes a dead letter.
    async fn dead_letter(&self, task: &Task, why: &str, at: Millis) -> Result<()>;

    /// Dead letters, oldest first, those after that number.
    async fn dead_letters(&self, after: Option<u64>, limit: usize) -> Result<Vec<DeadLetter>>;

    /// Has a dead letter tried again from the start. `false`: there is none with that number.
    async fn replay(&self, number: u64) -> Result<bool>;
}

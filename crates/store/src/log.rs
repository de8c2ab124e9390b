//! The delivery log: tasks that accepted changes leave behind.
//!
//! Every call that changes collections appends a task when it accepts the change:
//! [`Activities::accept`](crate::Activities) and [`Graph::put_edge`](crate::Graph) do so themselves. A worker
//! executes a task and acknowledges it. Tasks may be executed twice, out of order, or by several workers
//! concurrently.

use crate::Result;
use async_trait::async_trait;
use model::{ActivityId, Millis, Position, PriorAudience, SortKey, TraceContext, Uid, Version, Visibility};

/// The work of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Deliver a version of an activity to its recipients, its followers and its prior audience.
    Version {
        /// The activity.
        id: ActivityId,
        /// The version that was accepted.
        version: Version,
        /// The audience of the version before it; `None` for the first version.
        prior: Option<PriorAudience>,
        /// The position at which it was accepted; `None` if that is the position of the task. Followers with a later
        /// edge get the activity by backfill instead.
        accepted: Option<Position>,
    },
    /// Continue the delivery of a version with the followers after `after`.
    Followers {
        /// The activity.
        id: ActivityId,
        /// The version that was accepted.
        version: Version,
        /// The visibility of the version before it.
        prior: Option<Visibility>,
        /// The position at which the version was accepted. Followers with a later edge get the activity by backfill
        /// instead.
        accepted: Position,
        /// Followers up to and including this one have it.
        after: Uid,
    },
    /// Update the follower's collection for an edge that was created or ended.
    Edge {
        /// The follower.
        follower: Uid,
        /// The followee.
        followee: Uid,
        /// The version of the edge.
        version: Version,
        /// Whether the edge is live in that version.
        following: bool,
    },
    /// An account became public, private or removed: record a change in every collection that has its activities.
    Account {
        /// The account.
        uid: Uid,
        /// Followers up to and including this one are done.
        after: Option<Uid>,
    },
    /// Continue that with the recipients of its activities.
    Addressed {
        /// The account.
        uid: Uid,
        /// Its activities down to this sort key are done, in the order of receipt.
        after: Option<SortKey>,
    },
    /// An account's collections changed in a way that entries do not express: record the change.
    Change {
        /// The account.
        uid: Uid,
    },
    /// An account blocked another: end their edges, and record the change.
    Block {
        /// The account.
        owner: Uid,
        /// The other account.
        other: Uid,
    },
    /// An edge ended: remove the follower's entries of the followee's activities.
    RemoveFollowed {
        /// The follower.
        follower: Uid,
        /// The followee.
        followee: Uid,
        /// The followee's activities down to this sort key are done, in the order of receipt.
        after: Option<SortKey>,
    },
    /// An account removed an activity from its `to`.
    Removal {
        /// The account.
        owner: Uid,
        /// The activity.
        id: ActivityId,
    },
    /// The followers of an account exceed the pull threshold: assign a fan-out mode to each edge, then switch the
    /// account to pull.
    PrepareFollowers {
        /// The account.
        uid: Uid,
        /// Followers up to and including this one are prepared.
        after: Option<Uid>,
    },
    /// An account became dormant: stop its followees from pushing to it.
    BecomeDormant {
        /// The account.
        uid: Uid,
        /// The version of the dormancy.
        version: Version,
        /// Followees up to and including this one have stopped pushing to the account.
        after: Option<Uid>,
    },
    /// An account was reactivated: resume pushing to it, and deliver the activities that it missed.
    CatchUp {
        /// The account.
        uid: Uid,
        /// The version of the reactivation.
        version: Version,
        /// The account has everything that was accepted up to this position.
        since: Position,
        /// Followees up to and including this one are done.
        after: Option<Uid>,
        /// The followee in progress, done down to this sort key in the order of receipt.
        within: Option<(Uid, SortKey)>,
    },
}

impl Work {
    /// The same work for a task that leaves `position`, where it was first appended.
    pub(crate) fn moved_from(&self, position: Position) -> Work {
        match self.clone() {
            Work::Version { id, version, prior, accepted } => {
                Work::Version { id, version, prior, accepted: accepted.or(Some(position)) }
            }
            work => work,
        }
    }

    /// The work as a part of that trace.
    pub fn in_trace(self, trace: Option<TraceContext>) -> TracedWork {
        TracedWork { work: self, trace }
    }

    /// The version that the work delivers. It approximates the time of acceptance.
    pub fn version(&self) -> Option<Version> {
        match self {
            Work::Version { version, .. } | Work::Followers { version, .. } | Work::Edge { version, .. } => {
                Some(*version)
            }
            Work::Account { .. }
            | Work::Addressed { .. }
            | Work::Change { .. }
            | Work::Block { .. }
            | Work::RemoveFollowed { .. }
            | Work::Removal { .. }
            | Work::PrepareFollowers { .. }
            | Work::BecomeDormant { .. }
            | Work::CatchUp { .. } => None,
        }
    }
}

/// Work, and the trace that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedWork {
    /// The work.
    pub work: Work,
    /// The span that left the work behind. `None`: its trace is not recorded.
    pub trace: Option<TraceContext>,
}

impl TracedWork {
    /// The same for a task that leaves `position`.
    pub(crate) fn moved_from(&self, position: Position) -> TracedWork {
        self.work.moved_from(position).in_trace(self.trace)
    }
}

/// An item of the log: work and its attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its position in the log.
    pub position: Position,
    /// The work.
    pub work: Work,
    /// The span that left the work behind. `None`: its trace is not recorded.
    pub trace: Option<TraceContext>,
    /// The number of failed attempts.
    pub attempts: u32,
    /// The earliest time of the next attempt.
    pub not_before: Millis,
}

impl Task {
    /// The work as it is logged again after the task has left the log.
    pub(crate) fn moved(&self) -> TracedWork {
        self.work.moved_from(self.position).in_trace(self.trace)
    }
}

/// The size of the backlog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// The number of pending tasks.
    pub tasks: usize,
    /// About when the oldest of them was appended, if the engine knows.
    pub oldest: Option<Millis>,
}

/// A task that failed too often. An operator can replay it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Identifies the dead letter.
    pub number: u64,
    /// The work. `None` for a message of the log that does not verify: it is never executed, and to replay it only
    /// removes the dead letter.
    pub work: Option<Work>,
    /// The number of attempts.
    pub attempts: u32,
    /// The error of the last attempt.
    pub error: String,
    /// Time of the last attempt.
    pub at: Millis,
}

/// The delivery log.
#[async_trait]
pub trait Log: Send + Sync {
    /// Appends a task and returns its position. The task belongs to the trace of the current span.
    async fn append(&self, work: &Work) -> Result<Position>;

    /// The floor: everything up to this position is delivered and can be read. It may lag behind; an older floor only
    /// repeats arrivals.
    async fn floor(&self) -> Result<Position>;

    /// Tasks that are not acknowledged, oldest first, without those that wait for a retry.
    async fn pending(&self, limit: usize) -> Result<Vec<Task>>;

    /// The backlog, counted up to `max` tasks. Takes nothing out of the log, so processes that do not deliver may
    /// call it.
    async fn backlog(&self, max: usize) -> Result<Backlog> {
        let tasks = self.pending(max).await?;
        // A version approximates the time of acceptance, which is precise enough for an age.
        let oldest = tasks.iter().find_map(|task| task.work.version());
        Ok(Backlog { tasks: tasks.len(), oldest: oldest.map(|version| Millis(version.0)) })
    }

    /// Marks tasks from [`pending`](Log::pending) as done: all their deliveries are durable. Appends their follow-up
    /// work `next` first, or in the same transaction where the engine can, so that none is lost.
    async fn acknowledge(&self, done: &[Position], next: &[TracedWork]) -> Result<()>;

    /// Appends the tasks whose retry is due at `now` to the log.
    async fn requeue_due(&self, now: Millis) -> Result<()>;

    /// Takes a failed task out of the log until its retry is due, so that it does not hold back the floor.
    async fn retry(&self, task: &Task, not_before: Millis) -> Result<()>;

    /// Appends tasks that are missing from the log: those of unfinished writes, and those that the log has lost.
    /// Returns their number. Called regularly, it makes delivery independent of the durability of the log.
    async fn sweep(&self, now: Millis) -> Result<usize>;

    /// The position at which stored arrivals begin; earlier ones may have been deleted. It is at least seven days
    /// old, or the start of this log.
    async fn oldest(&self, now: Millis) -> Result<Position>;

    /// The position from which a reader that has seen everything up to `after` gets all stored arrivals that it has not
    /// seen: `after` itself, unless later arrivals may be missing. They may have been deleted, or a backup from before that
    /// position was restored.
    async fn resume_at(&self, after: Position, now: Millis) -> Result<Position> {
        Ok(after.max(self.oldest(now).await?))
    }

    /// Whether a reader that has seen everything up to `after` may miss arrivals.
    async fn has_lost(&self, after: Position, now: Millis) -> Result<bool> {
        Ok(self.resume_at(after, now).await? != after)
    }

    /// Turns a task into a dead letter.
    async fn dead_letter(&self, task: &Task, error: &str, at: Millis) -> Result<()>;

    /// Dead letters, oldest first, after the one with the number `after`.
    async fn dead_letters(&self, after: Option<u64>, limit: usize) -> Result<Vec<DeadLetter>>;

    /// Appends the work of a dead letter as a new task without failed attempts. `false`: there is no such dead
    /// letter.
    async fn replay(&self, number: u64) -> Result<bool>;
}

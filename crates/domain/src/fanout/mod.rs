//! Fan-out: delivers accepted activities to the collections of their recipients and followers.
//!
//! Accepting an activity appends a task to the delivery log; fan-out turns tasks into entries. Every task is
//! idempotent: two processes may perform it concurrently, and a process may repeat it after a crash, because keys,
//! versions and positions are derived from the task and the state.
//!
//! - `worker` takes batches from the log and handles failures; `task` runs one task.
//! - `version` delivers a version of an activity; `edge` backfills a new edge, and removes the entries of an ended one.
//! - `block` ends the edges between two accounts.
//! - `mode` switches accounts with many followers between push and pull.
//! - `dormancy` finds accounts that are no longer read; `catch_up` delivers what a reactivated account missed.

mod block;
mod catch_up;
pub mod dormancy;
mod edge;
mod mode;
mod task;
mod version;
mod worker;

pub use version::first_entries;
pub use worker::{SECONDS, deliver_pending, describe_metrics, run};

use model::MAX_PULLED;
use store::Work;

use crate::live::Hub;

#[cfg(test)]
mod tests;

/// Thresholds that select the fan-out mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Activities of accounts with more followers than this are pulled. `None` keeps every account in its present mode:
    /// commands use it, because they do not know the server's settings.
    pub pull_above: Option<usize>,
    /// Maximum number of actors that one follower pulls from. Further actors push to it, however many followers they
    /// have.
    pub max_pulled: usize,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { pull_above: None, max_pulled: MAX_PULLED }
    }
}

/// Describes a task in a few words for the operator.
pub fn described(work: Option<&Work>) -> String {
    let Some(work) = work else { return "a message that does not verify".to_owned() };
    match work {
        Work::Version { id, .. } => format!("activity {id}"),
        Work::Followers { id, after, .. } => format!("activity {id} to followers after account {}", after.0),
        Work::Edge { follower, followee, .. } => {
            format!("account {} follows account {}", follower.0, followee.0)
        }
        Work::Account { uid, .. } | Work::Addressed { uid, .. } => format!("changes of account {}", uid.0),
        Work::Change { uid } => format!("changes of account {}", uid.0),
        Work::Block { owner, other } => format!("account {} blocks account {}", owner.0, other.0),
        Work::RemoveFollowed { follower, followee, .. } => {
            format!("account {} no longer follows account {}", follower.0, followee.0)
        }
        Work::Removal { owner, id } => format!("activity {id} removed by account {}", owner.0),
        Work::PrepareFollowers { uid, .. } => format!("the followers of account {}", uid.0),
        Work::BecomeDormant { uid, .. } => format!("account {} becomes dormant", uid.0),
        Work::CatchUp { uid, .. } => format!("account {} catches up", uid.0),
    }
}

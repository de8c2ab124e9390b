//! Brings accepted activities to everybody whom they reach.
//!
//! Accepting writes a task into the log; here tasks become entries in collections. Everything may be done twice, by
//! two processes at once or again after a crash: keys, versions and positions come from the task and the state.
//! `task` does one, `recipients` and `backfill` say who gets what, `deliver` takes batches from the log and deals with
//! failures, `worker` goes on for ever. `mode` switches very-followed accounts over to being pulled and back; `dormancy`
//! finds who is not read any more, and `catch_up` brings them what they missed.

mod backfill;
mod catch_up;
mod deliver;
pub mod dormancy;
mod mode;
mod recipients;
mod task;
mod worker;

pub use deliver::deliver_pending;
pub(crate) use recipients::first_entries;
pub use worker::{DEAD_LETTERS, PENDING, SECONDS, run};

use model::MAX_PULLED;
use store::Work;

use crate::live::Hub;

#[cfg(test)]
mod tests;

/// What decides by which mode activities come to followers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// What accounts do that more than so many follow is pulled. `None`: whoever is pulled stays so, and nobody changes over;
    /// that is for commands, which do not know what the service has been told.
    pub pull_above: Option<usize>,
    /// From how many accounts a follower pulls at most; what others do is pushed to it, however many follow them.
    pub max_pulled: usize,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { pull_above: None, max_pulled: MAX_PULLED }
    }
}

/// What a task is about, in a few words for whoever operates the service.
pub fn described(work: &Work) -> String {
    match work {
        Work::Version { id, .. } => format!("activity {id}"),
        Work::Followers { id, after, .. } => format!("activity {id} to followers after account {}", after.0),
        Work::Edge { follower, followee, .. } => {
            format!("account {} follows account {}", follower.0, followee.0)
        }
        Work::Account { uid, .. } | Work::Addressed { uid, .. } => format!("changes of account {}", uid.0),
        Work::Removal { owner, id } => format!("activity {id} removed by account {}", owner.0),
        Work::PrepareFollowers { uid, .. } => format!("the followers of account {}", uid.0),
        Work::BecomeDormant { uid, .. } => format!("account {} falls asleep", uid.0),
        Work::CatchUp { uid, .. } => format!("account {} returns", uid.0),
    }
}

//! Brings accepted activities to everybody whom they reach.
//!
//! Accepting writes a task into the log; here tasks become entries in collections. Everything may be done twice, by
//! two processes at once or again after a crash: keys, versions and positions come from the task and the state.
//! `task` does one, `recipients` and `backfill` say who gets what, `deliver` takes batches from the log and deals with
//! failures, `worker` goes on for ever.

mod backfill;
mod deliver;
mod recipients;
mod task;
mod worker;

pub use deliver::deliver_pending;
pub use worker::{DEAD_LETTERS, PENDING, SECONDS, run};

use store::Work;

use crate::live::Hub;

#[cfg(test)]
mod tests;

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
    }
}

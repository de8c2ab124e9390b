//! Brings accepted activities to everybody whom they reach.
//!
//! Accepting writes a task into the log; here tasks become entries in collections. Everything may be done twice, by
//! two processes at once or again after a crash: keys, versions and positions come from the task and the state.

mod deliver;
mod recipients;
mod worker;

pub use deliver::deliver_pending;
pub use worker::{PENDING, SECONDS, run};

#[cfg(test)]
mod tests;

//! Live updates: watchers of collections, and how they are woken.

mod hub;

pub use hub::{Hub, StreamPermit, Watch};

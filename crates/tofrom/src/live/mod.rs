//! Collections as they change: who watches, and how they are woken.

mod hub;

pub use hub::{Hub, StreamPermit, Watch};

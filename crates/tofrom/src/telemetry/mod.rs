//! What the service tells its keeper: log lines on standard error, and numbers and answers about its health on the
//! admin listener.

pub mod admin;
pub mod history;
mod log;
pub mod metrics;

pub use log::{FILTER_VARIABLE, FORMAT_VARIABLE, LogError, start_log};

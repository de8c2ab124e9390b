//! Telemetry for the operator: log lines on standard error, and metrics and health checks on the admin listener.

pub mod admin;
pub mod history;
mod log;
pub mod metrics;

pub use log::{FILTER_VARIABLE, FORMAT_VARIABLE, LogError, start_log};

//! Telemetry for the operator: log lines on standard error, and metrics and health checks on the admin listener.

pub mod admin;
pub mod metrics;

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::TryInitError;

/// The variable with the log filter, in the syntax of `tracing_subscriber::EnvFilter`: `info`, `auth=trace`.
pub const FILTER_VARIABLE: &str = "TOFROM_LOG";
/// The variable with the log format: `text` or `json`.
pub const FORMAT_VARIABLE: &str = "TOFROM_LOG_FORMAT";

/// Why the log cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter is invalid.
    #[error(
        "invalid value for {FILTER_VARIABLE}: {0}: expected a filter like info, debug or auth=debug,info"
    )]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// The format is unknown.
    #[error("invalid value {0:?} for {FORMAT_VARIABLE}: expected \"text\" or \"json\"")]
    Format(String),
    /// The log is already running.
    #[error("the log was started twice")]
    Twice(#[from] TryInitError),
}

/// Starts the log on standard error. Defaults, where the environment sets nothing: the filter `default` (such as
/// `info`), text on a terminal and JSON otherwise.
pub fn start_log(default: &str) -> Result<(), LogError> {
    let variable = |name| std::env::var(name).ok().filter(|text: &String| !text.is_empty());
    let filter = EnvFilter::try_new(variable(FILTER_VARIABLE).as_deref().unwrap_or(default))?;
    let terminal = std::io::stderr().is_terminal();
    let json = match variable(FORMAT_VARIABLE).as_deref() {
        None => !terminal,
        Some("json") => true,
        Some("text") => false,
        Some(other) => return Err(LogError::Format(other.to_owned())),
    };
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(terminal);
    let result = if json {
        use tracing_subscriber::util::SubscriberInitExt;
        builder.json().flatten_event(true).with_current_span(true).with_span_list(false).finish().try_init()
    } else {
        use tracing_subscriber::util::SubscriberInitExt;
        builder.finish().try_init()
    };
    Ok(result?)
}

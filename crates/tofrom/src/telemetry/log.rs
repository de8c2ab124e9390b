//! Log lines: text for people at a terminal, JSON for whatever collects them elsewhere.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::TryInitError;

/// Chooses what is logged, in the syntax of `tracing_subscriber::EnvFilter`: `info`, `debug`, `tofrom::auth=trace`.
pub const FILTER_VARIABLE: &str = "TOFROM_LOG";
/// Chooses the form: `text` or `json`.
pub const FORMAT_VARIABLE: &str = "TOFROM_LOG_FORMAT";

/// Why the log can't be started.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter can't be read.
    #[error("{FILTER_VARIABLE} can't be read: {0}; right would be info, debug or tofrom::auth=debug,info")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// Neither of the two forms.
    #[error("{FORMAT_VARIABLE} is {0:?}; right would be text or json")]
    Format(String),
    /// There is a log already.
    #[error("the log was started twice")]
    Twice(#[from] TryInitError),
}

/// Starts the log on standard error. Without word from the environment: from `default` on (`info`, `warn`), as text on
/// a terminal and as JSON elsewhere.
pub fn start_log(default: &str) -> Result<(), LogError> {
    let said = |name| std::env::var(name).ok().filter(|text: &String| !text.is_empty());
    let filter = EnvFilter::try_new(said(FILTER_VARIABLE).as_deref().unwrap_or(default))?;
    let terminal = std::io::stderr().is_terminal();
    let json = match said(FORMAT_VARIABLE).as_deref() {
        None => !terminal,
        Some("json") => true,
        Some("text") => false,
        Some(other) => return Err(LogError::Format(other.to_owned())),
    };
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(terminal);
    let started = if json {
        use tracing_subscriber::util::SubscriberInitExt;
        builder.json().flatten_event(true).with_current_span(true).with_span_list(false).finish().try_init()
    } else {
        use tracing_subscriber::util::SubscriberInitExt;
        builder.finish().try_init()
    };
    Ok(started?)
}

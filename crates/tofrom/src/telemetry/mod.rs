//! Telemetry for the operator: log lines on standard error, metrics and health checks on the admin listener, and
//! traces for a collector.

pub mod admin;
pub mod metrics;
pub mod traces;

use std::io::IsTerminal;
use store::trace::SPANS;
use traces::Traces;
use tracing::Subscriber;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{EnvFilter, Layer, fmt};

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

/// Starts the log on standard error, and traces if they are on. Defaults, where the environment sets nothing: the filter
/// `default` (such as `info`), text on a terminal and JSON otherwise.
pub fn start_log(default: &str, traces: Option<&Traces>) -> Result<(), LogError> {
    let variable = |name| std::env::var(name).ok().filter(|text: &String| !text.is_empty());
    let filter = EnvFilter::try_new(variable(FILTER_VARIABLE).as_deref().unwrap_or(default))?;
    // Without traces this disables the spans for good.
    let filter = filter.add_directive(format!("{SPANS}=off").parse()?);
    let terminal = std::io::stderr().is_terminal();
    let json = match variable(FORMAT_VARIABLE).as_deref() {
        None => !terminal,
        Some("json") => true,
        Some("text") => false,
        Some(other) => return Err(LogError::Format(other.to_owned())),
    };
    let registry = tracing_subscriber::registry();
    match traces {
        None => registry.with(filter).with(lines(json, terminal)).try_init()?,
        Some(traces) => {
            registry.with(lines(json, terminal).with_filter(filter)).with(traces.layer()).try_init()?;
        }
    }
    Ok(())
}

/// Writes log lines.
fn lines<S>(json: bool, terminal: bool) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(terminal);
    match json {
        true => lines.json().flatten_event(true).with_current_span(true).with_span_list(false).boxed(),
        false => lines.boxed(),
    }
}

//! Computes the time of the next request. Pure functions: time and randomness are arguments.
//!
//! Times are milliseconds since 1970.

mod pace;
mod retry;

pub use pace::{Hints, Pace};
pub use retry::{Retry, retry};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The longest time between two polls.
const CEILING: i64 = DAY;

/// A server's hint, limited to a day.
fn at_most_a_day(hint: Option<std::time::Duration>) -> i64 {
    hint.map_or(0, |hint| i64::try_from(hint.as_millis()).unwrap_or(CEILING).min(CEILING))
}

/// A fraction of a duration.
fn part(of: i64, share: f64) -> i64 {
    (of as f64 * share) as i64
}

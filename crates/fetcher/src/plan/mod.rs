//! When to come again. Pure rules: the time and the chance are handed in.
//!
//! Times are milliseconds since 1970.

mod again;
mod pace;

pub use again::{Again, again};
pub use pace::{Hints, Pace};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// No longer than this goes by without a look.
const CEILING: i64 = DAY;

/// A server's word, as long as it counts.
fn at_most_a_day(told: Option<std::time::Duration>) -> i64 {
    told.map_or(0, |told| i64::try_from(told.as_millis()).unwrap_or(CEILING).min(CEILING))
}

/// A part of a time.
fn part(of: i64, share: f64) -> i64 {
    (of as f64 * share) as i64
}

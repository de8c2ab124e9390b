//! Estimates how often a source changes, and how often to poll it.
//!
//! The state is four numbers: the changes and the observed days, both decaying within weeks, and the times of
//! the last poll and the last change. The rate of changes determines the interval: short for a source that
//! changes several times a day, and steeply longer for one that changes several times a week. A source without
//! item times is unknown at first: it is polled ever more rarely until its first change.

use super::{CEILING, DAY, HOUR, MINUTE, at_most_a_day, part};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The interval of a busy source. With 10 % jitter it stays below 15 minutes.
const FLOOR: i64 = 27 * MINUTE / 2;
/// A source with at least this many changes a day is busy.
const BUSY: f64 = 1.7;
/// The exponent with which the interval grows below that rate.
const STEEPNESS: i32 = 4;
/// Days after which observations have decayed to about a third.
const MEMORY: f64 = 7.0;
/// The prior: this many changes in this many days. Its weight is small, so that one change on the first day
/// makes a source busy.
const GUESSED_CHANGES: f64 = 0.5;
const GUESSED_DAYS: f64 = 0.4;
/// The interval of a source without a known change, as a part of its observed time.
const UNKNOWN_SHARE: f64 = 1.0 / 6.0;
/// The minimum of that interval.
const UNKNOWN_FLOOR: i64 = HOUR;
/// After a silence with this many expected changes, the source has become slower.
const MAX_MISSED: f64 = 4.0;
/// Items within this time are one change.
const SAME_CHANGE: i64 = 15 * MINUTE;
/// The interval of a source with a hub that notifies.
const PUSHED: i64 = 6 * HOUR;
/// The most item times that are examined.
const MAX_ITEMS: usize = 1_000;

/// The observed rate of changes of a source.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "(i64, i64, f32, f32)", from = "(i64, i64, f32, f32)")]
pub struct Pace {
    polled: i64,
    /// The last change, or the first poll if there was none.
    changed: i64,
    changes: f64,
    days: f64,
}

/// Hints about the time of the next poll.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hints {
    /// How long the response stays fresh, from its headers.
    pub fresh_for: Option<Duration>,
    /// The update interval that the feed declares.
    pub every: Option<Duration>,
    /// The `Retry-After` of the server.
    pub retry_after: Option<Duration>,
    /// Whether a hub notifies: polling only covers missed notifications.
    pub pushed: bool,
}

impl Pace {
    /// The state after the first poll, from the times of the feed's items.
    #[must_use]
    pub fn first(published: &[i64], now: i64) -> Pace {
        let moments = moments(published, i64::MIN, now);
        let mut pace = Pace { polled: now, changed: now, changes: 0.0, days: 0.0 };
        if let (Some(oldest), Some(newest)) = (moments.first(), moments.last()) {
            pace.polled = *oldest;
            pace.changed = *newest;
            pace.watch(now);
            // The oldest item begins the observation; it says nothing about the rate.
            pace.count(moments.get(1..).unwrap_or_default(), now);
        }
        pace
    }

    /// Records a poll with new items. Items without a time may be omitted.
    pub fn record_items(&mut self, published: &[i64], now: i64) {
        let mut moments = moments(published, self.polled, now);
        if moments.is_empty() {
            moments.push(now);
        }
        self.watch(now);
        self.count(&moments, now);
        self.changed = moments.last().copied().unwrap_or(now).max(self.changed);
    }

    /// Records a poll without new items.
    pub fn record_unchanged(&mut self, now: i64) {
        self.watch(now);
    }

    /// The time of the next poll. `random` is from 0 to 1.
    #[must_use]
    pub fn next_poll(&self, now: i64, hints: Hints, random: f64) -> i64 {
        let mut wait = self.interval(now);
        if hints.pushed {
            wait = wait.max(PUSHED);
        }
        let hint = [hints.fresh_for, hints.every, hints.retry_after].map(at_most_a_day).into_iter().max();
        let jittered = part(wait, 0.9 + 0.2 * random).max(part(hint.unwrap_or(0), 1.0 + 0.1 * random));
        now.saturating_add(jittered.min(CEILING))
    }

    /// The interval before jitter and hints.
    fn interval(&self, now: i64) -> i64 {
        if self.changes == 0.0 {
            return part(DAY, self.days * UNKNOWN_SHARE).clamp(UNKNOWN_FLOOR, CEILING);
        }
        let silence = now.saturating_sub(self.changed).max(0);
        let rarity = (BUSY / self.changes_a_day(silence)).max(1.0);
        let wait = part(FLOOR, rarity.powi(STEEPNESS)).min(CEILING);
        // A change is often followed by another: directly after it, the interval is at most the silence so far.
        wait.min(silence.max(FLOOR))
    }

    fn changes_a_day(&self, silence: i64) -> f64 {
        let seen = (self.changes + GUESSED_CHANGES) / (self.days + GUESSED_DAYS);
        seen.min(MAX_MISSED * DAY as f64 / silence.max(1) as f64)
    }

    /// Extends the observation to `now`; earlier observations decay.
    fn watch(&mut self, now: i64) {
        let days = now.saturating_sub(self.polled).max(0) as f64 / DAY as f64;
        let left = (-days / MEMORY).exp();
        self.changes *= left;
        self.days = self.days * left + MEMORY * (1.0 - left);
        self.polled = self.polled.max(now);
    }

    fn count(&mut self, moments: &[i64], now: i64) {
        let faded = |moment: &i64| (-(now.saturating_sub(*moment) as f64) / DAY as f64 / MEMORY).exp();
        self.changes += moments.iter().map(faded).sum::<f64>();
    }
}

/// The times of changes, in order. Item times are not trusted: times outside of the observed period are clamped
/// to it.
fn moments(published: &[i64], after: i64, now: i64) -> Vec<i64> {
    let mut times: Vec<i64> =
        published.iter().take(MAX_ITEMS).map(|time| (*time).max(after).min(now)).collect();
    times.sort_unstable();
    let mut moments: Vec<i64> = Vec::new();
    for time in times {
        if moments.last().is_none_or(|last| time.saturating_sub(*last) > SAME_CHANGE) {
            moments.push(time);
        }
    }
    moments
}

impl From<Pace> for (i64, i64, f32, f32) {
    fn from(pace: Pace) -> Self {
        (pace.polled, pace.changed, pace.changes as f32, pace.days as f32)
    }
}

impl From<(i64, i64, f32, f32)> for Pace {
    fn from((polled, changed, changes, days): (i64, i64, f32, f32)) -> Pace {
        Pace { polled, changed, changes: f64::from(changes), days: f64::from(days) }
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;

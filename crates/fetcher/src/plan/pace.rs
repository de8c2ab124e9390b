//! How often a source changes, and so how often it is looked at.
//!
//! What is remembered are four numbers: how many changes there were and how many days were watched, both fading within
//! weeks, and when the last look and the last change were. Changes a day say how long to wait: shortly for a source that
//! changes several times a day, and steeply longer for one that does so several times a week. Of a source without
//! times nothing is known at first: it is looked at ever more rarely until it has changed for once.

use super::{CEILING, DAY, HOUR, MINUTE, at_most_a_day, part};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a busy source is left alone. With a tenth more by chance it stays below 15 minutes.
const FLOOR: i64 = 27 * MINUTE / 2;
/// From so many changes a day on a source is busy.
const BUSY: f64 = 1.7;
/// How steeply the wait grows below that: with this power of how much rarer changes are.
const STEEPNESS: i32 = 4;
/// Days after which what was seen counts for about a third.
const MEMORY: f64 = 7.0;
/// The guess that is there before anything is known: so many changes in so many days. It counts for little, so that one
/// change on the first day makes a source busy.
const GUESSED_CHANGES: f64 = 0.5;
const GUESSED_DAYS: f64 = 0.4;
/// A source of which no change is known is looked at after such a part of the time for which it was watched.
const UNKNOWN: f64 = 1.0 / 6.0;
/// And no sooner than that.
const UNKNOWN_FLOOR: i64 = HOUR;
/// A silence in which so many changes were to be expected is no chance any more: the source has become rarer.
const MISSED: f64 = 4.0;
/// Items so close together are one change.
const TOGETHER: i64 = 15 * MINUTE;
/// How long a source is left alone that tells by itself when it changes.
const PUSHED: i64 = 6 * HOUR;
/// How many items' times are looked at.
const MAX_ITEMS: usize = 1_000;

/// What is remembered of how often a source changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "(i64, i64, f32, f32)", from = "(i64, i64, f32, f32)")]
pub struct Pace {
    looked: i64,
    /// The last change, or the first look if there was none.
    changed: i64,
    changes: f64,
    days: f64,
}

/// What others say about when to come again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hints {
    /// How long the answer stays fresh, by its headers.
    pub fresh_for: Option<Duration>,
    /// How often the feed changes, by its own word.
    pub every: Option<Duration>,
    /// When the server wants to be asked again.
    pub retry_after: Option<Duration>,
    /// A hub tells when it changes: looking is only for what the hub misses.
    pub pushed: bool,
}

impl Pace {
    /// What the first look tells: the times of the items that are there.
    #[must_use]
    pub fn first(published: &[i64], now: i64) -> Pace {
        let moments = moments(published, i64::MIN, now);
        let mut pace = Pace { looked: now, changed: now, changes: 0.0, days: 0.0 };
        if let (Some(oldest), Some(newest)) = (moments.first(), moments.last()) {
            pace.looked = *oldest;
            pace.changed = *newest;
            pace.watch(now);
            // The oldest is where watching began; it says nothing about how often the others come.
            pace.count(moments.get(1..).unwrap_or_default(), now);
        }
        pace
    }

    /// A look found new items, published then; items without a time may be left out.
    pub fn found(&mut self, published: &[i64], now: i64) {
        let mut moments = moments(published, self.looked, now);
        if moments.is_empty() {
            moments.push(now);
        }
        self.watch(now);
        self.count(&moments, now);
        self.changed = moments.last().copied().unwrap_or(now).max(self.changed);
    }

    /// A look found nothing new.
    pub fn nothing(&mut self, now: i64) {
        self.watch(now);
    }

    /// When to look again. `random` is from 0 to 1.
    #[must_use]
    pub fn next(&self, now: i64, hints: Hints, random: f64) -> i64 {
        let mut wait = self.interval(now);
        if hints.pushed {
            wait = wait.max(PUSHED);
        }
        let told = [hints.fresh_for, hints.every, hints.retry_after].map(at_most_a_day).into_iter().max();
        let jittered = part(wait, 0.9 + 0.2 * random).max(part(told.unwrap_or(0), 1.0 + 0.1 * random));
        now.saturating_add(jittered.min(CEILING))
    }

    /// How long to wait, before chance and hints.
    fn interval(&self, now: i64) -> i64 {
        if self.changes == 0.0 {
            return part(DAY, self.days * UNKNOWN).clamp(UNKNOWN_FLOOR, CEILING);
        }
        let silence = now.saturating_sub(self.changed).max(0);
        let rarity = (BUSY / self.changes_a_day(silence)).max(1.0);
        let wait = part(FLOOR, rarity.powi(STEEPNESS)).min(CEILING);
        // What has just changed may well change again: at first it is looked at as often as its silence doubles.
        wait.min(silence.max(FLOOR))
    }

    fn changes_a_day(&self, silence: i64) -> f64 {
        let seen = (self.changes + GUESSED_CHANGES) / (self.days + GUESSED_DAYS);
        seen.min(MISSED * DAY as f64 / silence.max(1) as f64)
    }

    /// Watches on until now; what was before fades.
    fn watch(&mut self, now: i64) {
        let days = now.saturating_sub(self.looked).max(0) as f64 / DAY as f64;
        let left = (-days / MEMORY).exp();
        self.changes *= left;
        self.days = self.days * left + MEMORY * (1.0 - left);
        self.looked = self.looked.max(now);
    }

    fn count(&mut self, moments: &[i64], now: i64) {
        let faded = |moment: &i64| (-(now.saturating_sub(*moment) as f64) / DAY as f64 / MEMORY).exp();
        self.changes += moments.iter().map(faded).sum::<f64>();
    }
}

/// The moments at which something was published, in order. Times are other people's word: what lies outside of the
/// time that was watched is brought into it.
fn moments(published: &[i64], after: i64, now: i64) -> Vec<i64> {
    let mut times: Vec<i64> =
        published.iter().take(MAX_ITEMS).map(|time| (*time).max(after).min(now)).collect();
    times.sort_unstable();
    let mut moments: Vec<i64> = Vec::new();
    for time in times {
        if moments.last().is_none_or(|last| time.saturating_sub(*last) > TOGETHER) {
            moments.push(time);
        }
    }
    moments
}

impl From<Pace> for (i64, i64, f32, f32) {
    fn from(pace: Pace) -> Self {
        (pace.looked, pace.changed, pace.changes as f32, pace.days as f32)
    }
}

impl From<(i64, i64, f32, f32)> for Pace {
    fn from((looked, changed, changes, days): (i64, i64, f32, f32)) -> Pace {
        Pace { looked, changed, changes: f64::from(changes), days: f64::from(days) }
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;

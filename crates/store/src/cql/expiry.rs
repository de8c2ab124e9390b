//! TTLs of entries, bodies and intents, for a store with a retention.
//!
//! The engine counts a TTL from the time at which its coordinator executes the write. So two writes of the same row
//! may differ by some seconds in their expiry. Of two cells with one timestamp the engines keep the one that expires
//! later, before they compare bytes. This must not decide which of two different values counts:
//!
//! - The bodies of one version are equal, so any of them may win. A deletion wins over both.
//! - The entries of one version may differ in position. They are elements of a set, so the engine keeps both, and
//!   readers choose.
//!
//! States and claims never expire: they contain no text, and a repeated write of an expired activity must find them.

use super::CqlStore;
use crate::jetstream::wall_clock;
use model::Millis;
use std::time::Duration;

/// The longest TTL that the engines accept, in seconds: 20 years.
const MAX_TTL: i64 = 630_720_000;

/// The TTL of an intent, in seconds: that of the table.
pub(super) const INTENT_TTL: i32 = 1_209_600;
/// The shortest TTL of an intent: the sweep finishes unfinished ones much earlier.
const MIN_INTENT_TTL: i32 = 3_600;

impl CqlStore {
    /// The TTL, in seconds, of an activity received at that time. 0 is none. `None`: it is older than the retention
    /// and must not be written.
    pub(super) fn ttl(&self, received: Millis) -> Option<i32> {
        ttl(self.retention, received, wall_clock())
    }

    /// The TTL of the intent of a version, which contains its body.
    pub(super) fn intent_ttl(&self, received: Millis) -> i32 {
        match self.ttl(received) {
            Some(0) => INTENT_TTL,
            Some(ttl) => ttl.clamp(MIN_INTENT_TTL, INTENT_TTL),
            None => MIN_INTENT_TTL,
        }
    }
}

/// Readers hide older activities exactly, so a row may live somewhat longer: whole seconds, rounded up, and one more
/// because the engine rounds its own time down.
fn ttl(retention: Option<Duration>, received: Millis, now: Millis) -> Option<i32> {
    let Some(retention) = retention else { return Some(0) };
    let retention = i64::try_from(retention.as_millis()).unwrap_or(i64::MAX);
    let left = received.0.saturating_add(retention).saturating_sub(now.0);
    let seconds = left.div_euclid(1_000).saturating_add(2).min(MAX_TTL);
    i32::try_from(seconds).ok().filter(|_| left > 0)
}

#[cfg(test)]
mod tests {
    use super::{MAX_TTL, ttl};
    use model::Millis;
    use std::time::Duration;

    #[test]
    fn a_row_lives_until_the_retention_after_its_receipt() {
        let now = Millis(1_790_000_000_000);
        let hour = Some(Duration::from_hours(1));
        let received = |ago: i64| Millis(now.0 - ago);
        assert_eq!(ttl(None, received(1), now), Some(0));
        assert_eq!(ttl(hour, received(0), now), Some(3_602));
        assert_eq!(ttl(hour, received(3_599_999), now), Some(2));
        assert_eq!(ttl(hour, received(3_600_000), now), None);
        assert_eq!(ttl(hour, Millis::MIN, now), None);
        assert_eq!(ttl(Some(Duration::MAX), received(0), now).map(i64::from), Some(MAX_TTL));
    }
}

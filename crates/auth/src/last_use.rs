//! Tracks the last use of credentials, precisely enough to find unused ones, without delaying requests.

use model::Millis;
use moka::sync::Cache;
use std::hash::Hash;
use std::time::Duration;

/// Interval at which the last use is recorded.
pub(super) const RECORD_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// The uses that this process recorded recently.
pub(super) struct LastUse<K>(Cache<K, Millis>);

impl<K: Hash + Eq + Send + Sync + 'static> LastUse<K> {
    pub(super) fn new() -> LastUse<K> {
        LastUse(Cache::builder().max_capacity(100_000).time_to_live(RECORD_INTERVAL).build())
    }

    /// Whether a use at `now` must be recorded, given the stored time. On `true` the caller must record it.
    pub(super) fn is_due(&self, credential: K, stored: Option<Millis>, now: Millis) -> bool {
        let recent = |recorded: Millis| now.0.saturating_sub(recorded.0) < millis(RECORD_INTERVAL);
        if self.0.get(&credential).or(stored).is_some_and(recent) {
            return false;
        }
        self.0.insert(credential, now);
        true
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

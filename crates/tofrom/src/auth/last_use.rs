//! When a credential was last used: good enough to find those that nobody uses any more, and never on a request's way.

use model::Millis;
use moka::sync::Cache;
use std::hash::Hash;
use std::time::Duration;

/// How exact the time of last use is.
pub(super) const NOTED_EVERY: Duration = Duration::from_secs(60 * 60);

/// What this process noted lately.
pub(super) struct LastUse<K>(Cache<K, Millis>);

impl<K: Hash + Eq + Send + Sync + 'static> LastUse<K> {
    pub(super) fn new() -> LastUse<K> {
        LastUse(Cache::builder().max_capacity(100_000).time_to_live(NOTED_EVERY).build())
    }

    /// Whether a use at `now` is to be noted, given what the store says; if so, whoever asks is to note it.
    pub(super) fn is_due(&self, credential: K, stored: Option<Millis>, now: Millis) -> bool {
        let recent = |noted: Millis| now.0.saturating_sub(noted.0) < millis(NOTED_EVERY);
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

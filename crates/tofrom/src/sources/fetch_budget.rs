//! Rate limits by key.

use moka::sync::Cache;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The maximum number of keys in memory.
const MAX_KEYS: u64 = 100_000;

/// A limit of actions a minute for each key.
#[derive(Clone)]
pub(super) struct FetchBudget<K: Hash + Eq + Send + Sync + 'static> {
    limit: u32,
    counts: Cache<K, Arc<AtomicU32>>,
}

impl<K: Hash + Eq + Send + Sync + 'static> FetchBudget<K> {
    pub(super) fn new(limit: u32) -> FetchBudget<K> {
        let counts = Cache::builder().max_capacity(MAX_KEYS).time_to_live(Duration::from_secs(60)).build();
        FetchBudget { limit, counts }
    }

    /// Counts an action. `false` if it exceeds the limit.
    pub(super) fn try_spend(&self, key: K) -> bool {
        let count = self.counts.get_with(key, || Arc::new(AtomicU32::new(0)));
        count.fetch_add(1, Ordering::Relaxed) < self.limit
    }
}

//! How often somebody may have the service do something.

use moka::sync::Cache;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How many are remembered.
const REMEMBERED: u64 = 100_000;

/// So many times a minute each.
#[derive(Clone)]
pub(super) struct FetchBudget<K: Hash + Eq + Send + Sync + 'static> {
    most: u32,
    counted: Cache<K, Arc<AtomicU32>>,
}

impl<K: Hash + Eq + Send + Sync + 'static> FetchBudget<K> {
    pub(super) fn new(most: u32) -> FetchBudget<K> {
        let counted = Cache::builder().max_capacity(REMEMBERED).time_to_live(Duration::from_secs(60)).build();
        FetchBudget { most, counted }
    }

    /// Whether it may be done once more.
    pub(super) fn once_more(&self, who: K) -> bool {
        let count = self.counted.get_with(who, || Arc::new(AtomicU32::new(0)));
        count.fetch_add(1, Ordering::Relaxed) < self.most
    }
}

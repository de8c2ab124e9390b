//! Caches the newest entries of pulled actors for a short time, because many followers read them concurrently.
//!
//! A cached head has a floor: it contains all arrivals up to there. A page that shows it carries a sync token with that
//! floor, so that the next poll reports later arrivals.

use model::{Entry, Filter, Order, Position, Uid};
use moka::sync::Cache;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use store::{Result, Slice, Store};

/// Maximum number of cached heads.
const CAPACITY: u64 = 10_000;

/// The cache. `None` inside: caching is off.
pub struct HeadCache(Option<Cache<(Uid, Order), Arc<Head>>>);

/// The newest entries of one actor.
pub(super) struct Head {
    /// All arrivals up to this position are in `rows`.
    pub(super) floor: Position,
    pub(super) rows: Vec<Entry>,
}

impl HeadCache {
    /// Entries cached per actor.
    pub(super) const ROWS: usize = 21;

    /// A cache with that TTL; zero turns caching off.
    pub(super) fn new(ttl: Duration) -> HeadCache {
        let cache = || Cache::builder().max_capacity(CAPACITY).time_to_live(ttl).build();
        HeadCache((!ttl.is_zero()).then(cache))
    }

    /// Invalidates the heads of these actors, after an arrival.
    pub fn forget(&self, uids: &[Uid]) {
        let Some(cache) = &self.0 else { return };
        for uid in uids {
            for order in [Order::Received, Order::Published] {
                cache.invalidate(&(*uid, order));
            }
        }
    }

    /// The heads of these actors. The caller must have read `floor` before.
    pub(super) async fn of(
        &self,
        store: &dyn Store,
        uids: &[Uid],
        order: Order,
        floor: Position,
    ) -> Result<HashMap<Uid, Arc<Head>>> {
        let cached = |uid: &Uid| Some((*uid, self.0.as_ref()?.get(&(*uid, order))?));
        let mut found: HashMap<Uid, Arc<Head>> = uids.iter().filter_map(cached).collect();
        let missing: Vec<Uid> = uids.iter().copied().filter(|uid| !found.contains_key(uid)).collect();
        if missing.is_empty() {
            return Ok(found);
        }
        let filter = Filter::default();
        let slice = |owner: &Uid| Slice::own(*owner, order, &filter, None, HeadCache::ROWS);
        let slices: Vec<_> = missing.iter().map(slice).collect();
        for (uid, rows) in missing.into_iter().zip(store.slices(&slices).await?) {
            let head = Arc::new(Head { floor, rows });
            if let Some(cache) = &self.0 {
                cache.insert((uid, order), Arc::clone(&head));
            }
            found.insert(uid, head);
        }
        Ok(found)
    }
}

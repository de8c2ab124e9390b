//! The newest of what very-followed accounts did, remembered for moments: many who pull from them read at the same time.
//!
//! What is remembered has a floor: everything that had arrived up to there is in it. Whoever shows it sync_tokens what was shown
//! by that floor, so that what came since is told by the next poll.

use model::{Entry, Filter, Order, Position, Uid};
use moka::sync::Cache;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use store::{Result, Slice, Store};

/// How many accounts are remembered.
const REMEMBERED: u64 = 10_000;

/// What is remembered.
pub struct HeadCache(Option<Cache<(Uid, Order), Arc<Head>>>);

/// The newest of what an account did.
pub(super) struct Head {
    /// Everything that had arrived up to there is in it.
    pub(super) floor: Position,
    pub(super) rows: Vec<Entry>,
}

impl HeadCache {
    /// How many of the newest are remembered of each.
    pub(super) const ROWS: usize = 21;

    /// Remembers for so long; for no time, nothing.
    pub(super) fn new(kept: Duration) -> HeadCache {
        let cache = || Cache::builder().max_capacity(REMEMBERED).time_to_live(kept).build();
        HeadCache((!kept.is_zero()).then(cache))
    }

    /// Something came to these accounts: what is remembered of them does not count any more.
    pub fn forget(&self, uids: &[Uid]) {
        let Some(cache) = &self.0 else { return };
        for uid in uids {
            for order in [Order::Received, Order::Published] {
                cache.invalidate(&(*uid, order));
            }
        }
    }

    /// The newest of what these did; `floor` was taken before.
    pub(super) async fn of(
        &self,
        store: &dyn Store,
        uids: &[Uid],
        order: Order,
        floor: Position,
    ) -> Result<HashMap<Uid, Arc<Head>>> {
        let known = |uid: &Uid| Some((*uid, self.0.as_ref()?.get(&(*uid, order))?));
        let mut found: HashMap<Uid, Arc<Head>> = uids.iter().filter_map(known).collect();
        let unknown: Vec<Uid> = uids.iter().copied().filter(|uid| !found.contains_key(uid)).collect();
        if unknown.is_empty() {
            return Ok(found);
        }
        let filter = Filter::default();
        let slice = |owner: &Uid| Slice::own(*owner, order, &filter, None, HeadCache::ROWS);
        let slices: Vec<_> = unknown.iter().map(slice).collect();
        for (uid, rows) in unknown.into_iter().zip(store.slices(&slices).await?) {
            let head = Arc::new(Head { floor, rows });
            if let Some(cache) = &self.0 {
                cache.insert((uid, order), Arc::clone(&head));
            }
            found.insert(uid, head);
        }
        Ok(found)
    }
}

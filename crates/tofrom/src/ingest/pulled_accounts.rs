//! Which accounts are in pull mode. Their activities are marked when they are accepted.

use model::{FanoutStage, Uid};
use moka::sync::Cache;
use std::sync::Arc;
use std::time::Duration;
use store::{Result, Store};

/// The maximum number of cached accounts.
const MAX_CACHED: u64 = 100_000;

/// A cache of the accounts in pull mode. It may be stale: while an account changes its mode, its followers are prepared
/// for both.
#[derive(Clone, Default)]
pub(super) struct PulledAccounts(Option<Arc<Cache<Uid, bool>>>);

impl PulledAccounts {
    /// Caches for this long.
    pub(super) fn cached_for(ttl: Duration) -> PulledAccounts {
        let cache = Cache::builder().max_capacity(MAX_CACHED).time_to_live(ttl).build();
        PulledAccounts(Some(Arc::new(cache)))
    }

    /// Whether the account is in pull mode.
    pub(super) async fn is_pulled(&self, store: &dyn Store, uid: Uid) -> Result<bool> {
        if let Some(known) = self.0.as_ref().and_then(|cache| cache.get(&uid)) {
            return Ok(known);
        }
        let pulled = store.fanout_states(&[uid]).await?.iter().any(|state| state.stage == FanoutStage::Pull);
        if let Some(cache) = &self.0 {
            cache.insert(uid, pulled);
        }
        Ok(pulled)
    }
}

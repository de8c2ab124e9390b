//! Which accounts are pulled: what they do is marked so when it is taken in.

use model::{FanoutStage, Uid};
use moka::sync::Cache;
use std::sync::Arc;
use std::time::Duration;
use store::{Result, Store};

/// How many accounts are remembered.
const REMEMBERED: u64 = 100_000;

/// Which accounts are pulled. What is remembered may be old: followers of who is about to change over are prepared for
/// both.
#[derive(Clone, Default)]
pub(super) struct PulledAccounts(Option<Arc<Cache<Uid, bool>>>);

impl PulledAccounts {
    /// Remembers for so long.
    pub(super) fn remembered(kept: Duration) -> PulledAccounts {
        let cache = Cache::builder().max_capacity(REMEMBERED).time_to_live(kept).build();
        PulledAccounts(Some(Arc::new(cache)))
    }

    /// Whether what the account does is pulled.
    pub(super) async fn is_pulled(&self, store: &dyn Store, uid: Uid) -> Result<bool> {
        if let Some(known) = self.0.as_ref().and_then(|cache| cache.get(&uid)) {
            return Ok(known);
        }
        let pulled = store.fanout_states(&[uid]).await?.iter().any(|one| one.stage == FanoutStage::Pull);
        if let Some(cache) = &self.0 {
            cache.insert(uid, pulled);
        }
        Ok(pulled)
    }
}

//! Leases of shards. A process does the work of the shards that it has a lease of, so each shard is done by one process
//! only. An overloaded process releases a shard, so that another can take it.

use model::{Clock, Millis};
use std::collections::HashMap;
use std::sync::Arc;
use store::{Result, SHARDS, Store};

/// The duration of a lease in milliseconds, and the remaining time at which it is renewed.
const LEASE: i64 = 60_000;
const RENEW_WITHIN: i64 = 30_000;

/// The leased shards of one kind of work.
pub(crate) struct ShardLeases {
    store: Arc<dyn Store>,
    clock: Clock,
    /// The kind of work, as in the names of the leases.
    work: &'static str,
    /// The name that owns the leases of this process.
    holder: String,
    /// The leased shards, each with the end of its lease.
    until: HashMap<u16, Millis>,
}

impl ShardLeases {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: Clock,
        work: &'static str,
        holder: String,
    ) -> ShardLeases {
        ShardLeases { store, clock, work, holder, until: HashMap::new() }
    }

    /// The shards whose leases this process has now.
    pub(crate) fn held(&self) -> Vec<u16> {
        let now = self.clock.now();
        self.until.iter().filter(|(_, until)| **until > now).map(|(shard, _)| *shard).collect()
    }

    /// Renews leases that end soon, and takes free ones.
    pub(crate) async fn acquire(&mut self) -> Result<()> {
        let now = self.clock.now();
        self.until.retain(|_, until| *until > now);
        let shards: Vec<u16> = (0..SHARDS)
            .filter(|shard| self.until.get(shard).is_none_or(|until| until.0 - now.0 < RENEW_WITHIN))
            .collect();
        let until = Millis(now.0 + LEASE);
        for shard in shards {
            if self.store.lease(&self.name(shard), &self.holder, now, until).await? {
                self.until.insert(shard, until);
            } else {
                self.until.remove(&shard);
            }
        }
        Ok(())
    }

    /// Releases a shard, so that a process with less load can take it.
    pub(crate) async fn release_one(&mut self) {
        let Some(shard) = self.until.keys().copied().min_by_key(|shard| shard.wrapping_mul(40_503)) else {
            return;
        };
        self.until.remove(&shard);
        if let Err(error) = self.store.release(&self.name(shard), &self.holder).await {
            tracing::debug!(%error, work = self.work, shard, "releasing a lease failed");
        }
    }

    /// Releases all shards, on a clean stop.
    pub(crate) async fn release_all(&mut self) {
        for shard in std::mem::take(&mut self.until).into_keys() {
            let _ = self.store.release(&self.name(shard), &self.holder).await;
        }
    }

    fn name(&self, shard: u16) -> String {
        format!("{}/{shard}", self.work)
    }
}

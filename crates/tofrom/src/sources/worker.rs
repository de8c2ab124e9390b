//! Looks at sources whenever their time has come.
//!
//! Sources are dealt to shards by their hosts. A process looks at those of the shards that it has a lease of, so that
//! nobody else asks the same hosts. One that has more to do than it can gives a shard back: somebody else takes it, if
//! there is anybody.

use super::source::Source;
use super::{PollOutcome, Sources};
use futures::{StreamExt, TryStreamExt, stream};
use metrics::{counter, gauge};
use model::{Millis, SourceId};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use store::{Result, SHARDS};
use tokio::task::{self, JoinSet};

/// Counter: looks at sources, by what they came to (`found`, `nothing`, `failed`).
pub const LOOKS: &str = "tofrom_source_looks_total";
/// Gauge: hosts that are being asked by this process.
pub const HOSTS: &str = "tofrom_source_hosts";

/// How often it is outcome whose time has come.
const EVERY: Duration = Duration::from_secs(5);
/// How long somebody who wants a look at once waits for others who do.
const TOGETHER: Duration = Duration::from_millis(500);
/// How long a lease holds, and how much of it is left at least when it is prolonged.
const LEASE: i64 = 60_000;
const PROLONGED_WITH: i64 = 30_000;
/// How many hosts are asked at once.
const HOSTS_AT_ONCE: usize = 64;
/// How many sources of a shard are taken on at once.
const DUE_BATCH: usize = 200;
/// How many of them are read at once.
const SOURCES_AT_ONCE: usize = 16;
/// How many shards are outcome through at once.
const SHARDS_AT_ONCE: usize = 8;

/// Looks at sources until `shutdown` comes. To stop in the middle of a look does no harm: it is done again. `holder` has
/// the leases: who comes back under the same name need not wait until they end.
pub async fn run(sources: Sources, holder: String, shutdown: impl Future<Output = ()>) {
    let due_now = Arc::clone(&sources.due_now);
    let mut worker =
        Worker { sources, holder, leases: HashMap::new(), busy: HashMap::new(), tasks: JoinSet::new() };
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            _ = ticks.tick() => worker.pass().await,
            () = due_now.notified() => {
                tokio::time::sleep(TOGETHER).await;
                worker.pass().await;
            }
            Some(done) = worker.tasks.join_next_with_id() => {
                // Also where the task panicked: its host is asked again.
                let task = done.map_or_else(|error| error.id(), |(task, ())| task);
                worker.busy.retain(|_, busy| *busy != task);
            }
        }
    }
    worker.tasks.abort_all();
    worker.give_back().await;
}

struct Worker {
    sources: Sources,
    /// By which leases tell this process from others.
    holder: String,
    /// Which shards it has, and until when.
    leases: HashMap<u16, Millis>,
    /// Hosts that are being asked, each by a task.
    busy: HashMap<String, task::Id>,
    tasks: JoinSet<()>,
}

impl Worker {
    /// Takes on whatever has come due.
    async fn pass(&mut self) {
        if let Err(error) = self.take_leases().await {
            tracing::warn!(%error, "could not take on sources; tried again soon");
        }
        let now = self.sources.clock.now();
        let shards: Vec<u16> =
            self.leases.iter().filter(|(_, until)| **until > now).map(|(shard, _)| *shard).collect();
        let due: Vec<_> = stream::iter(shards)
            .map(|shard| due(self.sources.clone(), shard, now))
            .buffer_unordered(SHARDS_AT_ONCE)
            .collect()
            .await;
        let mut by_host: HashMap<String, Vec<SourceId>> = HashMap::new();
        for (host, id) in due.into_iter().flatten() {
            by_host.entry(host).or_default().push(id);
        }
        let mut left = 0;
        for (host, ids) in by_host {
            if self.busy.contains_key(&host) {
                continue;
            }
            if self.tasks.len() >= HOSTS_AT_ONCE {
                left += 1;
                continue;
            }
            let task = self.tasks.spawn(look_at_all(self.sources.clone(), ids));
            self.busy.insert(host, task.id());
        }
        gauge!(HOSTS).set(self.tasks.len() as f64);
        if left > 0 {
            self.give_one_back().await;
        }
    }

    /// Prolongs the leases that end soon, and takes those that are free.
    async fn take_leases(&mut self) -> Result<()> {
        let now = self.sources.clock.now();
        self.leases.retain(|_, until| *until > now);
        let wanted: Vec<u16> = (0..SHARDS)
            .filter(|shard| self.leases.get(shard).is_none_or(|until| until.0 - now.0 < PROLONGED_WITH))
            .collect();
        let until = Millis(now.0 + LEASE);
        for shard in wanted {
            if self.sources.store.lease(&name_of(shard), &self.holder, now, until).await? {
                self.leases.insert(shard, until);
            } else {
                self.leases.remove(&shard);
            }
        }
        Ok(())
    }

    /// Gives back a shard, so that somebody with less to do can take it.
    async fn give_one_back(&mut self) {
        let Some(shard) = self.leases.keys().copied().min_by_key(|shard| shard.wrapping_mul(40_503)) else {
            return;
        };
        self.leases.remove(&shard);
        if let Err(error) = self.sources.store.release(&name_of(shard), &self.holder).await {
            tracing::debug!(%error, "a lease ends by itself then");
        }
    }

    async fn give_back(&mut self) {
        for shard in std::mem::take(&mut self.leases).into_keys() {
            let _ = self.sources.store.release(&name_of(shard), &self.holder).await;
        }
    }
}

fn name_of(shard: u16) -> String {
    format!("sources/{shard}")
}

/// The sources of a shard whose time has come, each with its host.
async fn due(sources: Sources, shard: u16, now: Millis) -> Vec<(String, SourceId)> {
    let found = async {
        let ids = sources.store.due_sources(shard, now, DUE_BATCH).await?;
        let look_ups: Vec<_> = ids.into_iter().map(|id| sources.store.source(id)).collect();
        let stored: Vec<_> = stream::iter(look_ups).buffered(SOURCES_AT_ONCE).try_collect().await?;
        let mut found = Vec::new();
        for source in stored.into_iter().flatten().map(Source::read) {
            let source = source?;
            if source.due.is_some_and(|due| due <= now) {
                found.push((source.host().to_owned(), source.id));
            }
        }
        Ok::<_, store::StoreError>(found)
    };
    found.await.unwrap_or_else(|error| {
        tracing::warn!(%error, shard, "could not find out which sources are due");
        Vec::new()
    })
}

/// Looks at sources of one host, one after the other.
async fn look_at_all(sources: Sources, ids: Vec<SourceId>) {
    for id in ids {
        let outcome = match sources.poll(id, false).await {
            Ok(PollOutcome::NotDue | PollOutcome::Unwanted) => continue,
            Ok(PollOutcome::Found(0)) => "nothing",
            Ok(PollOutcome::Found(_)) => "found",
            Ok(PollOutcome::Failed(_)) => "failed",
            Err(error) => {
                tracing::warn!(%error, source = %id, "a look at a source failed; it is done again");
                "failed"
            }
        };
        counter!(LOOKS, "outcome" => outcome).increment(1);
    }
}

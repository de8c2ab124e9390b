//! Polls sources when they are due.
//!
//! Sources are assigned to shards by host. A process polls the sources of the shards that it has a lease of, so each host
//! is polled by one process only. An overloaded process releases a shard, so that another can take it.

use super::source::Source;
use super::{PollOutcome, Sources};
use crate::shard_leases::ShardLeases;
use futures::{StreamExt, TryStreamExt, stream};
use metrics::{counter, describe_counter, describe_gauge, gauge};
use model::{Millis, SourceId};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{self, JoinSet};

/// Counter: polls of sources, by outcome (`found`, `nothing`, `failed`).
const POLLS: &str = "tofrom_source_polls_total";
/// Gauge: hosts that this process is polling.
const HOSTS: &str = "tofrom_source_hosts";

/// Describes the metrics to the recorder of the process.
pub fn describe_metrics() {
    describe_counter!(POLLS, "Polls of sources, by outcome.");
    describe_gauge!(HOSTS, "Hosts that this process is polling.");
}

/// The interval of checks for due sources.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// How long a wake-up waits for further ones, to handle them together.
const WAKE_DELAY: Duration = Duration::from_millis(500);
/// The maximum number of hosts polled concurrently.
const HOST_CONCURRENCY: usize = 64;
/// The maximum number of due sources read for a shard in one pass.
const DUE_BATCH: usize = 200;
/// The number of sources read concurrently.
const SOURCE_CONCURRENCY: usize = 16;
/// The number of shards read concurrently.
const SHARD_CONCURRENCY: usize = 8;

/// Polls sources until `shutdown`. An aborted poll does no harm: it is repeated. `holder` owns the leases: a process that
/// restarts under the same name need not wait until they end.
pub async fn run(sources: Sources, holder: String, shutdown: impl Future<Output = ()>) {
    let due_now = Arc::clone(&sources.due_now);
    let leases = ShardLeases::new(Arc::clone(&sources.store), sources.clock.clone(), "sources", holder);
    let mut worker = Worker { sources, leases, busy: HashMap::new(), tasks: JoinSet::new() };
    let mut ticks = tokio::time::interval(CHECK_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            _ = ticks.tick() => worker.pass().await,
            () = due_now.notified() => {
                tokio::time::sleep(WAKE_DELAY).await;
                worker.pass().await;
            }
            Some(done) = worker.tasks.join_next_with_id() => {
                // If the task panicked, its host is free again too.
                let task = done.map_or_else(|error| error.id(), |(task, ())| task);
                worker.busy.retain(|_, busy| *busy != task);
            }
        }
    }
    worker.tasks.abort_all();
    worker.leases.release_all().await;
}

struct Worker {
    sources: Sources,
    leases: ShardLeases,
    /// Hosts that are being polled, each by a task.
    busy: HashMap<String, task::Id>,
    tasks: JoinSet<()>,
}

impl Worker {
    /// Starts polling all due sources.
    async fn pass(&mut self) {
        if let Err(error) = self.leases.acquire().await {
            tracing::warn!(%error, "taking source leases failed");
        }
        let now = self.sources.clock.now();
        let due: Vec<_> = stream::iter(self.leases.held())
            .map(|shard| due(self.sources.clone(), shard, now))
            .buffer_unordered(SHARD_CONCURRENCY)
            .collect()
            .await;
        let mut by_host: HashMap<String, Vec<SourceId>> = HashMap::new();
        for (host, id) in due.into_iter().flatten() {
            by_host.entry(host).or_default().push(id);
        }
        let mut waiting = 0;
        for (host, ids) in by_host {
            if self.busy.contains_key(&host) {
                continue;
            }
            if self.tasks.len() >= HOST_CONCURRENCY {
                waiting += 1;
                continue;
            }
            let task = self.tasks.spawn(poll_all(self.sources.clone(), ids));
            self.busy.insert(host, task.id());
        }
        gauge!(HOSTS).set(self.tasks.len() as f64);
        if waiting > 0 {
            self.leases.release_one().await;
        }
    }
}

/// The due sources of a shard, each with its host.
async fn due(sources: Sources, shard: u16, now: Millis) -> Vec<(String, SourceId)> {
    let found = async {
        let ids = sources.store.due_sources(shard, now, DUE_BATCH).await?;
        let lookups: Vec<_> = ids.into_iter().map(|id| sources.store.source(id)).collect();
        let stored: Vec<_> = stream::iter(lookups).buffered(SOURCE_CONCURRENCY).try_collect().await?;
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
        tracing::warn!(%error, shard, "reading due sources failed");
        Vec::new()
    })
}

/// Polls the sources of one host, one after the other.
async fn poll_all(sources: Sources, ids: Vec<SourceId>) {
    for id in ids {
        let outcome = match sources.poll(id, false).await {
            Ok(PollOutcome::NotDue | PollOutcome::Unwanted) => continue,
            Ok(PollOutcome::Found(0)) => "nothing",
            Ok(PollOutcome::Found(_)) => "found",
            Ok(PollOutcome::Failed(_)) => "failed",
            Err(error) => {
                tracing::warn!(%error, source = %id, "source poll failed");
                "failed"
            }
        };
        counter!(POLLS, "outcome" => outcome).increment(1);
    }
}

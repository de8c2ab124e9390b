//! Takes tasks from the log, performs them, and acknowledges them.
//!
//! A failed task leaves the log and is retried with exponential backoff, so that it delays only the accounts that it
//! concerns. After the last attempt it becomes a dead letter, which an operator can replay.

use super::{Hub, Rules, task};
use crate::clock::Clock;
use futures::{StreamExt, stream};
use model::Millis;
use store::{Result, Store, Task};

/// Tasks read from the log in one batch.
pub(super) const BATCH: usize = 256;
/// Tasks performed concurrently, so that the store can group their writes. Each task holds a page of followers, so
/// this bounds the memory.
const CONCURRENCY: usize = 32;
/// Attempts before a task becomes a dead letter.
const MAX_ATTEMPTS: u32 = 10;
/// Retry backoff in milliseconds: doubled after each failure, up to the maximum.
const BACKOFF_BASE: i64 = 250;
const MAX_BACKOFF: i64 = 5 * 60 * 1_000;

/// Performs all due tasks. Returns the number of tasks done.
pub async fn deliver_pending(store: &dyn Store, clock: &Clock, rules: &Rules) -> Result<usize> {
    let hub = Hub::default();
    let mut delivered = 0;
    loop {
        let done = deliver_batch(store, clock, &hub, rules).await?.done.len();
        if done == 0 {
            return Ok(delivered);
        }
        delivered += done;
    }
}

/// Outcome of one batch.
pub(super) struct Batch {
    /// Tasks that are done.
    pub(super) done: Vec<Task>,
    /// Number of tasks read from the log.
    pub(super) seen: usize,
}

/// Performs the oldest pending tasks, at most [`BATCH`] of them. Watchers of the collections that they change are
/// woken when the floor has passed the tasks.
pub(super) async fn deliver_batch(
    store: &dyn Store,
    clock: &Clock,
    hub: &Hub,
    rules: &Rules,
) -> Result<Batch> {
    let now = clock.now();
    store.requeue_due(now).await?;
    let tasks = store.pending(BATCH).await?;
    let seen = tasks.len();
    let attempts = tasks.into_iter().map(|task| async move {
        let result = task::perform(store, hub, rules, &task).await;
        (task, result)
    });
    let results: Vec<_> = stream::iter(attempts).buffer_unordered(CONCURRENCY).collect().await;
    let (mut done, mut next, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for (task, result) in results {
        match result {
            Ok(more) => {
                next.extend(more);
                done.push(task);
            }
            Err(error) => failed.push((task, error)),
        }
    }
    let positions: Vec<_> = done.iter().map(|task| task.position).collect();
    if !positions.is_empty() {
        store.acknowledge(&positions, &next).await?;
    }
    for (task, error) in failed {
        reschedule(store, task, &error, now).await?;
    }
    hub.wake(store.floor().await?);
    if let Some(last) = positions.iter().max() {
        hub.broadcast(store, *last).await;
    }
    Ok(Batch { done, seen })
}

async fn reschedule(store: &dyn Store, mut task: Task, error: &store::StoreError, now: Millis) -> Result<()> {
    task.attempts += 1;
    if task.attempts >= MAX_ATTEMPTS {
        tracing::error!(%error, work = ?task.work, attempts = task.attempts, "fan-out task moved to dead letters");
        return store.dead_letter(&task, &error.to_string(), now).await;
    }
    tracing::warn!(%error, work = ?task.work, attempts = task.attempts, "fan-out task failed, retrying");
    let backoff = BACKOFF_BASE.saturating_mul(1 << task.attempts.min(20)).min(MAX_BACKOFF);
    store.retry(&task, Millis(now.0.saturating_add(backoff))).await
}

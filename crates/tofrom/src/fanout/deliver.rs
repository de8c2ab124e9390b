//! Takes tasks from the log, does them, and acknowledges them.
//!
//! A task that fails leaves the log and is tried again later, ever more rarely; nothing waits for it but
//! those whom it concerns. After its last attempt it becomes a dead letter, which an operator can have tried again.

use super::{Hub, Rules, task};
use crate::clock::Clock;
use futures::{StreamExt, stream};
use model::Millis;
use store::{Result, Store, Task};

/// Tasks that are taken at once.
pub(super) const BATCH: usize = 256;
/// Tasks that are worked on at once: the store writes together what comes together. With a page of followers each,
/// this is what bounds the memory.
const CONCURRENCY: usize = 32;
/// How often a task is tried.
const MAX_ATTEMPTS: u32 = 10;
/// How long after the first failure it is tried again; twice as long after each further one.
const FIRST_PAUSE: i64 = 250;
const LONGEST_PAUSE: i64 = 5 * 60 * 1_000;

/// Delivers until nothing is pending that is due; gives back how many tasks that were.
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

/// What came of a look at the log.
pub(super) struct Batch {
    /// Tasks that are done.
    pub(super) done: Vec<Task>,
    /// How many were looked at.
    pub(super) seen: usize,
}

/// Does the oldest pending tasks, at most [`BATCH`] of them. Whoever watches what they touched is told when the floor
/// has passed them.
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
    let tried: Vec<_> = stream::iter(attempts).buffer_unordered(CONCURRENCY).collect().await;
    let (mut done, mut next, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for (task, result) in tried {
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
        hub.tell_others(store, *last).await;
    }
    Ok(Batch { done, seen })
}

async fn reschedule(store: &dyn Store, mut task: Task, error: &store::StoreError, now: Millis) -> Result<()> {
    task.attempts += 1;
    if task.attempts >= MAX_ATTEMPTS {
        tracing::error!(%error, work = ?task.work, attempts = task.attempts, "a delivery was given up");
        return store.dead_letter(&task, &error.to_string(), now).await;
    }
    tracing::warn!(%error, work = ?task.work, attempts = task.attempts, "a delivery failed; it is tried again");
    let pause = FIRST_PAUSE.saturating_mul(1 << task.attempts.min(20)).min(LONGEST_PAUSE);
    store.retry(&task, Millis(now.0.saturating_add(pause))).await
}

//! Takes tasks from the log, runs them, and acknowledges them, until the server shuts down.
//!
//! A failed task leaves the log and is retried with exponential backoff, so that it delays only the accounts that it
//! concerns. After the last attempt it becomes a dead letter, which an operator can replay.

use super::{Hub, Rules, task};
use futures::{StreamExt, stream};
use metrics::{describe_gauge, describe_histogram, gauge, histogram};
use model::{Clock, Millis};
use std::sync::Arc;
use std::time::Duration;
use store::{Result, Store, StoreError, Task, Work};

/// Gauge: pending tasks in the last batch, which has at most 256: a longer backlog shows as 256.
const PENDING: &str = "tofrom_delivery_pending";
/// Histogram: seconds from the acceptance of a version to the end of its fan-out.
pub const SECONDS: &str = "tofrom_delivery_seconds";
/// Gauge: dead letters, counted up to 1,000.
const DEAD_LETTERS: &str = "tofrom_delivery_dead_letters";

/// Poll interval of an empty log: a command may append to it from another process.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Pause after a failed batch.
const FAILURE_PAUSE: Duration = Duration::from_secs(1);
/// Interval of the sweep for pending intents, and delay of the first one.
const SWEEP_INTERVAL: Duration = Duration::from_secs(5);
const FIRST_SWEEP: Duration = Duration::from_secs(1);
/// Tasks read from the log in one batch.
const BATCH: usize = 256;
/// Tasks performed concurrently, so that the store can group their writes. Each task holds a page of followers, so
/// this bounds the memory.
const CONCURRENCY: usize = 32;
/// Attempts before a task becomes a dead letter.
const MAX_ATTEMPTS: u32 = 10;
/// Retry backoff in milliseconds: doubled after each failure, up to the maximum.
const BACKOFF_BASE: i64 = 250;
const MAX_BACKOFF: i64 = 5 * 60 * 1_000;

/// Describes the metrics to the recorder of the process.
pub fn describe_metrics() {
    describe_gauge!(PENDING, "Pending fan-out tasks in the last batch, at most 256.");
    describe_histogram!(SECONDS, "Seconds from the acceptance of an activity to the end of its fan-out.");
    describe_gauge!(DEAD_LETTERS, "Dead letters, counted up to 1,000.");
}

/// Performs tasks until `shutdown` completes. Stopping in the middle of a task is safe: the next start repeats it.
pub async fn run(
    store: Arc<dyn Store>,
    clock: Clock,
    hub: Arc<Hub>,
    rules: Rules,
    shutdown: impl Future<Output = ()>,
) {
    tokio::select! {
        () = shutdown => {}
        () = deliver_forever(store.as_ref(), &clock, &hub, &rules) => {}
        () = sweep_forever(store.as_ref(), &clock) => {}
    }
}

async fn deliver_forever(store: &dyn Store, clock: &Clock, hub: &Hub, rules: &Rules) {
    loop {
        match deliver_batch(store, clock, hub, rules).await {
            Ok(batch) => {
                measure(&batch.done, clock);
                gauge!(PENDING).set(if batch.seen < BATCH { 0.0 } else { batch.seen as f64 });
                if batch.done.is_empty() || batch.seen < BATCH {
                    hub.written(POLL_INTERVAL).await;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "fan-out batch failed");
                tokio::time::sleep(FAILURE_PAUSE).await;
            }
        }
    }
}

/// Appends tasks that are missing from the log, and counts the dead letters.
async fn sweep_forever(store: &dyn Store, clock: &Clock) {
    // Soon after the start, in case the log lost tasks meanwhile.
    tokio::time::sleep(FIRST_SWEEP).await;
    loop {
        if let Err(error) = store.sweep(clock.now()).await {
            tracing::warn!(%error, "sweep of pending intents failed");
        }
        if let Ok(letters) = store.dead_letters(None, 1_000).await {
            gauge!(DEAD_LETTERS).set(letters.len() as f64);
        }
        tokio::time::sleep(SWEEP_INTERVAL).await;
    }
}

fn measure(tasks: &[Task], clock: &Clock) {
    let now = clock.now();
    for task in tasks {
        if let Work::Version { version, .. } | Work::Followers { version, .. } = &task.work {
            // A version number is close to the time of acceptance, which is exact enough here.
            histogram!(SECONDS).record((now.0 - version.0).max(0) as f64 / 1_000.0);
        }
    }
}

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
struct Batch {
    /// Tasks that are done.
    done: Vec<Task>,
    /// Number of tasks read from the log.
    seen: usize,
}

/// Performs the oldest pending tasks, at most [`BATCH`] of them. Watchers of the collections that they change are
/// woken when the floor has passed the tasks.
async fn deliver_batch(store: &dyn Store, clock: &Clock, hub: &Hub, rules: &Rules) -> Result<Batch> {
    let now = clock.now();
    store.requeue_due(now).await?;
    let tasks = store.pending(BATCH).await?;
    let seen = tasks.len();
    let attempts = tasks.into_iter().map(|task| async move {
        let result = task::run(store, hub, rules, &task).await;
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

async fn reschedule(store: &dyn Store, mut task: Task, error: &StoreError, now: Millis) -> Result<()> {
    task.attempts += 1;
    if task.attempts >= MAX_ATTEMPTS {
        tracing::error!(%error, work = ?task.work, attempts = task.attempts, "fan-out task moved to dead letters");
        return store.dead_letter(&task, &error.to_string(), now).await;
    }
    tracing::warn!(%error, work = ?task.work, attempts = task.attempts, "fan-out task failed, retrying");
    let backoff = BACKOFF_BASE.saturating_mul(1 << task.attempts.min(20)).min(MAX_BACKOFF);
    store.retry(&task, Millis(now.0.saturating_add(backoff))).await
}

//! Runs fan-out until the server shuts down.

use super::deliver::{BATCH, deliver_batch};
use super::{Hub, Rules};
use crate::clock::Clock;
use metrics::{gauge, histogram};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{Store, Task, Work};

/// Gauge: pending tasks in the last batch, which has at most 256: a longer backlog shows as 256.
pub const PENDING: &str = "tofrom_delivery_pending";
/// Histogram: seconds from the acceptance of a version to the end of its fan-out.
pub const SECONDS: &str = "tofrom_delivery_seconds";
/// Gauge: dead letters, counted up to 1,000.
pub const DEAD_LETTERS: &str = "tofrom_delivery_dead_letters";

/// Poll interval of an empty log: a command may append to it from another process.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Pause after a failed batch.
const FAILURE_PAUSE: Duration = Duration::from_secs(1);
/// Interval of the sweep for pending intents, and delay of the first one.
const SWEEP_INTERVAL: Duration = Duration::from_secs(5);
const FIRST_SWEEP: Duration = Duration::from_secs(1);
/// Batches between two counts of the dead letters.
const BATCHES_PER_COUNT: u32 = 50;

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
        () = deliver_forever(store, clock, hub, rules) => {}
    }
}

async fn deliver_forever(store: Arc<dyn Store>, clock: Clock, hub: Arc<Hub>, rules: Rules) {
    let mut batches = 0_u32;
    // The first sweep runs soon after the start, in case the log lost tasks meanwhile.
    let mut swept = Instant::now() - SWEEP_INTERVAL + FIRST_SWEEP;
    loop {
        match deliver_batch(store.as_ref(), &clock, &hub, &rules).await {
            Ok(batch) => {
                measure(&batch.done, &clock);
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
        if swept.elapsed() >= SWEEP_INTERVAL {
            swept = Instant::now();
            if let Err(error) = store.sweep(clock.now()).await {
                tracing::warn!(%error, "sweep of pending intents failed");
            }
        }
        if batches.is_multiple_of(BATCHES_PER_COUNT)
            && let Ok(letters) = store.dead_letters(None, 1_000).await
        {
            gauge!(DEAD_LETTERS).set(letters.len() as f64);
        }
        batches = batches.wrapping_add(1);
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

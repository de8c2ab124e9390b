//! Delivers as long as the service runs.

use super::deliver::{BATCH, deliver_batch};
use super::{Hub, Rules};
use crate::clock::Clock;
use metrics::{gauge, histogram};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{Store, Task, Work};

/// Gauge: how many tasks wait, as far as the worker saw at its last look (it takes 256 at once; a larger number of
/// waiting ones shows as that).
pub const PENDING: &str = "tofrom_delivery_pending";
/// Histogram: seconds from the acceptance of a version to the end of its delivery.
pub const SECONDS: &str = "tofrom_delivery_seconds";
/// Gauge: how many deliveries were given up and wait for an operator (up to 1,000 are counted).
pub const DEAD_LETTERS: &str = "tofrom_delivery_dead_letters";

/// Between two looks at an empty log: a command may write to it from another process.
const IDLE: Duration = Duration::from_millis(200);
/// After a failure.
const RECOVERY: Duration = Duration::from_secs(1);
/// How often it is looked whether the log lost something, and when first.
const SWEPT_EVERY: Duration = Duration::from_secs(5);
const FIRST_SWEEP: Duration = Duration::from_secs(1);
/// How often dead letters are counted.
const COUNTED_EVERY: u32 = 50;

/// Delivers what is accepted until `shutdown` comes. To stop in the middle of a delivery does no harm: it is done
/// again at the next start.
pub async fn run(
    store: Arc<dyn Store>,
    clock: Clock,
    hub: Arc<Hub>,
    rules: Rules,
    shutdown: impl Future<Output = ()>,
) {
    tokio::select! {
        () = shutdown => {}
        () = deliver_for_ever(store, clock, hub, rules) => {}
    }
}

async fn deliver_for_ever(store: Arc<dyn Store>, clock: Clock, hub: Arc<Hub>, rules: Rules) {
    let mut looks = 0_u32;
    // Soon after the start, in case the log was lost meanwhile.
    let mut swept = Instant::now() - SWEPT_EVERY + FIRST_SWEEP;
    loop {
        match deliver_batch(store.as_ref(), &clock, &hub, &rules).await {
            Ok(batch) => {
                measure(&batch.done, &clock);
                gauge!(PENDING).set(if batch.seen < BATCH { 0.0 } else { batch.seen as f64 });
                if batch.done.is_empty() || batch.seen < BATCH {
                    hub.written(IDLE).await;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "deliveries failed; they are tried again");
                tokio::time::sleep(RECOVERY).await;
            }
        }
        if swept.elapsed() >= SWEPT_EVERY {
            swept = Instant::now();
            if let Err(error) = store.sweep(clock.now()).await {
                tracing::warn!(%error, "what the log lost could not be looked for; that is done later");
            }
        }
        if looks.is_multiple_of(COUNTED_EVERY)
            && let Ok(letters) = store.dead_letters(None, 1_000).await
        {
            gauge!(DEAD_LETTERS).set(letters.len() as f64);
        }
        looks = looks.wrapping_add(1);
    }
}

fn measure(tasks: &[Task], clock: &Clock) {
    let now = clock.now();
    for task in tasks {
        if let Work::Version { version, .. } | Work::Followers { version, .. } = &task.work {
            // A version is about the time of its acceptance; good enough to measure by.
            histogram!(SECONDS).record((now.0 - version.0).max(0) as f64 / 1_000.0);
        }
    }
}

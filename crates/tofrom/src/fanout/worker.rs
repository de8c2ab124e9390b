//! Delivers as long as the service runs.

use super::deliver::{BATCH, deliver_batch};
use crate::clock::Clock;
use metrics::{gauge, histogram};
use std::sync::Arc;
use std::time::Duration;
use store::{Store, Task};

/// Gauge: how many accepted versions wait for their delivery, as far as the worker saw at its last look (it takes 256
/// at once; a larger number of waiting ones shows as that).
pub const PENDING: &str = "tofrom_delivery_pending";
/// Histogram: seconds from the acceptance of a version to the end of its delivery.
pub const SECONDS: &str = "tofrom_delivery_seconds";

/// Between two looks at an empty log: a command may write to it from another process.
const IDLE: Duration = Duration::from_millis(200);
/// After a failure.
const RECOVERY: Duration = Duration::from_secs(1);

/// Delivers what is accepted until `shutdown` comes. To stop in the middle of a delivery does no harm: it is done
/// again at the next start.
pub async fn run(store: Arc<dyn Store>, clock: Clock, shutdown: impl Future<Output = ()>) {
    tokio::select! {
        () = shutdown => {}
        () = deliver_for_ever(store, clock) => {}
    }
}

async fn deliver_for_ever(store: Arc<dyn Store>, clock: Clock) {
    loop {
        match deliver_batch(store.as_ref()).await {
            Ok(tasks) => {
                measure(&tasks, &clock);
                if tasks.len() < BATCH {
                    tokio::time::sleep(IDLE).await;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a delivery failed; it is tried again");
                tokio::time::sleep(RECOVERY).await;
            }
        }
    }
}

fn measure(tasks: &[Task], clock: &Clock) {
    gauge!(PENDING).set(if tasks.len() < BATCH { 0.0 } else { tasks.len() as f64 });
    let now = clock.now();
    for task in tasks {
        // A version is about the time of its acceptance; good enough to measure by.
        histogram!(SECONDS).record((now.0 - task.version.0).max(0) as f64 / 1_000.0);
    }
}

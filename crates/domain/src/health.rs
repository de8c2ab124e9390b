//! The health of store and delivery log.

use metrics::{describe_gauge, gauge};
use model::{Clock, Position};
use std::time::Duration;
use store::Store;
use tokio::time::timeout;

/// Timeout of the store's health check.
pub const TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of pending tasks that are counted.
pub const MAX_COUNTED: usize = 1_000;
/// The server is not ready while the oldest pending task is older than this: fan-out does not keep up, or has stopped.
const MAX_LAG: Duration = Duration::from_secs(60);

/// The floor of the delivery log.
const LOG_FLOOR: &str = "tofrom_log_floor_position";
/// Pending tasks of the delivery log, counted up to 1,000.
const LOG_PENDING: &str = "tofrom_log_pending_tasks";
/// Age of the oldest pending task.
const LOG_LAG: &str = "tofrom_log_lag_seconds";

/// Describes the gauges of the delivery log to the recorder of the process.
pub fn describe_metrics() {
    describe_gauge!(LOG_FLOOR, "Floor of the delivery log: everything up to this position is delivered.");
    describe_gauge!(
        LOG_PENDING,
        "Pending tasks of the delivery log, on a cluster messages with up to 64 tasks, counted up to 1,000."
    );
    describe_gauge!(LOG_LAG, "Age of the oldest pending task of the delivery log, in seconds.");
}

/// The health of store and delivery log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// The store does not respond, for this reason.
    Broken(String),
    /// The store responds, but acknowledged writes might be lost, for this reason.
    Doubtful(String),
    /// The store responds.
    Answers {
        /// Everything up to this position is delivered.
        floor: u64,
        /// Number of pending tasks, counted up to 1,000.
        pending: usize,
        /// Age of the oldest pending task.
        lag: Duration,
    },
    /// The store responds, but the delivery log does not, for this reason: reads work, writes and deliveries do not.
    Degraded(String),
}

impl Health {
    /// Checks the store.
    pub async fn of(store: &dyn Store, clock: &Clock) -> Health {
        let check = timeout(TIMEOUT, async {
            store.ping().await?;
            store.floor().await
        });
        let no_answer = || format!("no answer within {} s", TIMEOUT.as_secs());
        let floor = match check.await {
            Ok(Ok(floor)) => floor,
            Ok(Err(error)) => return Health::Broken(error.to_string()),
            Err(_) => return Health::Broken(no_answer()),
        };
        let backlog = match timeout(TIMEOUT, store.backlog(MAX_COUNTED)).await {
            Ok(Ok(backlog)) => backlog,
            Ok(Err(error)) => return Health::Degraded(error.to_string()),
            Err(_) => return Health::Degraded(no_answer()),
        };
        let oldest = backlog.oldest.map_or(0, |since| clock.now().0.saturating_sub(since.0));
        let lag = Duration::from_millis(u64::try_from(oldest).unwrap_or(0));
        record(floor, backlog.tasks, lag);
        Health::Answers { floor: floor.0, pending: backlog.tasks, lag }
    }

    /// Why the server is not ready. `None` if it is.
    pub fn unready_reason(&self) -> Option<String> {
        match self {
            Health::Broken(why) => Some(format!("the store does not respond: {why}")),
            Health::Doubtful(why) => Some(format!(
                "acknowledged writes might be lost: {why}. Change that, or set vouch_for_durability"
            )),
            Health::Answers { lag, .. } if *lag > MAX_LAG => {
                Some(format!("fan-out is {} s behind", lag.as_secs()))
            }
            Health::Answers { .. } => None,
            Health::Degraded(why) => Some(format!("the delivery log does not respond: {why}")),
        }
    }
}

/// Sets the gauges of the delivery log.
fn record(floor: Position, pending: usize, lag: Duration) {
    #[expect(clippy::cast_precision_loss, reason = "a gauge is a double, and 2^53 tasks are unrealistic")]
    let (floor, pending) = (floor.0 as f64, pending as f64);
    gauge!(LOG_FLOOR).set(floor);
    gauge!(LOG_PENDING).set(pending);
    gauge!(LOG_LAG).set(lag.as_secs_f64());
}

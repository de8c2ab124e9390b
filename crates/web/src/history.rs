//! Samples of the last hours of this process, in memory, for the charts on the operator's page. Clusters use
//! Prometheus.

use domain::health::Health;
use model::{Clock, Millis};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use store::Store;

/// Interval and maximum number of samples: six hours.
pub const SAMPLE_INTERVAL: Duration = Duration::from_secs(30);
const MAX_SAMPLES: usize = 720;

/// Counts of one interval, and the state at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// End of the interval.
    pub at: Millis,
    /// Requests that were answered.
    pub requests: u64,
    /// Requests with a 5xx response.
    pub failures: u64,
    /// Pending deliveries. `None` if the store did not respond.
    pub pending: Option<usize>,
    /// Age of the oldest pending delivery.
    pub lag: Duration,
}

/// The samples, and the counters since the last one.
#[derive(Debug, Default)]
pub struct History {
    requests: AtomicU64,
    failures: AtomicU64,
    samples: Mutex<VecDeque<Sample>>,
}

impl History {
    /// Counts an answered request.
    pub fn answered(&self, status: http::StatusCode) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if status.is_server_error() {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes a sample.
    pub async fn sample(&self, store: &dyn Store, clock: &Clock) {
        let (pending, lag) = match Health::of(store, clock).await {
            Health::Answers { pending, lag, .. } => (Some(pending), lag),
            Health::Broken(_) | Health::Doubtful(_) | Health::Degraded(_) => (None, Duration::ZERO),
        };
        let sample = Sample {
            at: clock.now(),
            requests: self.requests.swap(0, Ordering::Relaxed),
            failures: self.failures.swap(0, Ordering::Relaxed),
            pending,
            lag,
        };
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.push_back(sample);
        if samples.len() > MAX_SAMPLES {
            samples.pop_front();
        }
    }

    /// All samples, oldest first.
    pub fn samples(&self) -> Vec<Sample> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }
}

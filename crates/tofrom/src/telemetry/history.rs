//! The last hours of this process, in its own memory: what the operator's page draws. Clusters have Prometheus.

use super::admin::Health;
use crate::clock::Clock;
use model::Millis;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use store::Store;

/// How often a sample is taken, and how many are kept: six hours.
pub const EVERY: Duration = Duration::from_secs(30);
const MAX_SAMPLES: usize = 720;

/// What happened between two moments, and how it stood at the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The second moment.
    pub at: Millis,
    /// Requests that were answered.
    pub requests: u64,
    /// Those of them that failed on our side.
    pub failures: u64,
    /// Deliveries that waited; `None` if the store did not answer.
    pub pending: Option<usize>,
    /// The oldest of them for so long.
    pub lag: Duration,
}

/// The samples, and what was counted since the last.
#[derive(Debug, Default)]
pub struct History {
    requests: AtomicU64,
    failures: AtomicU64,
    samples: Mutex<VecDeque<Sample>>,
}

impl History {
    /// A request was answered.
    pub fn answered(&self, status: http::StatusCode) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if status.is_server_error() {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes a sample.
    pub async fn take(&self, store: &dyn Store, clock: &Clock) {
        let (pending, lag) = match Health::of(store, clock).await {
            Health::Answers { pending, lag, .. } => (Some(pending), lag),
            Health::Broken(_) | Health::Doubtful(_) => (None, Duration::ZERO),
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

    /// All of them, the oldest first.
    pub fn samples(&self) -> Vec<Sample> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }
}

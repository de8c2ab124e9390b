//! The admin listener: is it alive, can it work, and what has it done. Plain HTTP, on the loopback address unless
//! said otherwise, and not for the public: it asks for no credential.
//!
//! - `/healthz`: the process answers. Restart it if this fails.
//! - `/readyz`: store and delivery log, told as they are; 503 while it should get no requests.
//! - `/metrics`: [`super::metrics`] as Prometheus reads them.

use super::metrics;
use crate::clock::Clock;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{StatusCode, header};
use metrics_exporter_prometheus::PrometheusHandle;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use tokio::sync::watch;
use tokio::time::timeout;

/// A store that takes longer to answer is as good as none.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How many waiting tasks are counted.
const COUNTED: usize = 1_000;
/// A task that waits longer than this means that deliveries do not keep up, or have stopped.
const TOLERATED_LAG: Duration = Duration::from_secs(60);

/// What the answers are made of.
#[derive(Clone)]
pub struct Admin {
    /// What is asked for its health.
    pub store: Arc<dyn Store>,
    /// Whether nobody needs to ask how its engines are set up.
    pub trusted: bool,
    /// Tells how long a task has been waiting.
    pub clock: Clock,
    /// Renders the numbers.
    pub metrics: PrometheusHandle,
    /// Whether the service was told to stop.
    pub draining: watch::Receiver<bool>,
    /// Takes over the numbers that are counted elsewhere, before they are rendered.
    pub take_over: Arc<dyn Fn() + Send + Sync>,
}

impl Admin {
    /// The three addresses.
    pub fn router(self) -> axum::Router {
        axum::Router::new()
            .route("/healthz", get(async || "ok\n"))
            .route("/readyz", get(ready))
            .route("/metrics", get(numbers))
            .with_state(self)
    }

    /// Store and log as they are now.
    async fn health(&self) -> Health {
        let health = Health::of(self.store.as_ref(), &self.clock).await;
        if self.trusted || matches!(health, Health::Broken(_)) {
            return health;
        }
        match timeout(TIMEOUT, self.store.durability_warnings()).await {
            Ok(Ok(durability_warnings)) if durability_warnings.is_empty() => health,
            Ok(Ok(durability_warnings)) => Health::Doubtful(durability_warnings.join("; ")),
            Ok(Err(error)) => Health::Broken(error.to_string()),
            Err(_) => Health::Broken(format!("no answer within {} s", TIMEOUT.as_secs())),
        }
    }
}

/// How store and log are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// The store does not answer, and this is why.
    Broken(String),
    /// It answers, but what it acknowledges might get lost, and this is why.
    Doubtful(String),
    /// It answers.
    Answers {
        /// Everything up to this position is delivered.
        floor: u64,
        /// So many tasks wait (counted up to a thousand).
        pending: usize,
        /// The oldest of them for so long.
        lag: Duration,
    },
}

impl Health {
    /// Asks the store.
    pub async fn of(store: &dyn Store, clock: &Clock) -> Health {
        let answer = timeout(TIMEOUT, async {
            store.ping().await?;
            let floor = store.floor().await?;
            Ok::<_, store::StoreError>((floor, store.backlog(COUNTED).await?))
        });
        let (floor, backlog) = match answer.await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => return Health::Broken(error.to_string()),
            Err(_) => return Health::Broken(format!("no answer within {} s", TIMEOUT.as_secs())),
        };
        let oldest = backlog.oldest.map_or(0, |since| clock.now().0.saturating_sub(since.0));
        let lag = Duration::from_millis(u64::try_from(oldest).unwrap_or(0));
        metrics::log(floor, backlog.tasks, lag);
        Health::Answers { floor: floor.0, pending: backlog.tasks, lag }
    }

    /// What is wrong, in words; nothing if the service can work.
    pub fn complaint(&self) -> Option<String> {
        match self {
            Health::Broken(why) => Some(format!("the store does not answer: {why}")),
            Health::Doubtful(why) => Some(format!(
                "what is acknowledged might get lost: {why} (or set vouch_for_durability if you know better)"
            )),
            Health::Answers { lag, .. } if *lag > TOLERATED_LAG => {
                Some(format!("deliveries are {} s behind", lag.as_secs()))
            }
            Health::Answers { .. } => None,
        }
    }

    fn as_json(&self) -> Value {
        let complaint = self.complaint();
        let status = if complaint.is_none() { "ready" } else { "not ready" };
        let (store, log) = match self {
            Health::Broken(why) => (json!({ "answers": false, "why": why }), Value::Null),
            Health::Doubtful(why) => (json!({ "answers": true, "why": why }), Value::Null),
            Health::Answers { floor, pending, lag } => {
                let log = json!({
                    "floor": floor,
                    "pending": pending,
                    "pending_is_more": *pending >= COUNTED,
                    "lag_seconds": lag.as_secs_f64(),
                });
                (json!({ "answers": true }), log)
            }
        };
        json!({ "status": status, "wrong": complaint, "store": store, "log": log })
    }
}

async fn ready(State(admin): State<Admin>) -> Response {
    let (is_ready, told) = if *admin.draining.borrow() {
        // Whatever the store says: new requests should go to another process.
        (false, json!({ "status": "stopping" }))
    } else {
        let health = admin.health().await;
        (health.complaint().is_none(), health.as_json())
    };
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (status, headers, format!("{}\n", crate::json::text(told))).into_response()
}

async fn numbers(State(admin): State<Admin>) -> Response {
    // For the log's numbers, which are asked for and not counted.
    admin.health().await;
    (admin.take_over)();
    let headers = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (headers, admin.metrics.render()).into_response()
}

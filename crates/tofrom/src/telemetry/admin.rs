//! The admin listener: liveness, readiness and metrics. It speaks plain HTTP on the loopback address by default,
//! takes no credential, and must not be public.
//!
//! - `/healthz`: the process is alive. Restart it if this fails.
//! - `/readyz`: the state of store and delivery log; 503 while the server should get no requests.
//! - `/metrics`: [`super::metrics`] in the Prometheus format.

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

/// Timeout of the store's health check.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of pending tasks that are counted.
const MAX_COUNTED: usize = 1_000;
/// The server is not ready while the oldest pending task is older than this: fan-out does not keep up, or has stopped.
const MAX_LAG: Duration = Duration::from_secs(60);

/// The state of the admin listener.
#[derive(Clone)]
pub struct Admin {
    /// The store whose health is checked.
    pub store: Arc<dyn Store>,
    /// Whether the durability settings of the engines need no check.
    pub trusted: bool,
    /// The clock for the lag of the delivery log.
    pub clock: Clock,
    /// Renders the metrics.
    pub metrics: PrometheusHandle,
    /// Whether the server is shutting down.
    pub draining: watch::Receiver<bool>,
    /// Copies counters that are kept elsewhere into the metrics, before they are rendered.
    pub update_counters: Arc<dyn Fn() + Send + Sync>,
}

impl Admin {
    /// The routes.
    pub fn router(self) -> axum::Router {
        axum::Router::new()
            .route("/healthz", get(async || "ok\n"))
            .route("/readyz", get(ready))
            .route("/metrics", get(render_metrics))
            .with_state(self)
    }

    /// The current health of store and delivery log.
    async fn health(&self) -> Health {
        let health = Health::of(self.store.as_ref(), &self.clock).await;
        if self.trusted || matches!(health, Health::Broken(_)) {
            return health;
        }
        match timeout(TIMEOUT, self.store.durability_warnings()).await {
            Ok(Ok(warnings)) if warnings.is_empty() => health,
            Ok(Ok(warnings)) => Health::Doubtful(warnings.join("; ")),
            Ok(Err(error)) => Health::Broken(error.to_string()),
            Err(_) => Health::Broken(format!("no answer within {} s", TIMEOUT.as_secs())),
        }
    }
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
}

impl Health {
    /// Checks the store.
    pub async fn of(store: &dyn Store, clock: &Clock) -> Health {
        let check = timeout(TIMEOUT, async {
            store.ping().await?;
            let floor = store.floor().await?;
            Ok::<_, store::StoreError>((floor, store.backlog(MAX_COUNTED).await?))
        });
        let (floor, backlog) = match check.await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => return Health::Broken(error.to_string()),
            Err(_) => return Health::Broken(format!("no answer within {} s", TIMEOUT.as_secs())),
        };
        let oldest = backlog.oldest.map_or(0, |since| clock.now().0.saturating_sub(since.0));
        let lag = Duration::from_millis(u64::try_from(oldest).unwrap_or(0));
        metrics::log(floor, backlog.tasks, lag);
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
        }
    }

    fn as_json(&self) -> Value {
        let reason = self.unready_reason();
        let status = if reason.is_none() { "ready" } else { "not ready" };
        let (store, log) = match self {
            Health::Broken(why) => (json!({ "answers": false, "why": why }), Value::Null),
            Health::Doubtful(why) => (json!({ "answers": true, "why": why }), Value::Null),
            Health::Answers { floor, pending, lag } => {
                let log = json!({
                    "floor": floor,
                    "pending": pending,
                    "pending_is_more": *pending >= MAX_COUNTED,
                    "lag_seconds": lag.as_secs_f64(),
                });
                (json!({ "answers": true }), log)
            }
        };
        json!({ "status": status, "wrong": reason, "store": store, "log": log })
    }
}

async fn ready(State(admin): State<Admin>) -> Response {
    let (is_ready, body) = if *admin.draining.borrow() {
        // During shutdown new requests should go to another process.
        (false, json!({ "status": "stopping" }))
    } else {
        let health = admin.health().await;
        (health.unready_reason().is_none(), health.as_json())
    };
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (status, headers, format!("{}\n", crate::json::text(body))).into_response()
}

async fn render_metrics(State(admin): State<Admin>) -> Response {
    // Updates the gauges of the delivery log.
    admin.health().await;
    (admin.update_counters)();
    let headers = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (headers, admin.metrics.render()).into_response()
}

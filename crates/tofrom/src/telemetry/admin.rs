//! The admin listener: liveness, readiness and metrics. It speaks plain HTTP on the loopback address by default,
//! takes no credential, and must not be public.
//!
//! - `/healthz`: the process is alive. Restart it if this fails.
//! - `/readyz`: the state of store and delivery log; 503 while the server should get no requests.
//! - `/metrics`: [`super::metrics`] in the Prometheus format.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use domain::health::{Health, MAX_COUNTED, TIMEOUT};
use domain::json;
use http::{StatusCode, header};
use metrics_exporter_prometheus::PrometheusHandle;
use model::Clock;
use serde_json::{Value, json};
use std::sync::Arc;
use store::Store;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// The state of the admin listener.
#[derive(Clone)]
pub struct Admin {
    /// The store whose health is checked.
    pub store: Arc<dyn Store>,
    /// Whether the durability settings of the engines need no check.
    pub trusted: bool,
    /// Whether this process serves reads, which work without the delivery log.
    pub serves_reads: bool,
    /// The clock for the lag of the delivery log.
    pub clock: Clock,
    /// Renders the metrics.
    pub metrics: PrometheusHandle,
    /// Whether the server is shutting down.
    pub draining: CancellationToken,
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
        if self.trusted || matches!(health, Health::Broken(_) | Health::Degraded(_)) {
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

/// The health as the JSON of `/readyz`.
fn health_json(health: &Health, is_ready: bool) -> Value {
    let status = if is_ready { "ready" } else { "not ready" };
    let (store, log) = match health {
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
        Health::Degraded(_) => (json!({ "answers": true }), json!("degraded")),
    };
    json!({ "status": status, "wrong": health.unready_reason(), "store": store, "log": log })
}

async fn ready(State(admin): State<Admin>) -> Response {
    let (is_ready, body) = if admin.draining.is_cancelled() {
        // During shutdown new requests should go to another process.
        (false, json!({ "status": "stopping" }))
    } else {
        let health = admin.health().await;
        // Without the log every process is degraded: a balancer that takes them all away would also end the reads.
        let is_degraded = admin.serves_reads && matches!(health, Health::Degraded(_));
        let is_ready = is_degraded || health.unready_reason().is_none();
        (is_ready, health_json(&health, is_ready))
    };
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (status, headers, format!("{}\n", json::text(body))).into_response()
}

async fn render_metrics(State(admin): State<Admin>) -> Response {
    // Updates the gauges of the delivery log.
    admin.health().await;
    (admin.update_counters)();
    let headers = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (headers, admin.metrics.render()).into_response()
}

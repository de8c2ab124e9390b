//! Every number that `/metrics` shows is named, explained and counted here, so that this file is also their
//! documentation. Labels have few values: route templates and status classes, never names or addresses.

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use model::{Millis, Position};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Answers, by `route` (template), `method` and `status` (`2xx`).
pub const REQUESTS: &str = "tofrom_http_requests_total";
/// From a request's header to its answer's header, by `route`.
pub const REQUEST_SECONDS: &str = "tofrom_http_request_duration_seconds";
/// Connections that are open now.
pub const CONNECTIONS: &str = "tofrom_connections_open";
/// Connections closed on arrival, by `reason`: `full`, `untrusted`.
pub const CONNECTIONS_REFUSED: &str = "tofrom_connections_refused_total";
/// TLS handshakes that came to nothing, by `reason`: `refused`, `timeout`, `plain-http`.
pub const HANDSHAKES_FAILED: &str = "tofrom_tls_handshakes_failed_total";
/// When the certificate in use ends.
pub const CERTIFICATE_EXPIRES: &str = "tofrom_tls_certificate_expires_timestamp_seconds";
/// Passwords hashed with Argon2: each costs a core for some milliseconds.
pub const PASSWORD_HASHES: &str = "tofrom_password_hashes_total";
/// Rows that reading collections has gone through.
pub const STORE_ROWS: &str = "tofrom_store_rows_read_total";
/// Counted where deliveries are made: how many wait, and how long after its acceptance an activity reached everybody.
pub use crate::fanout::{PENDING as DELIVERY_PENDING, SECONDS as DELIVERY_SECONDS};
/// Everything up to this position of the log is delivered.
pub const LOG_FLOOR: &str = "tofrom_log_floor_position";
/// Tasks of the log that are not done, counted up to a bound.
pub const LOG_PENDING: &str = "tofrom_log_pending_tasks";
/// Age of the oldest of them.
pub const LOG_LAG: &str = "tofrom_log_lag_seconds";
/// 1, with the program's `version`.
pub const BUILD: &str = "tofrom_build_info";

/// Upper ends of the histograms' buckets: a cached page takes half a millisecond, the longest read ten seconds.
const SECONDS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// A delivery to many followers may take longer than any request.
const DELIVERY: [f64; 10] = [0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0];

/// Starts counting for the whole process, once; from then on it gives the same renderer.
pub fn start() -> Result<PrometheusHandle, BuildError> {
    static STARTED: Mutex<Option<PrometheusHandle>> = Mutex::new(None);
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = &*started {
        return Ok(handle.clone());
    }
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Full(REQUEST_SECONDS.to_owned()), &SECONDS)?
        .set_buckets_for_metric(Matcher::Full(DELIVERY_SECONDS.to_owned()), &DELIVERY)?
        .install_recorder()?;
    describe();
    gauge!(BUILD, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    *started = Some(handle.clone());
    Ok(handle)
}

fn describe() {
    describe_counter!(REQUESTS, "Answers, by route, method and class of status.");
    describe_histogram!(REQUEST_SECONDS, "Seconds from a request's header to its answer's header, by route.");
    describe_gauge!(CONNECTIONS, "Connections that are open now.");
    describe_counter!(CONNECTIONS_REFUSED, "Connections closed on arrival, by reason.");
    describe_counter!(HANDSHAKES_FAILED, "TLS handshakes that came to nothing, by reason.");
    describe_gauge!(CERTIFICATE_EXPIRES, "When the certificate in use ends, in seconds since 1970.");
    describe_counter!(PASSWORD_HASHES, "Passwords hashed with Argon2.");
    describe_counter!(STORE_ROWS, "Rows that reading collections has gone through.");
    describe_gauge!(DELIVERY_PENDING, "Accepted versions that the deliverer saw waiting at its last look.");
    describe_histogram!(
        DELIVERY_SECONDS,
        "Seconds from an activity's acceptance to the last of its deliveries."
    );
    describe_gauge!(LOG_FLOOR, "Everything up to this position of the delivery log is delivered.");
    describe_gauge!(LOG_PENDING, "Tasks of the delivery log that are not done, counted up to a bound.");
    describe_gauge!(LOG_LAG, "Age of the oldest task of the delivery log that is not done, in seconds.");
    describe_gauge!(BUILD, "1, with the program's version.");
}

/// A request was answered.
pub fn request(route: &'static str, method: &http::Method, status: http::StatusCode, took: Duration) {
    let class = match status.as_u16() / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    };
    // Anybody can make up a method, and each would be a series.
    const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];
    let method = METHODS.into_iter().find(|known| *known == method.as_str()).unwrap_or("other");
    counter!(REQUESTS, "route" => route, "method" => method, "status" => class).increment(1);
    histogram!(REQUEST_SECONDS, "route" => route).record(took.as_secs_f64());
}

/// A connection that is open until this is dropped.
#[derive(Debug)]
pub struct OpenConnection(());

impl OpenConnection {
    /// Counts one more.
    #[expect(clippy::new_without_default, reason = "opening one is no default")]
    pub fn new() -> OpenConnection {
        gauge!(CONNECTIONS).increment(1.0);
        OpenConnection(())
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        gauge!(CONNECTIONS).decrement(1.0);
    }
}

/// A connection was closed on arrival.
pub fn connection_refused(reason: &'static str) {
    counter!(CONNECTIONS_REFUSED, "reason" => reason).increment(1);
}

/// A TLS handshake came to nothing.
pub fn handshake_failed(reason: &'static str) {
    counter!(HANDSHAKES_FAILED, "reason" => reason).increment(1);
}

/// A certificate was taken in that ends then.
pub fn certificate_expires(at: Millis) {
    gauge!(CERTIFICATE_EXPIRES).set(seconds(at.0));
}

/// So many passwords were hashed since the start.
pub fn password_hashes(hashes: u64) {
    counter!(PASSWORD_HASHES).absolute(hashes);
}

/// So many rows were read since the start.
pub fn store_rows(rows: u64) {
    counter!(STORE_ROWS).absolute(rows);
}

/// How the delivery log stands.
pub fn log(floor: Position, pending: usize, lag: Duration) {
    #[expect(clippy::cast_precision_loss, reason = "a gauge is a double, and 2^53 tasks are a long way off")]
    let (floor, pending) = (floor.0 as f64, pending as f64);
    gauge!(LOG_FLOOR).set(floor);
    gauge!(LOG_PENDING).set(pending);
    gauge!(LOG_LAG).set(lag.as_secs_f64());
}

fn seconds(millis: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 are far below 2^53")]
    let millis = millis as f64;
    millis / 1000.0
}

//! Names, describes and updates the metrics. Labels have few values: route templates and status classes, never names or
//! addresses.

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use model::{Millis, Position};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// HTTP responses, by `route` (template), `method` and `status` (`2xx`).
pub const REQUESTS: &str = "tofrom_http_requests_total";
/// Time from the request headers to the response headers, by `route`.
pub const REQUEST_SECONDS: &str = "tofrom_http_request_duration_seconds";
/// Open connections.
pub const CONNECTIONS: &str = "tofrom_connections_open";
/// Connections closed on arrival, by `reason`: `full`, `untrusted`.
pub const CONNECTIONS_REFUSED: &str = "tofrom_connections_refused_total";
/// Failed TLS handshakes, by `reason`: `refused`, `timeout`, `plain-http`.
pub const HANDSHAKES_FAILED: &str = "tofrom_tls_handshakes_failed_total";
/// Expiry time of the certificate in use.
pub const CERTIFICATE_EXPIRES: &str = "tofrom_tls_certificate_expires_timestamp_seconds";
/// Passwords hashed with Argon2: each takes a core for some milliseconds.
pub const PASSWORD_HASHES: &str = "tofrom_password_hashes_total";
/// Rows read from the store to serve collections.
pub const STORE_ROWS: &str = "tofrom_store_rows_read_total";
/// Updated by the fan-out worker: pending tasks, and the time from acceptance to the end of fan-out.
pub use crate::fanout::{PENDING as DELIVERY_PENDING, SECONDS as DELIVERY_SECONDS};
/// The floor of the delivery log.
pub const LOG_FLOOR: &str = "tofrom_log_floor_position";
/// Pending tasks of the delivery log, counted up to 1,000.
pub const LOG_PENDING: &str = "tofrom_log_pending_tasks";
/// Age of the oldest pending task.
pub const LOG_LAG: &str = "tofrom_log_lag_seconds";
/// Always 1, with the server's `version`.
pub const BUILD: &str = "tofrom_build_info";

/// Upper bounds of the request histogram: a cached page takes half a millisecond, the longest read ten seconds.
const REQUEST_BUCKETS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// Upper bounds of the fan-out histogram: fan-out to many followers may take longer than any request.
const DELIVERY_BUCKETS: [f64; 10] = [0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0];

/// Installs the recorder of the process. Later calls return the same renderer.
pub fn start() -> Result<PrometheusHandle, BuildError> {
    static HANDLE: Mutex<Option<PrometheusHandle>> = Mutex::new(None);
    let mut installed = HANDLE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = &*installed {
        return Ok(handle.clone());
    }
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Full(REQUEST_SECONDS.to_owned()), &REQUEST_BUCKETS)?
        .set_buckets_for_metric(Matcher::Full(DELIVERY_SECONDS.to_owned()), &DELIVERY_BUCKETS)?
        .install_recorder()?;
    describe();
    gauge!(BUILD, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    *installed = Some(handle.clone());
    Ok(handle)
}

fn describe() {
    describe_counter!(REQUESTS, "HTTP responses, by route, method and status class.");
    describe_histogram!(
        REQUEST_SECONDS,
        "Seconds from the request headers to the response headers, by route."
    );
    describe_gauge!(CONNECTIONS, "Open connections.");
    describe_counter!(CONNECTIONS_REFUSED, "Connections closed on arrival, by reason.");
    describe_counter!(HANDSHAKES_FAILED, "Failed TLS handshakes, by reason.");
    describe_gauge!(CERTIFICATE_EXPIRES, "Expiry time of the certificate in use, in seconds since 1970.");
    describe_counter!(PASSWORD_HASHES, "Passwords hashed with Argon2.");
    describe_counter!(STORE_ROWS, "Rows read from the store to serve collections.");
    describe_gauge!(DELIVERY_PENDING, "Pending fan-out tasks in the last batch, at most 256.");
    describe_histogram!(
        DELIVERY_SECONDS,
        "Seconds from the acceptance of an activity to the end of its fan-out."
    );
    describe_gauge!(LOG_FLOOR, "Floor of the delivery log: everything up to this position is delivered.");
    describe_gauge!(LOG_PENDING, "Pending tasks of the delivery log, counted up to 1,000.");
    describe_gauge!(LOG_LAG, "Age of the oldest pending task of the delivery log, in seconds.");
    describe_gauge!(BUILD, "Always 1, with the server's version.");
}

/// Records an answered request.
pub fn request(route: &'static str, method: &http::Method, status: http::StatusCode, took: Duration) {
    let class = match status.as_u16() / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    };
    // Clients can invent methods, and each would become a time series.
    const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];
    let method = METHODS.into_iter().find(|known| *known == method.as_str()).unwrap_or("other");
    counter!(REQUESTS, "route" => route, "method" => method, "status" => class).increment(1);
    histogram!(REQUEST_SECONDS, "route" => route).record(took.as_secs_f64());
}

/// Counts an open connection until it is dropped.
#[derive(Debug)]
pub struct OpenConnection(());

impl OpenConnection {
    /// Counts a new connection.
    #[expect(clippy::new_without_default, reason = "it changes a gauge")]
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

/// Counts a connection that was closed on arrival.
pub fn connection_refused(reason: &'static str) {
    counter!(CONNECTIONS_REFUSED, "reason" => reason).increment(1);
}

/// Counts a failed TLS handshake.
pub fn handshake_failed(reason: &'static str) {
    counter!(HANDSHAKES_FAILED, "reason" => reason).increment(1);
}

/// Sets the expiry time of the certificate in use.
pub fn certificate_expires(at: Millis) {
    gauge!(CERTIFICATE_EXPIRES).set(seconds(at.0));
}

/// Sets the number of passwords hashed since the start.
pub fn password_hashes(hashes: u64) {
    counter!(PASSWORD_HASHES).absolute(hashes);
}

/// Sets the number of rows read since the start.
pub fn store_rows(rows: u64) {
    counter!(STORE_ROWS).absolute(rows);
}

/// Sets the gauges of the delivery log.
pub fn log(floor: Position, pending: usize, lag: Duration) {
    #[expect(clippy::cast_precision_loss, reason = "a gauge is a double, and 2^53 tasks are unrealistic")]
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

//! Names, describes and updates the metrics. Labels have few values: route templates and status classes, never names or
//! addresses.

use super::traces;
use domain::hooks::worker as hooks;
use domain::{fanout, health, sources};
use metrics::{counter, describe_counter, describe_gauge, gauge};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use metrics_process::Collector;
use std::sync::{Mutex, PoisonError};

/// Passwords hashed with Argon2: each takes a core for some milliseconds.
pub const PASSWORD_HASHES: &str = "tofrom_password_hashes_total";
/// Rows read from the store to serve collections.
pub const STORE_ROWS: &str = "tofrom_store_rows_read_total";
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
        .set_buckets_for_metric(Matcher::Full(web::REQUEST_SECONDS.to_owned()), &REQUEST_BUCKETS)?
        .set_buckets_for_metric(Matcher::Full(store::CQL_SECONDS.to_owned()), &REQUEST_BUCKETS)?
        .set_buckets_for_metric(Matcher::Full(store::PUBLISH_SECONDS.to_owned()), &REQUEST_BUCKETS)?
        .set_buckets_for_metric(Matcher::Full(fanout::SECONDS.to_owned()), &DELIVERY_BUCKETS)?
        .set_buckets_for_metric(Matcher::Full(hooks::SECONDS.to_owned()), &DELIVERY_BUCKETS)?
        .install_recorder()?;
    describe();
    gauge!(BUILD, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    *installed = Some(handle.clone());
    Ok(handle)
}

fn describe() {
    listen::describe_metrics();
    web::describe_metrics();
    media::describe_metrics();
    health::describe_metrics();
    hooks::describe_metrics();
    fanout::describe_metrics();
    sources::worker::describe_metrics();
    store::describe_metrics();
    traces::describe_metrics();
    Collector::default().describe();
    describe_counter!(PASSWORD_HASHES, "Passwords hashed with Argon2.");
    describe_counter!(STORE_ROWS, "Rows read from the store to serve collections.");
    describe_gauge!(BUILD, "Always 1, with the server's version.");
}

/// Sets the metrics of the process: CPU, memory, open files, threads.
pub fn process() {
    Collector::default().collect();
}

/// Sets the number of passwords hashed since the start.
pub fn password_hashes(hashes: u64) {
    counter!(PASSWORD_HASHES).absolute(hashes);
}

/// Sets the number of rows read since the start.
pub fn store_rows(rows: u64) {
    counter!(STORE_ROWS).absolute(rows);
}

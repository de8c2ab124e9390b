//! The metrics of a cluster's engines.

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use std::time::Duration;

/// Histogram: seconds of a request to the database, by `kind`: `read`, `serial`, `write`, `conditional`, `batch`.
pub const CQL_SECONDS: &str = "tofrom_cql_request_seconds";
/// Failed requests to the database, by `kind`.
const CQL_ERRORS: &str = "tofrom_cql_errors_total";
/// Histogram: seconds until the log has stored a message.
pub const PUBLISH_SECONDS: &str = "tofrom_log_publish_seconds";
/// Messages that the log did not store.
const PUBLISH_ERRORS: &str = "tofrom_log_publish_errors_total";
/// Tasks that were published. A message has up to 64.
const TASKS: &str = "tofrom_log_tasks_published_total";
/// Messages and bytes of the stream.
const STREAM_MESSAGES: &str = "tofrom_log_stream_messages";
const STREAM_BYTES: &str = "tofrom_log_stream_bytes";
/// Age of the floor as this process knows it.
const FLOOR_AGE: &str = "tofrom_log_floor_age_seconds";
/// Unfinished intents that the sweep has read.
const SWEPT: &str = "tofrom_sweep_rows_total";

/// Describes the metrics to the recorder of the process.
pub fn describe_metrics() {
    describe_histogram!(CQL_SECONDS, "Seconds of a request to Cassandra or ScyllaDB, by kind of statement.");
    describe_counter!(CQL_ERRORS, "Failed requests to Cassandra or ScyllaDB, by kind of statement.");
    describe_histogram!(PUBLISH_SECONDS, "Seconds until the delivery log has stored a message.");
    describe_counter!(PUBLISH_ERRORS, "Messages that the delivery log did not store.");
    describe_counter!(TASKS, "Tasks published to the delivery log. A message has up to 64.");
    describe_gauge!(STREAM_MESSAGES, "Messages in the stream of the delivery log.");
    describe_gauge!(STREAM_BYTES, "Bytes in the stream of the delivery log.");
    describe_gauge!(FLOOR_AGE, "Age of the floor of the delivery log as this process knows it, in seconds.");
    describe_counter!(SWEPT, "Unfinished intents that the sweep has read.");
}

/// Records a request to the database.
pub(crate) fn cql_request(kind: &'static str, took: Duration, failed: bool) {
    histogram!(CQL_SECONDS, "kind" => kind).record(took);
    if failed {
        counter!(CQL_ERRORS, "kind" => kind).increment(1);
    }
}

/// Records an attempt to store a message.
pub(crate) fn published(took: Duration, failed: bool) {
    histogram!(PUBLISH_SECONDS).record(took);
    if failed {
        counter!(PUBLISH_ERRORS).increment(1);
    }
}

/// Counts tasks of a stored message.
pub(crate) fn tasks_published(tasks: usize) {
    counter!(TASKS).increment(tasks as u64);
}

/// Sets the size of the stream.
pub(crate) fn stream(messages: u64, bytes: u64) {
    gauge!(STREAM_MESSAGES).set(messages as f64);
    gauge!(STREAM_BYTES).set(bytes as f64);
}

/// Sets the age of the floor.
pub(crate) fn floor_age(age: Duration) {
    gauge!(FLOOR_AGE).set(age);
}

/// Counts intents that a sweep has read.
pub(crate) fn swept(rows: usize) {
    counter!(SWEPT).increment(rows as u64);
}

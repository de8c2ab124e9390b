//! The metrics of connections.

use metrics::{counter, describe_counter, describe_gauge, gauge};

/// Open connections.
const CONNECTIONS: &str = "tofrom_connections_open";
/// Connections closed on arrival, by `reason`: `full`, `address`, `untrusted`.
const CONNECTIONS_REFUSED: &str = "tofrom_connections_refused_total";
/// Failed TLS handshakes, by `reason`: `refused`, `timeout`, `plain-http`.
const HANDSHAKES_FAILED: &str = "tofrom_tls_handshakes_failed_total";
/// Expiry time of the certificate in use.
const CERTIFICATE_EXPIRES: &str = "tofrom_tls_certificate_expires_timestamp_seconds";

/// Describes the metrics to the recorder of the process.
pub fn describe_metrics() {
    describe_gauge!(CONNECTIONS, "Open connections.");
    describe_counter!(CONNECTIONS_REFUSED, "Connections closed on arrival, by reason.");
    describe_counter!(HANDSHAKES_FAILED, "Failed TLS handshakes, by reason.");
    describe_gauge!(CERTIFICATE_EXPIRES, "Expiry time of the certificate in use, in seconds since 1970.");
}

/// Counts an open connection until it is dropped.
#[derive(Debug)]
pub(super) struct OpenConnection(());

impl OpenConnection {
    /// Counts a new connection.
    pub(super) fn new() -> OpenConnection {
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
pub(super) fn connection_refused(reason: &'static str) {
    counter!(CONNECTIONS_REFUSED, "reason" => reason).increment(1);
}

/// Counts a failed TLS handshake.
pub(super) fn handshake_failed(reason: &'static str) {
    counter!(HANDSHAKES_FAILED, "reason" => reason).increment(1);
}

/// Sets the expiry time of the certificate in use, in seconds since 1970.
pub(super) fn certificate_expires(at: i64) {
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^53")]
    gauge!(CERTIFICATE_EXPIRES).set(at as f64);
}

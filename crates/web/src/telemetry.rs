//! The metrics of requests. Labels have few values: route templates and status classes, never names or addresses.

use metrics::{counter, describe_counter, describe_histogram, histogram};
use std::time::Duration;

/// HTTP responses, by `route` (template), `method` and `status` (`2xx`).
const REQUESTS: &str = "tofrom_http_requests_total";
/// Time from the request headers to the response headers, by `route`.
pub const REQUEST_SECONDS: &str = "tofrom_http_request_duration_seconds";

/// Describes the metrics to the recorder of the process.
pub fn describe_metrics() {
    describe_counter!(REQUESTS, "HTTP responses, by route, method and status class.");
    describe_histogram!(
        REQUEST_SECONDS,
        "Seconds from the request headers to the response headers, by route."
    );
}

/// Records an answered request.
pub(super) fn request(route: &'static str, method: &http::Method, status: http::StatusCode, took: Duration) {
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

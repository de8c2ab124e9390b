//! The metrics and spans of requests. Labels have few values: route templates and status classes, never names or
//! addresses. Spans also have the identifier of the request, by which its log line is found.

use axum::extract::Request;
use http::{Method, StatusCode};
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use model::TraceContext;
use std::time::Duration;
use store::trace::{self, SPANS};
use tracing::{Span, field, info_span};

/// HTTP responses, by `route` (template), `method` and `status` (`2xx`).
const REQUESTS: &str = "tofrom_http_requests_total";
/// Time from the request headers to the response headers, by `route`.
pub const REQUEST_SECONDS: &str = "tofrom_http_request_duration_seconds";

/// Requests that were refused because of overload, by `reason`.
const REFUSED: &str = "tofrom_requests_refused_total";
/// Requests in the run queue at the last sample.
const QUEUED: &str = "tofrom_requests_queued";
/// Requests per second that an address may send now.
const ADDRESS_RATE: &str = "tofrom_requests_address_rate";

/// Describes the metrics to the recorder of the process.
pub fn describe_metrics() {
    describe_counter!(REQUESTS, "HTTP responses, by route, method and status class.");
    describe_histogram!(
        REQUEST_SECONDS,
        "Seconds from the request headers to the response headers, by route."
    );
    describe_counter!(REFUSED, "Requests refused because of overload, by reason.");
    describe_gauge!(QUEUED, "Requests in the run queue at the last sample.");
    describe_gauge!(
        ADDRESS_RATE,
        "Requests per second of an address that are admitted; +Inf without overload."
    );
}

/// Counts a request that was refused because of overload.
pub(super) fn refused(reason: &'static str) {
    counter!(REFUSED, "reason" => reason).increment(1);
}

/// Records a sample of the run queue, and the requests per second that an address may send from now on.
pub(super) fn queue(requests: u64, rate: Option<f64>) {
    gauge!(QUEUED).set(requests as f64);
    gauge!(ADDRESS_RATE).set(rate.unwrap_or(f64::INFINITY));
}

/// Records an answered request.
pub(super) fn request(route: &'static str, method: &Method, status: StatusCode, took: Duration) {
    let class = match status.as_u16() / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    };
    let method = known(method).unwrap_or("other");
    counter!(REQUESTS, "route" => route, "method" => method, "status" => class).increment(1);
    histogram!(REQUEST_SECONDS, "route" => route).record(took.as_secs_f64());
}

/// The method, unless the client invented it: each of these would become a time series.
fn known(method: &Method) -> Option<&'static str> {
    const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];
    METHODS.into_iter().find(|known| *known == method.as_str())
}

/// The span of a request, with the names of OpenTelemetry's conventions. It begins a trace, so that no client decides
/// which traces are recorded; the span that the client names in `traceparent` becomes a link.
pub(super) fn request_span(route: &'static str, request: &Request, id: &str) -> Span {
    let method = known(request.method()).unwrap_or("_OTHER");
    let span = info_span!(
        target: SPANS, parent: None, "request", otel.name = %format_args!("{method} {route}"), otel.kind = "server",
        http.request.method = method, http.route = route, tofrom.request = id,
        http.response.status_code = field::Empty, otel.status_code = field::Empty
    );
    if !span.is_disabled() {
        let header = request.headers().get("traceparent").and_then(|value| value.to_str().ok());
        if let Some(context) = header.and_then(TraceContext::parse) {
            trace::add_link(&span, context);
        }
    }
    span
}

/// Records the status of the response.
pub(super) fn record_status(span: &Span, status: StatusCode) {
    span.record("http.response.status_code", i64::from(status.as_u16()));
    if status.is_server_error() {
        span.record("otel.status_code", "error");
    }
}

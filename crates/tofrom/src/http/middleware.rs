//! Middleware of every request and response: limits, request id, common headers, problem documents, request log.

use super::listen::Peer;
use super::negotiate::Accept;
use super::{Problem, Service};
use crate::auth::Principal;
use crate::telemetry::metrics;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use http::header::{ALLOW, CACHE_CONTROL, HOST, STRICT_TRANSPORT_SECURITY, VARY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version};
use std::net::{IpAddr, Ipv4Addr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

const MAX_URI: usize = 8 << 10;
const MAX_HEADERS: usize = 32 << 10;

/// The time limit of a request, not counting the time spent waiting for its body.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How many characters of a path the log shows.
const MAX_LOGGED_PATH: usize = 200;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub(super) async fn handle_request(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let accept = Accept::of(request.headers());
    let method = request.method().clone();
    let origin = service.cors.origin_of(request.headers());
    let route = request.extensions().get::<MatchedPath>().map_or("-", |path| known_route(path.as_str()));
    // Tickets and subscriptions are secrets: the log shows the route instead of the path.
    let secret = ["{ticket}", "{subscription}"].iter().any(|part| route.contains(part));
    let shown = if secret { route } else { request.uri().path() };
    let path: String = shown.chars().take(MAX_LOGGED_PATH).collect();
    let id = request_id();

    let mut response = run_limited(&service, request, next).await;
    let vary = response.headers_mut().remove(VARY);
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        let principal = response.extensions_mut().remove::<Arc<Principal>>();
        response = problem.respond(&service.site, accept.prefers_xml());
        principal.map(|principal| response.extensions_mut().insert(principal));
    }
    let withheld = matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::NOT_FOUND);
    let headers = response.headers_mut();
    if withheld {
        // The response changes with a credential or when the resource is created.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    headers.insert(REQUEST_ID, HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("-")));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    headers.insert(VARY, vary.unwrap_or(HeaderValue::from_static("Accept, Accept-Encoding")));
    service.cors.expose(origin, headers);

    let elapsed = started.elapsed();
    service.history.answered(response.status());
    metrics::request(route, &method, response.status(), elapsed);
    let account =
        response.extensions().get::<Arc<Principal>>().map_or("-", |caller| caller.account.name.as_str());
    // Only the path is logged: a query may hold secrets.
    tracing::info!(
        id, %method, path, status = response.status().as_u16(), account, micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX), "request"
    );
    response
}

async fn run_limited(service: &Service, request: Request, next: Next) -> Response {
    let header_bytes: usize =
        request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if request.uri().path_and_query().map_or(0, |both| both.as_str().len()) > MAX_URI {
        return Problem::uri_too_long().into_response();
    }
    if header_bytes > MAX_HEADERS {
        return Problem::headers_too_large().into_response();
    }
    if !has_one_host(&request) {
        return Problem::host().into_response();
    }
    if let Some(answer) = service.cors.preflight(request.method(), request.headers()) {
        return answer;
    }
    let peer = request.extensions().get::<Peer>().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0);
    let Some(intake) = service.capacity.admit(peer) else {
        return Problem::busy().into_response();
    };
    let mut request = request.map(|body| intake.meter(body));
    request.extensions_mut().insert(Arc::clone(&intake));
    // A panic fails only its own request.
    let handled = intake.within(REQUEST_TIMEOUT, AssertUnwindSafe(next.run(request)).catch_unwind()).await;
    // The handler sees only that the body ended early. The intake knows why.
    match (intake.refusal(), handled) {
        (Some(problem), _) => problem.into_response(),
        (None, Some(Ok(response))) => response,
        (None, Some(Err(_))) => {
            tracing::error!("request handler panicked");
            Problem::internal().into_response()
        }
        (None, None) => Problem::timed_out().into_response(),
    }
}

/// Whether the request has exactly one host (RFC 9112, 3.2). HTTP/1.0 may omit it; HTTP/2 uses `:authority`.
fn has_one_host(request: &Request) -> bool {
    match (request.version(), request.headers().get_all(HOST).iter().count()) {
        (Version::HTTP_11, hosts) => hosts == 1,
        (_, hosts) => hosts <= 1,
    }
}

/// Removes `Allow` from every response except a 405. The router adds the header outside of all route layers, to every
/// response of a method fallback, even to a 401.
pub(super) async fn strip_allow_unless_405(mut response: Response) -> Response {
    if response.status() != StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().remove(ALLOW);
    }
    response
}

pub(super) async fn not_found() -> Problem {
    Problem::not_found()
}

/// The fallback outside of the API. Browsers get an HTML page.
pub(super) async fn not_found_page(State(service): State<Arc<Service>>, headers: HeaderMap) -> Response {
    problem_for(&service, &headers, Problem::not_found())
}

/// Renders problems as pages for browsers, at addresses that are open to browsers and API clients.
pub(super) async fn problems_for_browsers(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers().clone();
    let mut response = next.run(request).await;
    match response.extensions_mut().remove::<Problem>() {
        Some(problem) => problem_for(&service, &headers, problem),
        None => response,
    }
}

fn problem_for(service: &Service, headers: &HeaderMap, problem: Problem) -> Response {
    if Accept::of(headers).prefers_html() { problem.page(&service.site) } else { problem.into_response() }
}

/// The route's path as a static string, for use as a metrics label.
fn known_route(path: &str) -> &'static str {
    super::ROUTES.iter().map(|route| route.path).find(|known| path.ends_with(known)).unwrap_or("-")
}

fn request_id() -> String {
    let mut bytes = [0; 12];
    // Without randomness ids would repeat, which is harmless.
    let _ = aws_lc_rs::rand::fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

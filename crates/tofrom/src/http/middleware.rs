//! What every request passes on its way in, and every answer on its way out: limits, a request id, the headers that
//! every answer has, problems written down, a line in the log.

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

/// No request may take longer than this, without the time in which its body was awaited.
const LONGEST: Duration = Duration::from_secs(30);

/// How much of a path the log shows.
const LOGGED_PATH: usize = 200;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub(super) async fn envelope(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let accept = Accept::of(request.headers());
    let method = request.method().clone();
    let origin = service.cors.origin_of(request.headers());
    let route = request.extensions().get::<MatchedPath>().map_or("-", |path| known_route(path.as_str()));
    // What stands in the place of a ticket or a subscription is nobody's business.
    let secret = ["{ticket}", "{subscription}"].iter().any(|part| route.contains(part));
    let shown = if secret { route } else { request.uri().path() };
    let path: String = shown.chars().take(LOGGED_PATH).collect();
    let id = request_id();

    let mut response = inner(&service, request, next).await;
    let vary = response.headers_mut().remove(VARY);
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        let principal = response.extensions_mut().remove::<Arc<Principal>>();
        response = problem.respond(&service.site, accept.prefers_xml());
        principal.map(|principal| response.extensions_mut().insert(principal));
    }
    let withheld = matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::NOT_FOUND);
    let headers = response.headers_mut();
    if withheld {
        // A credential, or a moment later, gives another answer.
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
    // The path alone: a query may hold what is nobody's business.
    tracing::info!(
        id, %method, path, status = response.status().as_u16(), account, micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX), "request"
    );
    response
}

async fn inner(service: &Service, request: Request, next: Next) -> Response {
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
    // A fault in one request is that request's alone.
    let handled = intake.within(LONGEST, AssertUnwindSafe(next.run(request)).catch_unwind()).await;
    // A handler sees only that its body broke off. The intake knows why.
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

/// Whether a request names its host once (RFC 9112, 3.2). HTTP/1.0 need not, HTTP/2 does so by `:authority`.
fn has_one_host(request: &Request) -> bool {
    match (request.version(), request.headers().get_all(HOST).iter().count()) {
        (Version::HTTP_11, hosts) => hosts == 1,
        (_, hosts) => hosts <= 1,
    }
}

/// Removes `Allow` from every answer but a 405. The router adds that header, outside of every layer of its routes, to each
/// answer of the handler of other methods, also to a 401.
pub(super) async fn only_405_allows(mut response: Response) -> Response {
    if response.status() != StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().remove(ALLOW);
    }
    response
}

pub(super) async fn not_found() -> Problem {
    Problem::not_found()
}

/// The same outside of the API, where a browser may have been sent: it gets a page with a way home.
pub(super) async fn no_page(State(service): State<Arc<Service>>, headers: HeaderMap) -> Response {
    problem_for(&service, &headers, Problem::not_found())
}

/// A problem at an address that is open to browsers and programs becomes a page for a browser.
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

/// Routes are few and named in the map, so they can label metrics.
fn known_route(path: &str) -> &'static str {
    super::ROUTES.iter().map(|route| route.path).find(|known| path.ends_with(known)).unwrap_or("-")
}

fn request_id() -> String {
    let mut bytes = [0; 12];
    // Without randomness ids would repeat; nothing worse.
    let _ = aws_lc_rs::rand::fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

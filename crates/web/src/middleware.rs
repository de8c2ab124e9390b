//! Middleware of every request and response: limits, request id, common headers, problem documents, cross-origin
//! requests, request log.

use crate::negotiate::Accept;
use crate::pages::{problem_page, problem_page_for};
use crate::problem::Problem;
use crate::respond::Caching;
use crate::service::{Entrance, Service};
use crate::telemetry;
use auth::Principal;
use auth::audit::{self, Origin};
use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::future::RouteFuture;
use futures::FutureExt;
use futures::future::{Either, Map, Ready, ready};
use http::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ALLOW,
    CONTENT_LENGTH, HOST, ORIGIN, STRICT_TRANSPORT_SECURITY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version};
use listen::Peer;
use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tracing::Instrument;

const MAX_URI: usize = 8 << 10;
const MAX_HEADERS: usize = 32 << 10;

/// The time limit of a request, not counting the time spent waiting for its body.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How many characters of a path the log shows.
const MAX_LOGGED_PATH: usize = 200;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The state of [`handle_request`]. The router knows the routes, which label metrics and the log.
#[derive(Clone)]
pub(crate) struct MiddlewareState {
    pub(crate) service: Service,
    /// The path of the matched route as a static string.
    pub(crate) route_of: fn(&str) -> &'static str,
}

pub(crate) async fn handle_request(
    State(MiddlewareState { service, route_of }): State<MiddlewareState>,
    request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let cors = Cors(&service.entrance.cors_origins);
    let origin = cors.origin_of(request.headers());
    let route = request.extensions().get::<MatchedPath>().map_or("-", |path| route_of(path.as_str()));
    let id = request_id();
    let remote = peer(&request);
    // Parsed only for a problem.
    let accept: Vec<HeaderValue> = request.headers().get_all(ACCEPT).iter().cloned().collect();
    // Tickets and subscriptions are secrets, and addresses of pictures say who reads what: the log shows the route
    // instead of the path.
    let secret = ["{ticket}", "{subscription}", "{mac}"].iter().any(|part| route.contains(part));
    let shown = if secret { route } else { request.uri().path() };
    let path: String = shown.chars().take(MAX_LOGGED_PATH).collect();

    let span = telemetry::request_span(route, &request, &id);
    let requested = Origin { remote, request: id.clone() };
    let handled = audit::within(requested, run_limited(&service.entrance, route, remote, request, next));
    let mut response = handled.instrument(span.clone()).await;
    let vary = response.headers_mut().remove(VARY);
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        let principal = response.extensions_mut().remove::<Arc<Principal>>();
        response = problem.respond(&service.site, Accept::of_lines(&accept).prefers_xml());
        principal.map(|principal| response.extensions_mut().insert(principal));
    }
    if matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::NOT_FOUND) {
        // The response changes with a credential or when the resource is created.
        response.headers_mut().extend([Caching::Never.header()]);
    }
    add_headers(&mut response, vary, &id, &cors, origin);

    let elapsed = started.elapsed();
    count(&service.entrance, route, &method, response.status(), elapsed);
    telemetry::record_status(&span, response.status());
    let account =
        response.extensions().get::<Arc<Principal>>().map_or("-", |caller| caller.account.name.as_str());
    // Only the path is logged: a query may hold secrets.
    tracing::info!(
        id, %method, path, status = response.status().as_u16(), account, micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX), "request"
    );
    response
}

/// The router behind admission control.
///
/// Refusing must cost little: a request that is refused because of overload never reaches the router and is not logged. The
/// begin and the end of an overload are.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) service: Service,
    pub(crate) router: Router,
}

type Answered = Result<Response, Infallible>;

impl tower::Service<Request> for Entry {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<Ready<Answered>, Map<RouteFuture<Infallible>, fn(Answered) -> Answered>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // A router is always ready.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if self.service.entrance.admission.admits(peer(&request)) {
            let answered = tower::Service::call(&mut self.router, request);
            Either::Right(answered.map(strip_allow_unless_405 as fn(_) -> _))
        } else {
            Either::Left(ready(Ok(refuse(&self.service, &request))))
        }
    }
}

/// The response to a request that is refused because of overload.
fn refuse(service: &Service, request: &Request) -> Response {
    let started = Instant::now();
    let Entrance { cors_origins, refusal, .. } = &*service.entrance;
    let (cors, accept) = (Cors(cors_origins), Accept::of(request.headers()));
    let mut response = if accept.prefers_html() {
        problem_page(&refusal.problem, &service.site)
    } else {
        refusal.respond(accept.prefers_xml())
    };
    add_headers(&mut response, None, &request_id(), &cors, cors.origin_of(request.headers()));
    if request.method() == Method::HEAD {
        // The router does this for all other responses.
        let length = response.body().size_hint().exact().map(HeaderValue::from);
        response.headers_mut().extend(length.map(|length| (CONTENT_LENGTH, length)));
        *response.body_mut() = Body::empty();
    }
    count(&service.entrance, "-", request.method(), response.status(), started.elapsed());
    response
}

/// Counts a response in the metrics and for the operator's page.
fn count(entrance: &Entrance, route: &'static str, method: &Method, status: StatusCode, took: Duration) {
    entrance.history.answered(status);
    telemetry::request(route, method, status, took);
}

/// The address of the client.
fn peer(request: &Request) -> IpAddr {
    request.extensions().get::<Peer>().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0)
}

/// Adds the headers that all responses have.
fn add_headers(
    response: &mut Response,
    vary: Option<HeaderValue>,
    id: &str,
    cors: &Cors<'_>,
    origin: Option<HeaderValue>,
) {
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, HeaderValue::from_str(id).unwrap_or(HeaderValue::from_static("-")));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    headers.insert(VARY, vary.unwrap_or(HeaderValue::from_static("Accept, Accept-Encoding")));
    cors.expose(origin, headers);
}

async fn run_limited(
    entrance: &Entrance,
    route: &'static str,
    remote: IpAddr,
    request: Request,
    next: Next,
) -> Response {
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
    if let Some(answer) = Cors(&entrance.cors_origins).preflight(request.method(), request.headers()) {
        return answer;
    }
    let work = (route, request.method().is_safe());
    let Some(intake) = entrance.capacity.admit(remote, work) else {
        return Problem::busy().into_response();
    };
    let mut request = request.map(|body| intake.meter(body));
    request.extensions_mut().insert(Arc::clone(&intake));
    // A panic fails only its own request.
    let handled = intake.within(REQUEST_TIMEOUT, AssertUnwindSafe(next.run(request)).catch_unwind()).await;
    intake.end_work();
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
fn strip_allow_unless_405(answered: Answered) -> Answered {
    answered.map(|mut response| {
        if response.status() != StatusCode::METHOD_NOT_ALLOWED {
            response.headers_mut().remove(ALLOW);
        }
        response
    })
}

pub(crate) async fn not_found() -> Problem {
    Problem::not_found()
}

/// The fallback outside of the API. Browsers get an HTML page.
pub(crate) async fn not_found_page(State(service): State<Service>, headers: HeaderMap) -> Response {
    problem_for(&service, &headers, Problem::not_found()).await
}

/// Renders problems as pages for browsers, at addresses that are open to browsers and API clients.
pub(crate) async fn problems_for_browsers(
    State(service): State<Service>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers().clone();
    let mut response = next.run(request).await;
    match response.extensions_mut().remove::<Problem>() {
        Some(problem) => problem_for(&service, &headers, problem).await,
        None => response,
    }
}

async fn problem_for(service: &Service, headers: &HeaderMap, problem: Problem) -> Response {
    if Accept::of(headers).prefers_html() {
        problem_page_for(service, headers, &problem).await
    } else {
        problem.into_response()
    }
}

/// An identifier that no other request has, and that says nothing about their number.
fn request_id() -> String {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{:016x}{:08x}", KEY.hash_one(number), KEY.hash_one((number, "end")) >> 32)
}

/// Cross-origin requests: the origins whose scripts may read (`cors_origins`, none by default). Scripts send their own
/// credentials, never a cookie.
struct Cors<'a>(&'a [String]);

impl Cors<'_> {
    /// The request's origin, if it is allowed.
    fn origin_of(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        self.0.iter().any(|known| origin == known.as_str()).then(|| origin.clone())
    }

    /// The response to a preflight request. It needs no credential and reveals nothing.
    fn preflight(&self, method: &Method, headers: &HeaderMap) -> Option<Response> {
        let preflight = method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        (preflight && self.origin_of(headers).is_some()).then(|| {
            let allowed = [
                (ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST, PUT, DELETE"),
                (
                    ACCESS_CONTROL_ALLOW_HEADERS,
                    "Accept, Authorization, Content-Type, If-None-Match, Last-Event-ID, ServiceConsumerKey, ServicePSK",
                ),
                (ACCESS_CONTROL_MAX_AGE, "7200"),
            ];
            (StatusCode::NO_CONTENT, allowed).into_response()
        })
    }

    /// Lets scripts of that origin read the response.
    fn expose(&self, origin: Option<HeaderValue>, headers: &mut HeaderMap) {
        if self.0.is_empty() {
            return;
        }
        headers.append(VARY, HeaderValue::from_static("Origin"));
        if let Some(origin) = origin {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(
                ACCESS_CONTROL_EXPOSE_HEADERS,
                HeaderValue::from_static("Link, ETag, Retry-After, X-Request-Id"),
            );
        }
    }
}

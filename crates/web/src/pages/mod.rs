//! Handlers of the HTML pages. Browsers authenticate with a session cookie; the API has separate addresses, and none of
//! those accepts a cookie. An activity's address serves both: `activity.rs` distinguishes them.
//!
//! GET shows a page. Every change is a form, sent by POST with a CSRF token that is bound to the session and to the
//! form's address. The response redirects to a page, so that reloading repeats nothing.

mod compose;
pub(crate) mod cookie;
mod feed;
pub(crate) mod form;
pub(crate) mod operator;
mod people;
mod person;
mod search;
pub(crate) mod settings;
mod sign_in;
mod unread;

pub(crate) use compose::methods as compose_methods;
pub(crate) use feed::{live_methods, page_methods as feed_methods, raw_methods};
pub(crate) use people::methods as people_methods;
pub(crate) use person::{
    block_methods, follow_methods, mute_methods, remove_follower_methods, show_methods as person_methods,
    unblock_methods, unfollow_methods, unmute_methods,
};
pub(crate) use search::methods as search_methods;
pub(crate) use sign_in::{
    again_methods, code_methods, code_page, home_methods, invited_methods, open_methods as join_methods,
    reset_methods, sign_in_methods, sign_out_methods,
};
pub(crate) use unread::{seen_methods, unread_methods};

use crate::intake::Intake;
use crate::problem::Problem;
use crate::respond::Caching;
use crate::service::Service;
use crate::site::Site;
use crate::views::Failure;
use auth::Auth;
use auth::session::SignedIn;
use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use http::header::{CONTENT_TYPE, LOCATION, SET_COOKIE, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use model::encode_component;
use std::convert::Infallible;
use std::sync::Arc;

/// Routes for an address that only shows a page.
fn get_only(methods: MethodRouter<Service>) -> MethodRouter<Service> {
    methods.fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

/// Routes for an address that only accepts forms.
pub(crate) fn post_only(methods: MethodRouter<Service>) -> MethodRouter<Service> {
    methods.fallback(|| async { Problem::method_not_allowed("POST") })
}

/// Routes for an address that shows a page and accepts its form.
fn get_and_post(methods: MethodRouter<Service>) -> MethodRouter<Service> {
    methods.fallback(|| async { Problem::method_not_allowed("GET, HEAD, POST") })
}

/// Extracts the signed-in user. Visitors are redirected to sign in and return afterwards.
pub(crate) struct Person(pub(crate) SignedIn);

/// Extracts the user if one is signed in.
pub(crate) struct Visitor(pub(crate) Option<SignedIn>);

impl FromRequestParts<Service> for Person {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Person, Response> {
        match signed_in(&service.auth, &parts.headers).await {
            Ok(Some(person)) => {
                begin_work(parts).map_err(IntoResponse::into_response)?;
                Ok(Person(person))
            }
            Ok(None) => {
                // Signing in does not resubmit a form.
                let target = parts.uri.path_and_query().filter(|_| parts.method == Method::GET);
                let then = target.map(|target| format!("?then={}", encode_component(target.as_str())));
                Err(go(&service.site, &format!("/sign-in{}", then.unwrap_or_default())))
            }
            Err(problem) => Err(problem.into_response()),
        }
    }
}

impl FromRequestParts<Service> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Visitor, Infallible> {
        // A public page is shown even if the session cannot be checked.
        Ok(Visitor(signed_in(&service.auth, &parts.headers).await.unwrap_or_default()))
    }
}

/// Counts a request for a page as one in flight. Forms do not count: some of them wait for a password to be hashed.
fn begin_work(parts: &Parts) -> Result<(), Problem> {
    match parts.extensions.get::<Arc<Intake>>() {
        Some(intake) if parts.method == Method::GET => intake.begin_work(),
        _ => Ok(()),
    }
}

/// The user whose session cookie is in the headers.
async fn signed_in(auth: &Auth, headers: &HeaderMap) -> Result<Option<SignedIn>, Problem> {
    match cookie::of(headers) {
        Some(cookie) => Ok(auth.sessions.open(cookie).await?),
        None => Ok(None),
    }
}

/// Middleware: replaces problem documents by error pages.
pub(crate) async fn problems_as_pages(
    State(service): State<Service>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers().clone();
    let mut response = next.run(request).await;
    match response.extensions_mut().remove::<Problem>() {
        Some(problem) => problem_page_for(&service, &headers, &problem).await,
        // The router rejects a path that is not UTF-8 before a handler runs.
        None if response.status() == StatusCode::BAD_REQUEST && !is_page(&response) => {
            problem_page_for(&service, &headers, &Problem::not_found()).await
        }
        None => response,
    }
}

fn is_page(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).map(|kind| kind.as_bytes());
    kind.is_some_and(|kind| kind.starts_with(b"text/html"))
}

/// The problem as an HTML page, with the navigation of the user whose cookie is in the headers.
pub(crate) async fn problem_page_for(service: &Service, headers: &HeaderMap, problem: &Problem) -> Response {
    // The page is shown even if the session cannot be checked.
    let person = signed_in(&service.auth, headers).await.unwrap_or_default();
    page_of(problem, &service.site, person.as_ref())
}

/// The problem as an HTML page for a visitor.
pub(crate) fn problem_page(problem: &Problem, site: &Site) -> Response {
    page_of(problem, site, None)
}

fn page_of(problem: &Problem, site: &Site, person: Option<&SignedIn>) -> Response {
    let kind = problem.kind();
    let mut response = Failure::new(site, person, kind.title, problem.detail()).respond(kind.status);
    for (name, value) in problem.headers().iter().filter(|(name, _)| name != WWW_AUTHENTICATE) {
        response.headers_mut().append(name, value.clone());
    }
    response
}

/// Redirects to a page of this site.
pub(crate) fn go(site: &Site, path: &str) -> Response {
    redirect(&format!("{}{path}", site.base()))
}

/// Redirects to a page of this site and sets cookies.
fn go_with(site: &Site, path: &str, cookies: impl IntoIterator<Item = HeaderValue>) -> Response {
    let mut response = go(site, path);
    for cookie in cookies {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// Redirects to an address, with a GET.
pub(crate) fn redirect(address: &str) -> Response {
    let Ok(address) = HeaderValue::from_str(address) else { return Problem::internal().into_response() };
    (StatusCode::SEE_OTHER, [(LOCATION, address), Caching::Never.header()]).into_response()
}

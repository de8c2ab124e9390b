//! Handlers of the HTML pages. Browsers authenticate with a session cookie; the API has separate addresses, and none of
//! those accepts a cookie. An activity's address serves both: `http/activity.rs` distinguishes them.
//!
//! GET shows a page. Every change is a form, form by POST with a CSRF token that is bound to the session and to the
//! form's address. The response redirects to a page, so that reloading repeats nothing.

mod activity;
pub(super) mod cookie;

mod feed;
pub(super) mod form;
mod join;
pub(super) mod operator;
mod person;
pub(super) mod settings;
mod sign_in;
mod try_api;
mod upload;

pub(super) use activity::{delete_methods, remove_methods, show as show_activity};

pub(super) use feed::{live_methods, page_methods as feed_methods, raw_methods};
pub(super) use join::{invited_methods, open_methods as join_methods, reset_methods};
pub(super) use person::{follow_methods, show_methods as person_methods, unfollow_methods};
pub(super) use sign_in::{home_methods, sign_in_methods, sign_out_methods};
pub(super) use try_api::methods as try_methods;

use super::{Problem, Service};
use crate::auth::session::SignedIn;
use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use model::{Account, AccountName, encode_component};
use std::convert::Infallible;
use std::sync::Arc;

/// Routes for an address that only shows a page.
fn get_only(methods: MethodRouter<Arc<Service>>) -> MethodRouter<Arc<Service>> {
    methods.fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

/// Routes for an address that only accepts forms.
fn post_only(methods: MethodRouter<Arc<Service>>) -> MethodRouter<Arc<Service>> {
    methods.fallback(|| async { Problem::method_not_allowed("POST") })
}

/// Routes for an address that shows a page and accepts its form.
fn get_and_post(methods: MethodRouter<Arc<Service>>) -> MethodRouter<Arc<Service>> {
    methods.fallback(|| async { Problem::method_not_allowed("GET, HEAD, POST") })
}

/// Extracts the signed-in user. Visitors are redirected to sign in and return afterwards.
pub(super) struct Person(pub(super) SignedIn);

/// Extracts the user if one is signed in.
pub(super) struct Visitor(pub(super) Option<SignedIn>);

impl FromRequestParts<Arc<Service>> for Person {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Person, Response> {
        match signed_in(service, &parts.headers).await {
            Ok(Some(person)) => Ok(Person(person)),
            Ok(None) => {
                // Signing in does not resubmit a form.
                let target = parts.uri.path_and_query().filter(|_| parts.method == Method::GET);
                let then = target.map(|target| format!("?then={}", encode_component(target.as_str())));
                Err(service.go(&format!("/sign-in{}", then.unwrap_or_default())))
            }
            Err(problem) => Err(problem.into_response()),
        }
    }
}

impl FromRequestParts<Arc<Service>> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Visitor, Infallible> {
        // A public page is shown even if the session cannot be checked.
        Ok(Visitor(signed_in(service, &parts.headers).await.unwrap_or_default()))
    }
}

/// The user whose session cookie is in the headers.
pub(super) async fn signed_in(service: &Service, headers: &HeaderMap) -> Result<Option<SignedIn>, Problem> {
    match cookie::of(headers) {
        Some(cookie) => Ok(service.authenticator.signed_in(cookie).await?),
        None => Ok(None),
    }
}

/// Middleware: replaces problem documents by error pages.
pub(super) async fn problems_as_pages(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = next.run(request).await;
    match response.extensions_mut().remove::<Problem>() {
        Some(problem) => problem.page(&service.site),
        // The router rejects a path that is not UTF-8 before a handler runs.
        None if response.status() == StatusCode::BAD_REQUEST && !is_page(&response) => {
            Problem::not_found().page(&service.site)
        }
        None => response,
    }
}

fn is_page(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).map(|kind| kind.as_bytes());
    kind.is_some_and(|kind| kind.starts_with(b"text/html"))
}

impl Service {
    /// Redirects to a page of this site.
    pub(super) fn go(&self, path: &str) -> Response {
        redirect(&format!("{}{path}", self.site.base()))
    }

    /// Redirects to a page of this site and sets cookies.
    fn go_with(&self, path: &str, cookies: impl IntoIterator<Item = HeaderValue>) -> Response {
        let mut response = self.go(path);
        for cookie in cookies {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        response
    }

    /// The account with this name, unless it is removed.
    async fn account_named(&self, name: &str) -> Result<Account, Problem> {
        let name = AccountName::parse(name).map_err(|_| Problem::not_found())?;
        let found = self.store.account_by_name(&name).await?.filter(|account| !account.removed);
        found.ok_or_else(Problem::not_found)
    }
}

/// Redirects to an address, with a GET.
pub(super) fn redirect(address: &str) -> Response {
    let Ok(address) = HeaderValue::from_str(address) else { return Problem::internal().into_response() };
    let headers = [(LOCATION, address), (CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (StatusCode::SEE_OTHER, headers).into_response()
}

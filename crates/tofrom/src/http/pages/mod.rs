//! Pages for people. Whoever comes here has a browser and, but for the first pages, a session; programs have addresses of
//! their own, and none of those takes a cookie. An activity's address serves both;
//! `http/activity.rs` tells them apart.
//!
//! A page is shown by GET. Whatever changes something is a form, sent by POST with a field that only this session's
//! pages have, made for the address that the form goes to; its answer is the way back to a page, so that reloading
//! repeats nothing.

mod activity;
pub(super) mod cookie;
mod entry;
mod feed;
pub(super) mod form;
mod join;
pub(super) mod operator;
mod person;
pub(super) mod settings;
mod trying;
mod upload;

pub(super) use activity::{delete_methods, remove_methods, show as show_activity};
pub(super) use entry::{front_methods, sign_in_methods, sign_out_methods};
pub(super) use feed::{live_methods, page_methods as feed_methods, raw_methods};
pub(super) use join::{invited_methods, open_methods as join_methods, reset_methods};
pub(super) use person::{follow_methods, show_methods as person_methods, unfollow_methods};
pub(super) use trying::methods as try_methods;

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

/// The methods of an address that is looked at.
fn shown(methods: MethodRouter<Arc<Service>>) -> MethodRouter<Arc<Service>> {
    methods.fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

/// The methods of an address that forms go to.
fn sent(methods: MethodRouter<Arc<Service>>) -> MethodRouter<Arc<Service>> {
    methods.fallback(|| async { Problem::method_not_allowed("POST") })
}

/// The methods of an address that is both.
fn both(methods: MethodRouter<Arc<Service>>) -> MethodRouter<Arc<Service>> {
    methods.fallback(|| async { Problem::method_not_allowed("GET, HEAD, POST") })
}

/// Somebody who is signed in. Everybody else is sent to sign in, and comes back afterwards.
pub(super) struct Person(pub(super) SignedIn);

/// Somebody who may be signed in.
pub(super) struct Visitor(pub(super) Option<SignedIn>);

impl FromRequestParts<Arc<Service>> for Person {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Person, Response> {
        match signed_in(service, &parts.headers).await {
            Ok(Some(person)) => Ok(Person(person)),
            Ok(None) => {
                // A form is not sent again by signing in.
                let wanted = parts.uri.path_and_query().filter(|_| parts.method == Method::GET);
                let then = wanted.map(|wanted| format!("?then={}", encode_component(wanted.as_str())));
                Err(service.go(&format!("/sign-in{}", then.unwrap_or_default())))
            }
            Err(problem) => Err(problem.into_response()),
        }
    }
}

impl FromRequestParts<Arc<Service>> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Visitor, Infallible> {
        // A page for everybody is shown to everybody, whatever is wrong with a session.
        Ok(Visitor(signed_in(service, &parts.headers).await.unwrap_or_default()))
    }
}

/// Who is signed in with the cookie that the headers bring.
pub(super) async fn signed_in(service: &Service, headers: &HeaderMap) -> Result<Option<SignedIn>, Problem> {
    match cookie::of(headers) {
        Some(cookie) => Ok(service.authenticator.signed_in(cookie).await?),
        None => Ok(None),
    }
}

/// People get a page for a problem, not a document for programs.
pub(super) async fn problems_as_pages(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = next.run(request).await;
    match response.extensions_mut().remove::<Problem>() {
        Some(problem) => problem.page(&service.site),
        // A path that is no text is refused before any of us sees it.
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
    /// Sends a browser to a page of ours.
    pub(super) fn go(&self, path: &str) -> Response {
        redirect(&format!("{}{path}", self.site.base()))
    }

    /// The same, and gives the browser cookies or takes one away.
    fn go_with(&self, path: &str, cookies: impl IntoIterator<Item = HeaderValue>) -> Response {
        let mut response = self.go(path);
        for cookie in cookies {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        response
    }

    /// The account of that name, if it is there.
    async fn account_named(&self, name: &str) -> Result<Account, Problem> {
        let name = AccountName::parse(name).map_err(|_| Problem::not_found())?;
        let found = self.store.account_by_name(&name).await?.filter(|account| !account.removed);
        found.ok_or_else(Problem::not_found)
    }
}

/// Sends a browser somewhere, with a GET.
pub(super) fn redirect(address: &str) -> Response {
    let Ok(address) = HeaderValue::from_str(address) else { return Problem::internal().into_response() };
    let headers = [(LOCATION, address), (CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (StatusCode::SEE_OTHER, headers).into_response()
}

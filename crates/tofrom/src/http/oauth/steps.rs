//! `/oauth/request_token` and `/oauth/access_token`: the steps of an application, with POST, or with GET as in OAuth
//! Core 1.0. HEAD is rejected: it would issue a token that the application never sees.

use crate::auth::oauth::Issued;
use crate::http::authenticated::auth_request;
use crate::http::listen::Peer;
use crate::http::{Problem, Service, body};
use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::handler::Handler;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use std::sync::Arc;

pub(in crate::http) fn request_token_methods() -> MethodRouter<Arc<Service>> {
    step(request_token)
}

pub(in crate::http) fn access_token_methods() -> MethodRouter<Arc<Service>> {
    step(access_token)
}

fn step<T: 'static>(handler: impl Handler<T, Arc<Service>>) -> MethodRouter<Arc<Service>> {
    let refuse = || async { Problem::method_not_allowed("GET, POST") };
    get(handler.clone()).post(handler).head(refuse).fallback(refuse)
}

async fn request_token(
    State(service): State<Arc<Service>>,
    Extension(Peer(address)): Extension<Peer>,
    request: Request,
) -> Result<Response, Problem> {
    let (head, sent) = request.into_parts();
    let whole = body::read(sent, body::MAX_FORM).await?;
    let form = body::is_form(&head.headers).then_some(&*whole);
    let request = Request::from_parts(head, Body::empty());
    let auth_request = auth_request(&service, &request, form, address);
    let issued = service.authenticator.request_token(&auth_request, &whole).await?;
    Ok(form_response(&issued, "&oauth_callback_confirmed=true"))
}

async fn access_token(
    State(service): State<Arc<Service>>,
    Extension(Peer(address)): Extension<Peer>,
    request: Request,
) -> Result<Response, Problem> {
    let (head, sent) = request.into_parts();
    let whole = body::read(sent, body::MAX_FORM).await?;
    let form = body::is_form(&head.headers).then_some(&*whole);
    let request = Request::from_parts(head, Body::empty());
    let auth_request = auth_request(&service, &request, form, address);
    let issued = service.authenticator.exchange(&auth_request, &whole).await?;
    Ok(form_response(&issued, ""))
}

/// The token and its secret, which are shown only once. Both have only characters that need no form encoding.
fn form_response(issued: &Issued, suffix: &str) -> Response {
    let body = format!("oauth_token={}&oauth_token_secret={}{suffix}", issued.key, issued.secret.as_str());
    let headers = [(CONTENT_TYPE, "application/x-www-form-urlencoded"), (CACHE_CONTROL, "no-store")];
    (headers, body).into_response()
}

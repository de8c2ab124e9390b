//! `/oauth/request_token` and `/oauth/access_token`: the steps that an application takes, with POST, or with GET as
//! OAuth Core 1.0 showed. HEAD is refused: it would issue a token that nobody gets to see.

use crate::auth::oauth::Issued;
use crate::http::authenticated::asking;
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
    let asking = asking(&service, &request, form, address);
    let issued = service.authenticator.request_token(&asking, &whole).await?;
    Ok(as_form(&issued, "&oauth_callback_confirmed=true"))
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
    let asking = asking(&service, &request, form, address);
    let issued = service.authenticator.exchange(&asking, &whole).await?;
    Ok(as_form(&issued, ""))
}

/// A token and its secret, the one time that they are told. Both are of letters that a form takes as they are.
fn as_form(issued: &Issued, more: &str) -> Response {
    let body = format!("oauth_token={}&oauth_token_secret={}{more}", issued.key, issued.secret.as_str());
    let headers = [(CONTENT_TYPE, "application/x-www-form-urlencoded"), (CACHE_CONTROL, "no-store")];
    (headers, body).into_response()
}

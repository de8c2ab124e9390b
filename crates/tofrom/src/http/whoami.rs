//! `GET /200909/whoami`: what a credential stands for. `DELETE /200909/whoami/token`: the token that signs ends itself.

use super::authenticated::Caller;
use super::negotiate::Accept;
use super::{Problem, Service, answer};
use crate::auth::{AuthError, Method};
use crate::render::Renderer;
use axum::extract::{Extension, Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, delete, get};
use http::StatusCode;
use model::Format;
use std::sync::Arc;

/// Atom has no form for a caller.
const OFFERS: &[Format] = &[Format::Xml, Format::Json, Format::FastInfoset];

pub(super) fn methods() -> MethodRouter<Arc<Service>> {
    get(tell).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(super) fn token_methods() -> MethodRouter<Arc<Service>> {
    delete(end_token).fallback(|| async { Problem::method_not_allowed("DELETE") })
}

async fn end_token(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
) -> Result<StatusCode, Problem> {
    let Method::OAuth(token) = &caller.method else { return Err(AuthError::NotAToken.into()) };
    service.authenticator.revoke(token).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn tell(Extension(caller): Caller, request: Request) -> Result<Response, Problem> {
    let format =
        Accept::of(request.headers()).choose(OFFERS).ok_or_else(|| Problem::not_acceptable(OFFERS))?;
    let body = Renderer::fields("WhoAmI", format, |field| {
        field("Account", caller.account.name.as_str());
        field("Method", caller.method.as_str());
        field("Scopes", caller.scopes.as_str());
        if let Some(consumer) = &caller.consumer {
            field("Consumer", &consumer.key);
        }
    });
    let body = body.ok_or_else(|| Problem::not_acceptable(OFFERS))?;
    Ok(answer(body, format))
}

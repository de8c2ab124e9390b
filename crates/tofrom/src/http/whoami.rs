//! `GET /200909/whoami`: the authenticated account. `DELETE /200909/whoami/token`: revokes the token that signs.

use super::authenticated::Caller;
use super::negotiate::Accept;
use super::{Problem, Service, private_document};
use crate::auth::{AuthError, Method};
use crate::render::Renderer;
use axum::extract::{Extension, Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, delete, get};
use http::StatusCode;
use model::Format;
use std::sync::Arc;

/// Atom has no representation of a caller.
const OFFERS: &[Format] = &[Format::Xml, Format::Json, Format::FastInfoset];

pub(super) fn methods() -> MethodRouter<Arc<Service>> {
    get(show).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(super) fn token_methods() -> MethodRouter<Arc<Service>> {
    delete(revoke_token).fallback(|| async { Problem::method_not_allowed("DELETE") })
}

async fn revoke_token(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
) -> Result<StatusCode, Problem> {
    let Method::OAuth(token) = &caller.method else { return Err(AuthError::NotAToken.into()) };
    service.authenticator.revoke(token).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn show(Extension(caller): Caller, request: Request) -> Result<Response, Problem> {
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
    Ok(private_document(body, format))
}

//! `/websub/{subscription}`: where hubs tell of news. Whoever knows the address is a hub that was asked; what it sends
//! counts only with its signature.

use super::{Problem, Service, body};
use crate::sources::Told;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use model::SourceId;
use std::sync::Arc;

/// The longest news.
const MAX_NEWS: usize = 5 << 20;

pub(super) fn methods() -> MethodRouter<Arc<Service>> {
    get(verify).post(told).fallback(|| async { Problem::method_not_allowed("GET, HEAD, POST") })
}

/// A hub asks whether it was asked.
async fn verify(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let id = SourceId::parse(&id).ok_or_else(Problem::not_found)?;
    let query = request.uri().query().unwrap_or_default().as_bytes();
    let said = |name: &str| super::pages::form::field(query, name).unwrap_or_default();
    let lease = said("hub.lease_seconds").parse().ok();
    if !service.sources.verify(id, &said("hub.mode"), &said("hub.topic"), lease).await? {
        return Err(Problem::not_found());
    }
    // Whatever the challenge is, no browser may take it for a page.
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], said("hub.challenge")).into_response())
}

/// A hub tells of news. What is not signed as agreed gets the same answer and is let go.
async fn told(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let id = SourceId::parse(&id).ok_or_else(Problem::not_found)?;
    // Before anything of the body is read: only a hub that was asked may send megabytes.
    if !service.sources.has_subscription(id).await? {
        return Err(Problem::not_found());
    }
    if !service.sources.may_tell(id) {
        return Err(Problem::too_often());
    }
    let (head, sent) = request.into_parts();
    let news = body::read(sent, MAX_NEWS).await?;
    let text = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let told = service.sources.told(id, text("x-hub-signature"), text(CONTENT_TYPE.as_str()), &news).await?;
    let status = match told {
        Told::Nobody => StatusCode::GONE,
        Told::Dropped | Told::Brought(_) => StatusCode::ACCEPTED,
    };
    Ok(status.into_response())
}

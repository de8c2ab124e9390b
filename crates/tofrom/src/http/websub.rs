//! `/websub/{subscription}`: the callback of WebSub hubs. The address contains a secret that only the hub of the
//! subscription knows. Notifications count only with a valid signature.

use super::{Problem, Service, body};
use crate::sources::NotificationOutcome;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use model::SourceId;
use std::sync::Arc;

/// The maximum size of a notification.
const MAX_NOTIFICATION: usize = 5 << 20;

pub(super) fn methods() -> MethodRouter<Arc<Service>> {
    get(verify).post(notify).fallback(|| async { Problem::method_not_allowed("GET, HEAD, POST") })
}

/// Verification of intent: a hub confirms a subscription or its end.
async fn verify(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let id = SourceId::parse(&id).ok_or_else(Problem::not_found)?;
    let query = request.uri().query().unwrap_or_default().as_bytes();
    let parameter = |name: &str| super::pages::form::field(query, name).unwrap_or_default();
    let lease = parameter("hub.lease_seconds").parse().ok();
    if !service.sources.verify(id, &parameter("hub.mode"), &parameter("hub.topic"), lease).await? {
        return Err(Problem::not_found());
    }
    // The content type keeps browsers from rendering the challenge as a page.
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], parameter("hub.challenge")).into_response())
}

/// A notification with new content. An unsigned or wrongly signed one gets the same response and is dropped.
async fn notify(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let id = SourceId::parse(&id).ok_or_else(Problem::not_found)?;
    // Checked before the body is read: only the hub of a subscription may send megabytes.
    if !service.sources.has_subscription(id).await? {
        return Err(Problem::not_found());
    }
    if !service.sources.may_notify(id) {
        return Err(Problem::too_often());
    }
    let (head, sent) = request.into_parts();
    let content = body::read(sent, MAX_NOTIFICATION).await?;
    let text = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let outcome = service
        .sources
        .handle_notification(id, text("x-hub-signature"), text(CONTENT_TYPE.as_str()), &content)
        .await?;
    let status = match outcome {
        NotificationOutcome::Unwanted => StatusCode::GONE,
        NotificationOutcome::Dropped | NotificationOutcome::Imported(_) => StatusCode::ACCEPTED,
    };
    Ok(status.into_response())
}

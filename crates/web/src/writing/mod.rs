//! Writing activities over HTTP: `/200909/activity/{user}/from/{service}/{source}`, an activity by its external key, and
//! `DELETE /200909/activity/{user}/to/{activity}`, by which a recipient removes an activity from their `to`.
//!
//! `batch` accepts many activities at once.

mod batch;

use crate::body;
use crate::extract::{Caller, ItemPath, MemberPath, Parameters, ReadableAccount, WritableAccount};
use crate::parse::{format_of_media_type, read_activity};
use crate::problem::Problem;
use crate::service::{Collections, Service, Writer};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use domain::ingest::{MAX_BODY, RawValue, Submission};
use http::header::LOCATION;
use http::{HeaderMap, StatusCode};
use model::{Format, may_see};
use std::sync::Arc;

/// The supported media types, for the problem document.
const ACCEPTS: &str = "application/xml, application/atom+xml, application/json, application/fastinfoset";

pub(crate) fn item_methods() -> MethodRouter<Service> {
    get(read)
        .put(put)
        .delete(delete)
        .fallback(|| async { Problem::method_not_allowed("GET, HEAD, PUT, DELETE") })
}

pub(crate) fn removal_methods() -> MethodRouter<Service> {
    axum::routing::delete(remove).fallback(|| async { Problem::method_not_allowed("DELETE") })
}

async fn put(
    State(writer): State<Arc<Writer>>,
    Caller(caller): Caller,
    WritableAccount(actor): WritableAccount,
    path: ItemPath,
    request: Request,
) -> Result<Response, Problem> {
    let (name, source_id) = path.names()?;
    let (head, sent) = request.into_parts();
    let format =
        body::format_of(&head.headers, ACCEPTS, |essence| format_of_media_type(essence).ok().flatten())?;
    let mut raw = read_activity(&body::read(sent, MAX_BODY).await?, format)?;
    body::release(&head.extensions);
    // Service and id come from the path, not from the body.
    raw.service.name = RawValue::text(name.as_str());
    raw.source_id = RawValue::text(source_id);
    let mut outcomes = writer.submit(&caller, &actor, vec![Submission { raw, format }]).await?;
    let outcome = outcomes.next().ok_or_else(Problem::internal)??;
    let status = if outcome.new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, [(LOCATION, writer.site.activity_url(outcome.id))]).into_response())
}

async fn delete(
    State(writer): State<Arc<Writer>>,
    WritableAccount(actor): WritableAccount,
    path: ItemPath,
) -> Result<StatusCode, Problem> {
    if !writer.ingest.delete(&path.external_key(actor.uid)?).await? {
        return Err(Problem::not_found());
    }
    writer.hub.wrote();
    Ok(StatusCode::NO_CONTENT)
}

/// For callers that may see it in the account's `from`.
async fn read(
    State(collections): State<Arc<Collections>>,
    State(writer): State<Arc<Writer>>,
    ReadableAccount { account: actor, reader }: ReadableAccount,
    path: ItemPath,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let source = path.external_key(actor.uid)?;
    let found = writer.ingest.activity(&source).await?;
    let activity = found
        .filter(|activity| {
            may_see(reader, actor.uid, &activity.state, &actor, false)
                && collections.retains(activity.state.received)
        })
        .ok_or_else(Problem::not_found)?;
    let format = parameters.choose(&headers, &Format::ALL)?;
    collections.show(&actor, &activity, format, &headers)
}

async fn remove(
    State(collections): State<Arc<Collections>>,
    State(writer): State<Arc<Writer>>,
    WritableAccount(owner): WritableAccount,
    path: MemberPath,
) -> Result<StatusCode, Problem> {
    let state = collections.received_activity(&owner, path.activity()?).await?;
    writer.remove(&owner, &state).await?;
    Ok(StatusCode::NO_CONTENT)
}

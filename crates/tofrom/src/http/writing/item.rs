//! `/200909/activity/{user}/from/{service}/{source}`: an activity by its external key.

use super::super::authenticated::Caller;
use super::super::negotiate::Coding;
use super::super::{Problem, Service, body, coding, conditional};
use super::address::ItemAddress;
use super::incoming;
use super::parameters::Parameters;
use super::submit::Submission;
use crate::ingest::{MAX_BODY, RawValue, format_of_media_type, read_activity};
use axum::body::{Body, Bytes};
use axum::extract::{Extension, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, LOCATION};
use http::{HeaderMap, HeaderValue, StatusCode};
use model::{Account, Activity, Format, Millis, may_see};
use std::io;
use std::sync::Arc;

/// The supported media types, for the problem document.
const ACCEPTS: &str = "application/xml, application/atom+xml, application/json, application/fastinfoset";

pub(in crate::http) fn methods() -> MethodRouter<Arc<Service>> {
    get(read)
        .put(put)
        .delete(delete)
        .fallback(|| async { Problem::method_not_allowed("GET, HEAD, PUT, DELETE") })
}

async fn put(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let address = ItemAddress::parse(request.uri().path());
    let user = address.as_ref().map(|address| address.user.clone());
    let actor = service.open_for_writing(&caller, user).await?;
    let (name, source_id) = address.ok_or_else(Problem::not_found)?.names()?;
    let (head, sent) = request.into_parts();
    let form =
        incoming::kind_of(&head.headers, ACCEPTS, |essence| format_of_media_type(essence).ok().flatten())?;
    let mut raw = read_activity(&body::read(sent, MAX_BODY).await?, form)?;
    body::release(&head.extensions);
    // Service and id come from the path, not from the body.
    raw.service.name = RawValue::text(name.as_str());
    raw.source_id = RawValue::text(source_id);
    let submitted = vec![Ok(Submission { raw, form })];
    let outcome = service.submit(&caller, &actor, submitted).await?;
    let outcome = outcome.into_iter().next().ok_or_else(Problem::internal)??;
    let status = if outcome.new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, [(LOCATION, service.site.activity_url(outcome.id))]).into_response())
}

async fn delete(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<StatusCode, Problem> {
    let address = ItemAddress::parse(request.uri().path());
    let user = address.as_ref().map(|address| address.user.clone());
    let actor = service.open_for_writing(&caller, user).await?;
    let source = address.and_then(|address| address.source(actor.uid)).ok_or_else(Problem::not_found)?;
    if !service.ingest.delete(&source).await? {
        return Err(Problem::not_found());
    }
    service.hub.wrote();
    Ok(StatusCode::NO_CONTENT)
}

/// For callers that may see it in the account's `from`.
async fn read(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let address = ItemAddress::parse(request.uri().path()).ok_or_else(Problem::not_found)?;
    let (actor, reader) = service.open_collection(&caller, &address.user).await?;
    let source = address.source(actor.uid).ok_or_else(Problem::not_found)?;
    let found = service.existing(std::slice::from_ref(&source)).await?.remove(&source);
    let activity = found
        .filter(|activity| {
            may_see(reader, actor.uid, &activity.state, &actor) && service.retains(activity.state.received)
        })
        .ok_or_else(Problem::not_found)?;
    let format = Parameters::of(request.uri()).choose(request.headers(), &Format::ALL)?;
    service.show(&actor, &activity, format, request.headers())
}

impl Service {
    /// Whether an activity received at that time is still shown.
    pub(in crate::http) fn retains(&self, received: Millis) -> bool {
        let age = self.clock.now().0.saturating_sub(received.0);
        self.retention.is_none_or(|longest| u128::try_from(age).unwrap_or(0) <= longest.as_millis())
    }

    /// The activity in the requested format.
    pub(in crate::http) fn show(
        &self,
        actor: &Account,
        activity: &Activity,
        format: Format,
        headers: &HeaderMap,
    ) -> Result<Response, Problem> {
        let accepted = Coding::choose(headers);
        let tag = entity_tag(actor, activity, format, accepted);
        let mut response = if conditional::is_not_modified(headers, &tag) {
            // The body has no stated length, because the length of an empty one would be taken for that of the activity.
            (StatusCode::NOT_MODIFIED, Body::from_stream(futures::stream::empty::<io::Result<Bytes>>()))
                .into_response()
        } else {
            let written = self.renderer.single(&activity.state, actor, &activity.body, format);
            let (used, body) = coding::encode(accepted, written);
            let mut response = body.into_response();
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
            if used != Coding::Identity {
                response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(used.as_str()));
            }
            response
        };
        let out = response.headers_mut();
        out.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        out.insert(ETAG, HeaderValue::from_str(&tag).map_err(|_| Problem::internal())?);
        Ok(response)
    }
}

/// The versions of one external key only increase, even across a deletion. Together with the version of the account,
/// whose name is shown, they identify the content.
fn entity_tag(actor: &Account, activity: &Activity, format: Format, coding: Coding) -> String {
    let (content, actor) = (activity.state.version.0, actor.version.0);
    format!("W/\"{content:x}.{actor:x}.{}.{}\"", format.as_str(), coding.as_str())
}

//! `/200909/user/{user}/sources` and `/200909/user/{user}/sources/{name}`: the sources of an account.
//!
//! `/websub/{subscription}` is the callback of the sources' WebSub hubs. The address contains a secret that only the hub of
//! the subscription knows. Notifications count only with a valid signature.

use super::fields::{OFFERS, Row, Texts, flag, format_of, list, one, refused, texts};
use crate::body;
use crate::extract::{MemberPath, Parameters, PrivateAccount, WritableAccount};
use crate::pages::form::field;
use crate::problem::Problem;
use crate::respond::Representation;
use crate::service::Service;
use crate::site::Site;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use domain::ingest::{Draft, MAX_BODY};
use domain::live::Hub;
use domain::sources::{Listed, NotConnected, NotificationOutcome, Preview, Sources};
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderMap, StatusCode};
use model::{Clock, Millis, SourceId, category};
use std::sync::Arc;

/// The maximum size of a notification.
const MAX_NOTIFICATION: usize = 5 << 20;

pub(crate) fn all_methods() -> MethodRouter<Service> {
    get(show_all).post(preview).fallback(|| async { Problem::method_not_allowed("GET, HEAD, POST") })
}

pub(crate) fn one_methods() -> MethodRouter<Service> {
    get(show)
        .put(put)
        .delete(remove)
        .fallback(|| async { Problem::method_not_allowed("GET, HEAD, PUT, DELETE") })
}

pub(crate) fn websub_methods() -> MethodRouter<Service> {
    get(verify).post(notify).fallback(|| async { Problem::method_not_allowed("GET, HEAD, POST") })
}

/// Only the account itself and operators see its sources, even if its collections are public.
async fn show_all(
    State(sources): State<Sources>,
    PrivateAccount(account): PrivateAccount,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let format = parameters.choose(&headers, OFFERS)?;
    let rows: Vec<Row> = sources.list(&account).await?.iter().map(row).collect();
    Representation::private(format).respond(|| list(("Sources", "Source"), &rows, format))
}

async fn show(
    State(sources): State<Sources>,
    PrivateAccount(account): PrivateAccount,
    path: MemberPath,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let format = parameters.choose(&headers, OFFERS)?;
    let name = path.text().ok_or_else(Problem::not_found)?;
    let found = sources.find(&account, &name).await?.ok_or_else(Problem::not_found)?;
    Representation::private(format).respond(|| one("Source", &row(&found), format))
}

/// The activities that an address would import. Nothing is stored.
async fn preview(
    State(sources): State<Sources>,
    State(clock): State<Clock>,
    WritableAccount(account): WritableAccount,
    parameters: Parameters,
    request: Request,
) -> Result<Response, Problem> {
    let format = parameters.choose(request.headers(), OFFERS)?;
    let (head, sent) = request.into_parts();
    let fields = fields(&head.headers, sent).await?;
    let address = required(address(&fields)?)?;
    let now = clock.now();
    let found = sources.preview(&account, &address).await?;
    let rows: Vec<Row> = found.activities.iter().map(|draft| previewed(&found, draft, now)).collect();
    Representation::private(format).respond(|| list(("Preview", "Activity"), &rows, format))
}

/// Connects a source, or pauses or resumes it.
async fn put(
    State(sources): State<Sources>,
    State(hub): State<Arc<Hub>>,
    State(site): State<Site>,
    WritableAccount(account): WritableAccount,
    path: MemberPath,
    request: Request,
) -> Result<Response, Problem> {
    let name = path.text().ok_or(NotConnected::BadName)?;
    let (head, sent) = request.into_parts();
    let fields = fields(&head.headers, sent).await?;
    let paused = fields.get("Paused").map(|value| flag("Paused", value)).transpose()?.flatten();
    let existing = sources.find(&account, &name).await?;
    let address = address(&fields)?;
    let is_same = |existing: &Listed| address.as_ref().is_none_or(|address| existing.is_at(address));
    let is_new = match &existing {
        Some(existing) if is_same(existing) => false,
        _ => sources.connect(&account, Some(&name), &required(address)?).await?.is_new,
    };
    if let Some(paused) = paused {
        sources.pause(&account, &name, paused).await?;
    }
    hub.wrote();
    if is_new {
        let address = format!("{}/200909/user/{}/sources/{name}", site.base(), account.name);
        return Ok((StatusCode::CREATED, [(LOCATION, address)]).into_response());
    }
    Ok(StatusCode::OK.into_response())
}

/// Disconnects a source. `activities=true` also deletes the imported activities.
async fn remove(
    State(sources): State<Sources>,
    State(hub): State<Arc<Hub>>,
    WritableAccount(account): WritableAccount,
    path: MemberPath,
    parameters: Parameters,
) -> Result<StatusCode, Problem> {
    let name = path.text().ok_or_else(Problem::not_found)?;
    let value = parameters.flag("activities")?.unwrap_or(false);
    let deleted = sources.disconnect(&account, &name, value).await?;
    hub.wrote();
    deleted.map(|_| StatusCode::NO_CONTENT).ok_or_else(Problem::not_found)
}

async fn fields(headers: &HeaderMap, sent: Body) -> Result<Texts, Problem> {
    let form = format_of(headers)?;
    texts(&body::read(sent, MAX_BODY).await?, form, "Source")
}

/// The address, which is required here.
fn required(address: Option<String>) -> Result<String, Problem> {
    Ok(address.ok_or_else(|| refused("Address", "required: the address of a web page or a feed"))?)
}

fn address(fields: &Texts) -> Result<Option<String>, Problem> {
    let Some(value) = fields.get("Address") else { return Ok(None) };
    let text = value.as_deref().ok_or_else(|| refused("Address", "expected a string"))?;
    Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
}

/// The fields of a source.
fn row(listed: &Listed) -> Row {
    let wish = &listed.connection.settings;
    let known = listed.source.as_ref().map(|source| &source.known);
    let time = |at: Option<Millis>| at.map(Millis::with_offset);
    let value = [
        ("Name", Some(listed.connection.name.clone())),
        ("Address", Some(listed.address())),
        ("Service", Some(wish.service.clone())),
        ("Title", known.and_then(|known| known.title.clone())),
        ("Page", wish.page.as_ref().map(ToString::to_string)),
        ("Verified", Some(wish.verified.is_some().to_string())),
        ("Paused", Some(wish.paused.to_string())),
        ("Well", Some(listed.health.well.to_string())),
        ("Health", Some(listed.health.words.clone())),
        ("CheckedDate", time(known.and_then(|known| known.checked))),
        ("NextDate", time(listed.source.as_ref().and_then(|source| source.due))),
    ];
    value.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into()))).collect()
}

/// The fields of a previewed activity.
fn previewed(found: &Preview, draft: &Draft, now: Millis) -> Row {
    let value = [
        ("Title", Some(draft.body.title.clone())),
        ("Category", Some(category(&draft.kind, &draft.verb))),
        ("Service", Some(found.service.clone())),
        ("Url", draft.body.object.url.clone()),
        ("PublishedDate", Some(draft.published.unwrap_or(now).with_offset())),
        ("SourceId", Some(draft.body.source_id.clone())),
        ("Address", Some(found.address.to_string())),
    ];
    value.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into()))).collect()
}

/// Verification of intent: a hub confirms a subscription or its end.
async fn verify(
    State(sources): State<Sources>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let id = SourceId::parse(&id).ok_or_else(Problem::not_found)?;
    let query = request.uri().query().unwrap_or_default().as_bytes();
    let parameter = |name: &str| field(query, name).unwrap_or_default();
    let lease = parameter("hub.lease_seconds").parse().ok();
    if !sources.verify(id, &parameter("hub.mode"), &parameter("hub.topic"), lease).await? {
        return Err(Problem::not_found());
    }
    // The content type keeps browsers from rendering the challenge as a page.
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], parameter("hub.challenge")).into_response())
}

/// A notification with new content. An unsigned or wrongly signed one gets the same response and is dropped.
async fn notify(
    State(sources): State<Sources>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let id = SourceId::parse(&id).ok_or_else(Problem::not_found)?;
    // Checked before the body is read: only the hub of a subscription may send megabytes.
    if !sources.has_subscription(id).await? {
        return Err(Problem::not_found());
    }
    if !sources.may_notify(id) {
        return Err(Problem::too_often());
    }
    let (head, sent) = request.into_parts();
    let content = body::read(sent, MAX_NOTIFICATION).await?;
    let text = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let outcome = sources
        .handle_notification(id, text("x-hub-signature"), text(CONTENT_TYPE.as_str()), &content)
        .await?;
    let status = match outcome {
        NotificationOutcome::Unwanted => StatusCode::GONE,
        NotificationOutcome::Dropped | NotificationOutcome::Imported(_) => StatusCode::ACCEPTED,
    };
    Ok(status.into_response())
}

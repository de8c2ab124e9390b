//! `/200909/user/{user}/sources` and `/200909/user/{user}/sources/{name}`: the sources of an account.

use super::super::authenticated::Caller;
use super::super::writing::address::{segments, user};
use super::super::writing::parameters::Parameters;
use super::super::{Problem, Service, body, private_document};
use super::representation::{OFFERS, Row, list};
use super::texts::{Texts, flag, form, refused, texts};
use crate::auth::Principal;
use crate::ingest::{Draft, MAX_BODY};
use crate::render::Renderer;
use crate::sources::{Listed, NotConnected, Preview};
use axum::extract::{Extension, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use http::header::LOCATION;
use http::{HeaderMap, StatusCode, Uri};
use model::{Account, Millis, category};
use std::sync::Arc;

pub(in crate::http) fn all_methods() -> MethodRouter<Arc<Service>> {
    get(show_all).post(preview).fallback(|| async { Problem::method_not_allowed("GET, HEAD, POST") })
}

pub(in crate::http) fn one_methods() -> MethodRouter<Arc<Service>> {
    get(show)
        .put(put)
        .delete(remove)
        .fallback(|| async { Problem::method_not_allowed("GET, HEAD, PUT, DELETE") })
}

/// Only the account itself and operators see its sources, even if its collections are public.
async fn show_all(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let account = service.open_sources(&caller, request.uri()).await?;
    let format = Parameters::of(request.uri()).choose(request.headers(), OFFERS)?;
    let rows: Vec<Row> = service.sources.list(&account).await?.iter().map(row).collect();
    Ok(private_document(list(("Sources", "Source"), &rows, format), format))
}

async fn show(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let account = service.open_sources(&caller, request.uri()).await?;
    let format = Parameters::of(request.uri()).choose(request.headers(), OFFERS)?;
    let name = name_in(request.uri()).ok_or_else(Problem::not_found)?;
    let found = service.sources.find(&account, &name).await?.ok_or_else(Problem::not_found)?;
    let row = row(&found);
    let body =
        Renderer::fields("Source", format, |field| row.iter().for_each(|(name, value)| field(name, value)));
    Ok(private_document(body.ok_or_else(|| Problem::not_acceptable(OFFERS))?, format))
}

/// The activities that an address would import. Nothing is stored.
async fn preview(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let account = service.open_for_writing(&caller, user(request.uri().path())).await?;
    let format = Parameters::of(request.uri()).choose(request.headers(), OFFERS)?;
    let (head, sent) = request.into_parts();
    let fields = fields(&head.headers, sent).await?;
    let address = required(address(&fields)?)?;
    let now = service.clock.now();
    let found = service.sources.preview(&account, &address).await?;
    let rows: Vec<Row> = found.activities.iter().map(|draft| previewed(&found, draft, now)).collect();
    Ok(private_document(list(("Preview", "Activity"), &rows, format), format))
}

/// Connects a source, or pauses or resumes it.
async fn put(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let account = service.open_for_writing(&caller, user(request.uri().path())).await?;
    let name = name_in(request.uri()).ok_or(NotConnected::BadName)?;
    let (head, sent) = request.into_parts();
    let fields = fields(&head.headers, sent).await?;
    let paused = fields.get("Paused").map(|value| flag("Paused", value)).transpose()?.flatten();
    let existing = service.sources.find(&account, &name).await?;
    let address = address(&fields)?;
    let is_same = |existing: &Listed| address.as_ref().is_none_or(|address| existing.is_at(address));
    let is_new = match &existing {
        Some(existing) if is_same(existing) => false,
        _ => service.sources.connect(&account, Some(&name), &required(address)?).await?.is_new,
    };
    if let Some(paused) = paused {
        service.sources.pause(&account, &name, paused).await?;
    }
    service.hub.wrote();
    if is_new {
        let address = format!("{}/200909/user/{}/sources/{name}", service.site.base(), account.name);
        return Ok((StatusCode::CREATED, [(LOCATION, address)]).into_response());
    }
    Ok(StatusCode::OK.into_response())
}

/// Disconnects a source. `activities=true` also deletes the imported activities.
async fn remove(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<StatusCode, Problem> {
    let account = service.open_for_writing(&caller, user(request.uri().path())).await?;
    let name = name_in(request.uri()).ok_or_else(Problem::not_found)?;
    let value = Parameters::of(request.uri()).flag("activities")?.unwrap_or(false);
    let deleted = service.sources.disconnect(&account, &name, value).await?;
    service.hub.wrote();
    deleted.map(|_| StatusCode::NO_CONTENT).ok_or_else(Problem::not_found)
}

impl Service {
    /// The account whose sources the caller may see: itself, or any account for an operator.
    async fn open_sources(&self, caller: &Principal, uri: &Uri) -> Result<Arc<Account>, Problem> {
        let name = user(uri.path()).ok_or_else(Problem::not_found)?;
        if caller.account.name == name {
            return Ok(Arc::clone(&caller.account));
        }
        let found = self.store.account_by_name(&name).await?.filter(|account| !account.removed);
        found.filter(|_| caller.is_operator()).map(Arc::new).ok_or_else(Problem::not_found)
    }
}

/// The name of the source in the path, if it is valid.
fn name_in(uri: &Uri) -> Option<String> {
    segments(uri.path()).nth(2).flatten()
}

async fn fields(headers: &HeaderMap, sent: axum::body::Body) -> Result<Texts, Problem> {
    let form = form(headers)?;
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
    value.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
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
    value.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

//! `/200909/activity/{user}/{to|from|tofrom}/seen` and `…/unread`: how far an account has read a collection, and how many
//! activities arrived since.
//!
//! Both are for the account itself and operators. The scope `read` is enough to move the position: it is the reader's own
//! place, and the short-lived key of a browser must be able to move it.

use crate::body;
use crate::extract::{CollectionPath, FeedParams, PrivateAccount};
use crate::negotiate::Accept;
use crate::problem::Problem;
use crate::render::Renderer;
use crate::respond::Representation;
use crate::service::{Collections, Service};
use crate::users::fields::{OFFERS, format_of, texts};
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get, put};
use domain::ingest::MAX_BODY;
use domain::live::Hub;
use http::{HeaderMap, StatusCode};
use model::{CursorKeys, FeedQuery, ParameterError, RawQuery, Start, SyncToken};
use std::sync::Arc;

pub(crate) fn seen_methods() -> MethodRouter<Service> {
    put(move_seen).fallback(|| async { Problem::method_not_allowed("PUT") })
}

pub(crate) fn unread_methods() -> MethodRouter<Service> {
    get(count).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

/// Counts the unread activities.
async fn count(
    State(collections): State<Arc<Collections>>,
    CollectionPath(collection): CollectionPath,
    PrivateAccount(owner): PrivateAccount,
    headers: HeaderMap,
    FeedParams(raw): FeedParams,
) -> Result<Response, Problem> {
    let query = collections.site.query(&raw, owner.uid, collection)?;
    let format = match query.format {
        Some(format) => Some(format).filter(|format| OFFERS.contains(format)),
        None => Accept::of(&headers).choose(OFFERS),
    };
    let format = format.ok_or_else(|| Problem::not_acceptable(OFFERS))?;
    let unread = collections.feed.unread(&owner, &query).await?;
    let url = collections.site.collection_url(&owner.name, &query.from(Start::Updates(unread.sync_token)));
    let body = Renderer::fields("Unread", format, |field| {
        field("Count", &unread.count.to_string());
        field("AtLeast", if unread.at_least { "true" } else { "false" });
        field("Url", &url);
    });
    let body = body.ok_or_else(|| Problem::not_acceptable(OFFERS))?;
    Representation::private(format).respond(|| body)
}

/// Moves the seen position forward: to the cursor in the body, or without a body to all that the collection shows now.
async fn move_seen(
    State(collections): State<Arc<Collections>>,
    State(hub): State<Arc<Hub>>,
    CollectionPath(collection): CollectionPath,
    PrivateAccount(owner): PrivateAccount,
    request: Request,
) -> Result<StatusCode, Problem> {
    let query = collections.site.query(&RawQuery::default(), owner.uid, collection)?;
    let (head, sent) = request.into_parts();
    let body = body::read(sent, MAX_BODY).await?;
    let sync_token = match body.is_empty() {
        true => collections.feed.seen_now(&query).await?,
        false => read_cursor(&query, &head.headers, &body, collections.site.cursor_keys())?,
    };
    if collections.feed.mark_seen(&query, &sync_token).await? {
        hub.seen_moved(collections.store.as_ref(), owner.uid).await;
    }
    Ok(StatusCode::NO_CONTENT)
}

fn read_cursor(
    query: &FeedQuery,
    headers: &HeaderMap,
    body: &[u8],
    keys: &CursorKeys,
) -> Result<SyncToken, Problem> {
    let fields = texts(body, format_of(headers)?, "Seen")?;
    let cursor = fields.get("Cursor").and_then(Option::as_deref).ok_or_else(|| ParameterError {
        parameter: "Cursor",
        detail: "expected the cursor of an updates link or the id of an event, or an empty body".to_owned(),
    })?;
    Ok(query.parse_sync_token(cursor, keys)?)
}

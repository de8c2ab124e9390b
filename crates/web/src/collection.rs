//! `GET /200909/activity/{user}/{to|from|tofrom}`: reads a collection.

use crate::answer_cache::AnswerKey;
use crate::extract::{Caller, CollectionPath, FeedParams, ReadableAccount, WritableAccount};
use crate::live;
use crate::negotiate::Accept;
use crate::problem::Problem;
use crate::render::{Links, PageView};
use crate::respond::{Representation, short_digest};
use crate::service::{Collections, Service, Writer};
use axum::extract::{FromRequestParts, Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use domain::feed::{Page, ReadError, Validity};
use http::header::LINK;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Uri};
use model::{Account, Collection, DEFAULT_COUNT, FeedQuery, Format, MAX_PAGE, RawQuery, Reader, Start};
use std::fmt::Write;
use std::sync::Arc;

pub(crate) fn methods() -> MethodRouter<Service> {
    get(read).post(post_batch).fallback(|uri: Uri| async move { method_not_allowed(&uri) })
}

/// Checks that the path is that of a `from` collection. Only `from` accepts activities; the other collections follow
/// from it.
struct FromCollection;

impl<S: Send + Sync> FromRequestParts<S> for FromCollection {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<FromCollection, Problem> {
        if is_from(&parts.uri) { Ok(FromCollection) } else { Err(method_not_allowed(&parts.uri)) }
    }
}

async fn post_batch(
    _: FromCollection,
    State(writer): State<Arc<Writer>>,
    Caller(caller): Caller,
    WritableAccount(actor): WritableAccount,
    request: Request,
) -> Result<Response, Problem> {
    writer.submit_batch(caller, actor, request).await
}

fn is_from(uri: &Uri) -> bool {
    uri.path().ends_with("/from")
}

fn method_not_allowed(uri: &Uri) -> Problem {
    Problem::method_not_allowed(if is_from(uri) { "GET, HEAD, POST" } else { "GET, HEAD" })
}

async fn read(
    State(service): State<Service>,
    Caller(caller): Caller,
    CollectionPath(collection): CollectionPath,
    ReadableAccount { account: owner, reader }: ReadableAccount,
    headers: HeaderMap,
    FeedParams(raw): FeedParams,
) -> Result<Response, Problem> {
    let accept = Accept::of(&headers);
    if accept.names_event_stream() {
        return live::open(service, caller, owner, reader, collection, &raw, &headers).await;
    }
    service.collections.read(&owner, reader, collection, raw, &accept, &headers).await
}

impl Collections {
    /// Reads the requested page and renders it in the requested format.
    pub(crate) async fn read(
        &self,
        owner: &Account,
        reader: Reader,
        collection: Collection,
        raw: RawQuery,
        accept: &Accept,
        headers: &HeaderMap,
    ) -> Result<Response, Problem> {
        let accepted = accept.choose_of_collection();
        let key = AnswerKey::new(owner, reader, collection, raw, accepted, headers);
        let cached = self.answer_cache.get(&key);
        let moved = match &cached {
            Some(cached) => match self.feed.validity(&cached.query, &cached.page).await? {
                Validity::Current => match cached.answer.respond(headers) {
                    Some(response) => return Ok(response),
                    None => None,
                },
                Validity::Moved(page) => Some(*page),
                Validity::Outdated => None,
            },
            None => None,
        };
        let query = self.site.query(&key.raw, owner.uid, collection)?;
        let format = match query.format {
            Some(format) => format,
            None => accepted.ok_or_else(|| Problem::not_acceptable(&Format::ALL))?,
        };
        // A large page is held in memory with its bodies, so their number is limited.
        let _permit = match query.count > MAX_PAGE {
            true => Some(self.large_pages.acquire().await.map_err(|_| Problem::internal())?),
            false => None,
        };
        let prepare = |page: &Page| {
            // These have links in the body, which change with every arrival.
            let has_links = matches!(format, Format::Atom | Format::ActivityStreams);
            let cache = (!has_links).then_some(&self.response_cache);
            let representation = Representation::private(format)
                .encoded(headers)
                .versioned(headers, page_version(owner, page, format))
                .cached_in(cache);
            let fragments = match representation.needs_body() {
                true => self.renderer.cached_fragments(&page.items, format),
                false => Vec::new(),
            };
            (representation, fragments)
        };
        let needs_body = |(representation, fragments): &(Representation, Vec<_>), at: usize| {
            representation.needs_body() && fragments.get(at).is_none_or(Option::is_none)
        };
        let (page, (representation, fragments)) =
            match self.feed.hydrated(moved, reader, &query, prepare, needs_body).await {
                Err(ReadError::Expired) => return Err(self.cursor_expired(owner, &query)),
                read => read?,
            };
        let links = self.links(owner, &query, &page);
        let link = HeaderValue::from_str(&link_header(&links)).map_err(|_| Problem::internal())?;
        let view = PageView { owner, collection: query.collection, links: &links };
        let render = || self.renderer.page(&view, &page.items, fragments, format);
        let answer = representation.header((LINK, link)).answer(render).await?;
        let response = answer.respond(headers).ok_or_else(Problem::internal)?;
        self.answer_cache.insert(key, query, page, answer);
        Ok(response)
    }

    /// The sync token has expired. The problem links to the first page.
    fn cursor_expired(&self, owner: &Account, query: &FeedQuery) -> Problem {
        let first = self.site.collection_url(&owner.name, &query.from(Start::Skip(0)));
        Problem::from(ReadError::Expired).member("first", first)
    }

    fn links(&self, owner: &Account, query: &FeedQuery, page: &Page) -> Links {
        let to = |start: Start| self.site.collection_url(&owner.name, &query.from(start));
        let mut links = vec![("self", to(query.start.clone())), ("first", to(Start::Skip(0)))];
        links.extend(page.next.clone().map(|next| ("next", to(next))));
        // A page of no items asks for the position only; its updates have the default number of items.
        let count = if query.count == 0 { DEFAULT_COUNT } else { query.count };
        let updates = FeedQuery { count, ..query.from(Start::Updates(page.sync_token.clone())) };
        links.push(("updates", self.site.collection_url(&owner.name, &updates)));
        links
    }
}

fn link_header(links: &Links) -> String {
    let mut text = String::new();
    for (rel, address) in links {
        let comma = if text.is_empty() { "" } else { ", " };
        // Writing to a String can't fail.
        let _ = write!(text, "{comma}<{address}>; rel=\"{rel}\"");
    }
    text
}

/// The version of a page: equal if its items are.
fn page_version(owner: &Account, page: &Page, format: Format) -> String {
    // One text for one call: an incremental digest costs several times as much.
    let mut shown = Vec::with_capacity(16 + page.items.len() * 32);
    shown.extend(owner.version.0.to_be_bytes());
    shown.push(u8::from(page.next.is_some()));
    for item in &page.items {
        shown.extend(item.state.id.as_bytes());
        shown.extend(item.state.version.0.to_be_bytes());
        shown.extend(item.actor.version.0.to_be_bytes());
    }
    format!("{}.{}", short_digest(&shown), format.as_str())
}

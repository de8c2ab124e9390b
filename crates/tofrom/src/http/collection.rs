//! `GET /200909/activity/{user}/{to|from|tofrom}`: reads a collection.

use super::authenticated::Caller;
use super::negotiate::{Accept, Coding};
use super::query::raw_query;
use super::{Problem, Service, coding, conditional, live, response_cache};
use crate::auth::Principal;
use crate::feed::{Page, ReadError};
use crate::render::{Links, PageView};
use axum::body::{Body, Bytes};
use axum::extract::{Extension, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, LINK};
use http::{HeaderMap, HeaderValue, StatusCode};
use model::{Account, AccountName, Collection, FeedQuery, Format, MAX_PAGE, RawQuery, Reader, Start, Uid};
use std::fmt::Write;
use std::io;
use std::sync::Arc;

/// How often a page is read again because an activity on it changed meanwhile.
const MAX_ATTEMPTS: usize = 5;

/// Larger bodies are encoded on a blocking thread, so that other requests do not wait.
const MIN_BLOCKING_ENCODE: usize = 256 << 10;

pub(super) fn methods() -> MethodRouter<Arc<Service>> {
    get(read)
        .post(post_batch)
        .fallback(|request: Request| async move { method_not_allowed(request.uri().path()) })
}

/// Only `from` accepts activities; the other collections follow from it.
async fn post_batch(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    if !request.uri().path().ends_with(FROM_SUFFIX) {
        return Err(method_not_allowed(request.uri().path()));
    }
    service.submit_batch(caller, request).await
}

/// The end of the path of a `from` collection.
const FROM_SUFFIX: &str = "/from";

fn method_not_allowed(path: &str) -> Problem {
    Problem::method_not_allowed(if path.ends_with(FROM_SUFFIX) { "GET, HEAD, POST" } else { "GET, HEAD" })
}

async fn read(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let (name, collection) = address(request.uri().path()).ok_or_else(Problem::not_found)?;
    let (owner, reader) = service.open_collection(&caller, &name).await?;
    let headers = request.headers().clone();
    let raw = raw_query(request, &caller).await?;
    if live::is_stream_request(&headers) {
        return live::open(service, caller, owner, reader, collection, &raw, &headers).await;
    }
    service.read_collection(&owner, reader, collection, &raw, &headers).await
}

/// The name and collection in a path (without the base address's prefix, which the router strips). `None` if the name
/// is invalid.
fn address(path: &str) -> Option<(AccountName, Collection)> {
    let below = path.strip_prefix("/200909/activity/")?;
    let (name, collection) = below.split_once('/')?;
    let decoded = percent_decode(name)?;
    Some((AccountName::parse(&decoded).ok()?, Collection::parse(collection)?))
}

/// Decodes a path segment. `None` if it is not UTF-8. Names have no character that needs an escape, but a client may
/// escape any.
pub(super) fn percent_decode(text: &str) -> Option<String> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let ([high, low], tail) = after.split_first_chunk::<2>()?;
            decoded.push(digit(*high)? << 4 | digit(*low)?);
            rest = tail;
        } else {
            decoded.push(*first);
            rest = after;
        }
    }
    String::from_utf8(decoded).ok()
}

impl Service {
    /// Reads the requested page and renders it in the requested format.
    pub(super) async fn read_collection(
        &self,
        owner: &Account,
        reader: Reader,
        collection: Collection,
        raw: &RawQuery,
        headers: &HeaderMap,
    ) -> Result<Response, Problem> {
        let query = FeedQuery::resolve(raw, owner.uid, collection)?;
        let format = match query.format {
            Some(format) => format,
            None => Accept::of(headers)
                .choose(&Format::ALL)
                .ok_or_else(|| Problem::not_acceptable(&Format::ALL))?,
        };
        // A large page is held in memory with its bodies, so their number is limited.
        let _permit = match query.count > MAX_PAGE {
            true => Some(self.large_pages.acquire().await.map_err(|_| Problem::internal())?),
            false => None,
        };
        for _ in 0..MAX_ATTEMPTS {
            let page = match self.feed.page(reader, &query).await {
                Err(ReadError::Expired) => return Err(self.cursor_expired(owner, &query)),
                page => page?,
            };
            if let Some(response) = self.page_response(owner, &query, page, format, headers).await? {
                return Ok(response);
            }
        }
        Err(Problem::busy())
    }

    /// The owner of the collection and the role in which the caller reads it. A private account looks like an absent
    /// one, and both cost one lookup.
    pub(super) async fn open_collection(
        &self,
        caller: &Principal,
        name: &AccountName,
    ) -> Result<(Arc<Account>, Reader), Problem> {
        if caller.account.name == *name {
            return Ok((Arc::clone(&caller.account), Reader::Owner));
        }
        let found = self.store.account_by_name(name).await?.filter(|account| !account.removed);
        match found {
            Some(owner) if caller.is_operator() => Ok((Arc::new(owner), Reader::Owner)),
            Some(owner) if owner.public => {
                let uid = caller.account.uid;
                let follows_owner = self.follows(uid, owner.uid).await?;
                Ok((Arc::new(owner), Reader::Other { uid, follows_owner }))
            }
            _ => Err(Problem::not_found()),
        }
    }

    /// The sync token has expired. The problem links to the first page.
    fn cursor_expired(&self, owner: &Account, query: &FeedQuery) -> Problem {
        let first = self.site.collection_url(&owner.name, &query.from(Start::Skip(0)));
        Problem::from(ReadError::Expired).member("first", first)
    }

    async fn follows(&self, follower: Uid, followee: Uid) -> Result<bool, Problem> {
        let edges = self.store.edges(follower, &[followee]).await?;
        Ok(edges.into_iter().flatten().any(|edge| edge.following))
    }

    /// The response with the page. `None` if an activity changed before it was rendered, because the links would not
    /// match.
    async fn page_response(
        &self,
        owner: &Account,
        query: &FeedQuery,
        mut page: Page,
        format: Format,
        headers: &HeaderMap,
    ) -> Result<Option<Response>, Problem> {
        let accepted = Coding::choose(headers);
        let tag = conditional::entity_tag(owner, &page, format, accepted);
        let links = self.links(owner, query, &page);
        let mut response = if conditional::is_not_modified(headers, &tag) {
            // The body has no stated length, because the length of an empty one would be taken for that of the page.
            (StatusCode::NOT_MODIFIED, Body::from_stream(futures::stream::empty::<io::Result<Bytes>>()))
                .into_response()
        } else {
            let body = match self.response_cache.get(&tag, format) {
                Some(body) => body,
                None => match self.write(owner, query, &mut page, format, accepted, &links).await? {
                    Some(body) => body,
                    None => return Ok(None),
                },
            };
            self.response_cache.insert(&tag, format, &body);
            let used = body.coding;
            let mut response = body.bytes.into_response();
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
            if used != Coding::Identity {
                response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(used.as_str()));
            }
            response
        };
        let out = response.headers_mut();
        out.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        for (name, value) in [(ETAG, tag), (LINK, link_header(&links))] {
            out.insert(name, HeaderValue::from_str(&value).map_err(|_| Problem::internal())?);
        }
        Ok(Some(response))
    }

    /// The body of a page. `None` if an activity has a newer version than the page was read with.
    async fn write(
        &self,
        owner: &Account,
        query: &FeedQuery,
        page: &mut Page,
        format: Format,
        accepted: Coding,
        links: &Links,
    ) -> Result<Option<response_cache::EncodedBody>, Problem> {
        let cached = self.renderer.cached_fragments(&page.items, format);
        let is_missing = |at: usize| cached.get(at).is_none_or(Option::is_none);
        let versions: Vec<_> = page.items.iter().map(|item| item.state.version).collect();
        let bodies = self.feed.bodies().of(&mut page.items, is_missing).await?;
        if page.items.iter().zip(versions).any(|(item, version)| item.state.version != version) {
            return Ok(None);
        }
        let view = PageView { owner, collection: query.collection, links };
        let body = self.renderer.page(&view, &page.items, cached, &bodies, format);
        let (coding, bytes) = if accepted != Coding::Identity && body.len() > MIN_BLOCKING_ENCODE {
            let encoded = tokio::task::spawn_blocking(move || coding::encode(accepted, body)).await;
            encoded.map_err(|_| Problem::internal())?
        } else {
            coding::encode(accepted, body)
        };
        Ok(Some(response_cache::EncodedBody { coding, bytes: bytes.into() }))
    }

    fn links(&self, owner: &Account, query: &FeedQuery, page: &Page) -> Links {
        let to = |start: Start| self.site.collection_url(&owner.name, &query.from(start));
        let mut links = vec![("self", to(query.start.clone())), ("first", to(Start::Skip(0)))];
        links.extend(page.next.clone().map(|next| ("next", to(next))));
        links.push(("updates", to(Start::Updates(page.sync_token.clone()))));
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

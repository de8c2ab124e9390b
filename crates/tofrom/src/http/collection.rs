//! `GET /200909/activity/{user}/{to|from|tofrom}`: the collection.

use super::authenticated::Caller;
use super::negotiate::{Accept, Coding};
use super::query::raw_query;
use super::{Problem, Service, coding, conditional, written};
use crate::auth::Principal;
use crate::feed::Page;
use crate::render::{Links, PageView};
use axum::body::{Body, Bytes};
use axum::extract::{Extension, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, LINK};
use http::{HeaderMap, HeaderValue, StatusCode};
use model::{Account, AccountName, Collection, FeedQuery, Format, Reader, Start, Uid};
use std::fmt::Write;
use std::io;
use std::sync::Arc;

pub(super) fn methods() -> MethodRouter<Arc<Service>> {
    get(read).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

async fn read(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let (name, collection) = address(request.uri().path()).ok_or_else(Problem::not_found)?;
    let (owner, reader) = service.open_collection(&caller, &name).await?;
    let headers = request.headers().clone();
    let raw = raw_query(request).await?;
    let query = FeedQuery::resolve(&raw, owner.uid, collection)?;
    let format = match query.format {
        Some(format) => format,
        None => {
            Accept::of(&headers).choose(&Format::ALL).ok_or_else(|| Problem::not_acceptable(&Format::ALL))?
        }
    };
    let page = service.feed.page(reader, &query).await?;
    service.answer(&owner, &query, page, format, &headers).await
}

/// Name and collection in a path (below the base address's prefix, which the router took off); what can't be a name
/// is nobody's.
fn address(path: &str) -> Option<(AccountName, Collection)> {
    let below = path.strip_prefix("/200909/activity/")?;
    let (name, collection) = below.split_once('/')?;
    let decoded = percent_decode(name)?;
    Some((AccountName::parse(&decoded).ok()?, Collection::parse(collection)?))
}

/// A name has no character that needs an escape, but a client may escape any.
fn percent_decode(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let (digits, tail) = after.split_at_checked(2)?;
            decoded.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = tail;
        } else {
            decoded.push(*first);
            rest = after;
        }
    }
    String::from_utf8(decoded).ok()
}

impl Service {
    /// The account whose collection is asked for, and as whom the caller reads it. A private account is to others
    /// what an absent one is, and both take one look-up.
    async fn open_collection(
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

    async fn follows(&self, follower: Uid, followee: Uid) -> Result<bool, Problem> {
        let edges = self.store.edges(follower, &[followee]).await?;
        Ok(edges.into_iter().flatten().any(|edge| edge.following))
    }

    async fn answer(
        &self,
        owner: &Account,
        query: &FeedQuery,
        mut page: Page,
        format: Format,
        headers: &HeaderMap,
    ) -> Result<Response, Problem> {
        let accepted = Coding::choose(headers);
        let mut tag = conditional::entity_tag(owner, &page, format, accepted);
        let links = self.links(owner, query, &page);
        let mut response = if conditional::is_known(headers, &tag) {
            // A body of no stated length: the length of an empty one would be taken for that of the page.
            (StatusCode::NOT_MODIFIED, Body::from_stream(futures::stream::empty::<io::Result<Bytes>>()))
                .into_response()
        } else {
            let (body, written) = match self.written.get(&tag, format) {
                Some(body) => (body, tag),
                None => self.write(owner, query, &mut page, format, accepted, &links).await?,
            };
            tag = written;
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
        Ok(response)
    }

    /// The body of a page, and its tag: a body may be newer than the state that was read before it.
    async fn write(
        &self,
        owner: &Account,
        query: &FeedQuery,
        page: &mut Page,
        format: Format,
        accepted: Coding,
        links: &Links,
    ) -> Result<(written::Body, String), Problem> {
        let remembered = self.renderer.remembered(&page.items, format);
        let lacking = |at: usize| remembered.get(at).is_none_or(Option::is_none);
        let bodies = self.bodies.of(&mut page.items, lacking).await?;
        let view = PageView { owner, collection: query.collection, links };
        let body = self.renderer.page(&view, &page.items, remembered, &bodies, format);
        let (coding, bytes) = coding::encode(accepted, body);
        let body = written::Body { coding, bytes: bytes.into() };
        let tag = conditional::entity_tag(owner, page, format, accepted);
        self.written.keep(&tag, format, &body);
        Ok((body, tag))
    }

    fn links(&self, owner: &Account, query: &FeedQuery, page: &Page) -> Links {
        let to = |start: Start| self.site.collection_url(&owner.name, &query.from(start));
        let mut links = vec![("self", to(query.start.clone())), ("first", to(Start::Skip(0)))];
        links.extend(page.next.clone().map(|next| ("next", to(next))));
        links.push(("updates", to(Start::Updates(page.mark.clone()))));
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

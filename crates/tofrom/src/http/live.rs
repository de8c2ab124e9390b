//! `GET` on a collection with `Accept: text/event-stream`: the collection as it changes.
//!
//! A stream keeps nothing but its sync_token. Whenever the client has taken what was sent, the stream looks what arrived after
//! the sync_token and sends that; then it waits until it is woken. So a slow reader costs no memory and misses nothing: it
//! just comes later, and one that stops reading is hung up on like any other. What it has not read then it gets by
//! coming back with the id of its last event.

use super::negotiate::Accept;
use super::{Problem, Service};
use crate::auth::Principal;
use crate::feed::{Event, Item, ReadError};
use crate::json;
use crate::live::{StreamPermit, Watch};
use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use futures::future::select_all;
use futures::{FutureExt, stream};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName};
use model::{Account, ActivityId, Collection, FeedQuery, Format, RawQuery, Reader, Start, SyncToken, Uid};
use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Between two comments when nothing happens: proxies hang up on silence.
const COMMENT_EVERY: Duration = Duration::from_secs(15);
/// How often credential and rights are looked at again.
const CHECKED_EVERY: Duration = Duration::from_secs(3);
/// How often a stream looks by itself.
const LOOKS_EVERY: Duration = Duration::from_secs(30);
/// How many of the newest a stream looks at when it begins.
const LOOKED_AT: u32 = 50;
/// Events that are sent together.
const CONCURRENCY: usize = 20;
/// When the service stops, clients come back spread out over this time.
const SPREAD_MILLIS: u64 = 5_000;

/// Whether a request wants a stream.
pub(super) fn is_asked(headers: &HeaderMap) -> bool {
    Accept::of(headers).names_event_stream()
}

/// Opens a stream of a collection that the caller may read.
pub(super) async fn open(
    service: Arc<Service>,
    caller: Arc<Principal>,
    owner: Arc<Account>,
    reader: Reader,
    collection: Collection,
    raw: &RawQuery,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    // What is no text is no id of ours either, and is refused as such.
    let last = headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?"));
    let query = FeedQuery::resolve_live(raw, owner.uid, collection, last)?;
    let permit = service.hub.permit(caller.account.uid).ok_or_else(Problem::too_many_streams)?;
    let watch = service.hub.watch(owner.uid);
    let mut text = String::from(":\n\n");
    let sync_token = match &query.start {
        Start::Updates(sync_token) if service.feed.has_expired(sync_token).await? => {
            // From now on, and the whole is to be read before.
            let all = FeedQuery { count: 0, ..query.from(Start::Skip(0)) };
            let sync_token = recent(&service, reader, &all, &mut text).await?;
            event(
                &mut text,
                "incomplete",
                Some(&query.sync_token_text(&sync_token)),
                &whole(&service, &owner, &query),
            );
            sync_token
        }
        Start::Updates(sync_token) => sync_token.clone(),
        Start::Skip(_) | Start::After { .. } => recent(&service, reader, &query, &mut text).await?,
    };
    let now = Instant::now();
    let live = Live {
        service,
        caller,
        owner,
        reader,
        query,
        sync_token,
        watch,
        pulled: Vec::new(),
        looks_again: false,
        _seat: permit,
        commented: now,
        checked: now,
        changed: false,
        ended: false,
    };
    let first = stream::iter([Ok::<_, Infallible>(Bytes::from(text))]);
    let rest =
        stream::unfold(live, |mut live| async move { live.next().await.map(|bytes| (Ok(bytes), live)) });
    // nginx keeps answers back until they are whole, unless it is told not to.
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store"), (unbuffered, "no")];
    Ok((headers, Body::from_stream(stream::StreamExt::chain(first, rest))).into_response())
}

/// Writes the recent ones, oldest first; gives the sync_token from which to go on. Only the last has an id: whoever comes back
/// before it begins anew.
async fn recent(
    service: &Service,
    reader: Reader,
    query: &FeedQuery,
    text: &mut String,
) -> Result<SyncToken, Problem> {
    // More than are shown: what is there already but not settled in the log must not come as new.
    let wide = FeedQuery { count: query.count.max(LOOKED_AT), ..query.clone() };
    let page = service.feed.page(reader, &wide).await?;
    let mut items = page.items;
    items.truncate(query.count as usize);
    items.reverse();
    let written = service.written_as_json(&mut items).await?;
    let last = written.len().saturating_sub(1);
    for (at, (_, json)) in written.iter().enumerate() {
        let id = (at == last).then(|| query.sync_token_text(&page.sync_token));
        event(text, "activity", id.as_deref(), json);
    }
    Ok(page.sync_token)
}

/// Where the collection is to be read as a whole.
fn whole(service: &Service, owner: &Account, query: &FeedQuery) -> String {
    let first = FeedQuery { format: None, count: model::DEFAULT_COUNT, ..query.from(Start::Skip(0)) };
    let url = service.site.collection_url(&owner.name, &first);
    json::text(serde_json::json!({ "Url": url }))
}

impl Service {
    /// Items as JSON, each on a line; those of which there is a later version by now are left out.
    async fn written_as_json(&self, items: &mut [Item]) -> Result<Vec<(ActivityId, String)>, ReadError> {
        let versions: Vec<_> = items.iter().map(|item| item.state.version).collect();
        let bodies = self.feed.bodies().of(items, |_| true).await?;
        let current = items.iter().zip(versions).filter(|(item, version)| item.state.version == *version);
        let written = current.filter_map(|(item, _)| {
            let body = bodies.get(&item.state.id)?;
            let json = self.renderer.single(&item.state, &item.actor, body, Format::Json);
            Some((item.state.id, String::from_utf8_lossy(&json).into_owned()))
        });
        Ok(written.collect())
    }
}

/// A stream between two moments.
struct Live {
    service: Arc<Service>,
    caller: Arc<Principal>,
    owner: Arc<Account>,
    reader: Reader,
    query: FeedQuery,
    sync_token: SyncToken,
    watch: Watch,
    /// Those of whom it pulls, as of the last look.
    pulled: Vec<Watch>,
    /// Some of them were not watched yet at that look.
    looks_again: bool,
    _seat: StreamPermit,
    commented: Instant,
    checked: Instant,
    /// What this reader may see has changed: the collection must be read anew.
    changed: bool,
    ended: bool,
}

impl Live {
    /// What to send next; `None` is the end.
    async fn next(&mut self) -> Option<Bytes> {
        while !self.ended {
            if self.service.hub.is_closing() {
                self.ended = true;
                return Some(Bytes::from(format!("retry: {}\n\n", spread())));
            }
            if self.checked.elapsed() >= CHECKED_EVERY && !self.may_go_on().await {
                return None;
            }
            if std::mem::take(&mut self.changed) {
                let mut text = String::new();
                event(
                    &mut text,
                    "incomplete",
                    Some(&self.query.sync_token_text(&self.sync_token)),
                    &self.whole(),
                );
                return Some(Bytes::from(text));
            }
            // Asked for before looking: whatever comes in between wakes.
            let woken = self.woken();
            match self.news().await {
                Ok(text) if !text.is_empty() => {
                    self.commented = Instant::now();
                    return Some(Bytes::from(text));
                }
                Ok(_) if std::mem::take(&mut self.looks_again) => continue,
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "a stream could not read on");
                    return None;
                }
            }
            if self.commented.elapsed() >= COMMENT_EVERY {
                self.commented = Instant::now();
                return Some(Bytes::from_static(b":\n\n"));
            }
            let pause =
                COMMENT_EVERY.saturating_sub(self.commented.elapsed()).min(CHECKED_EVERY).min(LOOKS_EVERY);
            let _ = tokio::time::timeout(pause, woken).await;
        }
        None
    }

    /// What arrived after the sync_token, as events; the sync_token goes on.
    async fn news(&mut self) -> Result<String, ReadError> {
        loop {
            let found =
                self.service.feed.events(self.reader, &self.query, &self.sync_token, CONCURRENCY).await?;
            let mut text = String::new();
            let mut items: Vec<Item> = Vec::new();
            for (event, _) in &found.events {
                if let Event::Activity(item) = event {
                    items.push(item.clone());
                }
            }
            let mut written = self.service.written_as_json(&mut items).await?.into_iter().peekable();
            for (happened, sync_token) in &found.events {
                let id = self.query.sync_token_text(sync_token);
                match happened {
                    Event::Activity(item) => {
                        if let Some((_, json)) = written.next_if(|(written, _)| *written == item.state.id) {
                            event(&mut text, "activity", Some(&id), &json);
                        }
                    }
                    Event::Deleted(retracted) => {
                        let data = format!("{{\"ActivityIdentifier\":\"{retracted}\"}}");
                        event(&mut text, "deleted", Some(&id), &data);
                    }
                    Event::Changed => event(&mut text, "incomplete", Some(&id), &self.whole()),
                }
            }
            self.sync_token = found.sync_token;
            self.watch_also(&found.pulled);
            if !text.is_empty() || !found.more {
                return Ok(text);
            }
        }
    }

    /// Comes when something may have arrived for the owner, or for somebody whom it pulls from.
    fn woken(&self) -> impl Future<Output = ()> + Send + 'static {
        let all = [&self.watch].into_iter().chain(&self.pulled).map(|one| Box::pin(one.woken()));
        select_all(all).map(drop)
    }

    /// Watches these from now on, and nobody else but the owner.
    fn watch_also(&mut self, pulled: &[Uid]) {
        self.pulled.retain(|watch| pulled.contains(&watch.uid()));
        for uid in pulled {
            if !self.pulled.iter().any(|watch| watch.uid() == *uid) {
                self.pulled.push(self.service.hub.watch(*uid));
                self.looks_again = true;
            }
        }
    }

    fn whole(&self) -> String {
        whole(&self.service, &self.owner, &self.query)
    }

    /// Whether the credential is still good and the collection still this caller's to read.
    async fn may_go_on(&mut self) -> bool {
        self.checked = Instant::now();
        let Ok(Some(caller)) = self.service.authenticator.revalidate(&self.caller).await else {
            return false;
        };
        match self.service.open_collection(&caller, &self.owner.name).await {
            Ok((owner, reader)) if owner.uid == self.owner.uid => {
                self.caller = Arc::new(caller);
                self.owner = owner;
                self.changed |= self.reader != reader;
                self.reader = reader;
                true
            }
            _ => false,
        }
    }
}

/// Writes an event. Its data is one line: JSON has no line breaks of its own.
fn event(text: &mut String, name: &str, id: Option<&str>, data: &str) {
    // Writing to a String can't fail.
    let _ = writeln!(text, "event: {name}");
    if let Some(id) = id {
        let _ = writeln!(text, "id: {id}");
    }
    let _ = write!(text, "data: {data}\n\n");
}

/// A number of milliseconds after which a client comes back: each its own, so that they don't come all at once.
fn spread() -> u64 {
    let mut bytes = [0; 8];
    // Without randomness they come together; nothing worse.
    let _ = aws_lc_rs::rand::fill(&mut bytes);
    500 + u64::from_be_bytes(bytes) % SPREAD_MILLIS
}

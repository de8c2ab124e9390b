//! `GET` on a collection with `Accept: text/event-stream`: a live stream of the collection.
//!
//! A stream holds no state but its sync token. When the client has taken everything that was sent, the stream reads the
//! arrivals after the sync token and sends them, then waits for a wake-up. A slow reader therefore costs no memory and
//! misses nothing. A reader that stops reading is disconnected like any other, and gets the rest when it reconnects with
//! the id of its last event.

use crate::problem::Problem;
use crate::respond::Caching;
use crate::service::{Collections, Service};
use crate::site::Site;
use auth::Principal;
use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use domain::feed::{Event, Item, ReadError};
use domain::json;
use domain::live::{CollectionWatch, StreamPermit};
use futures::stream;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName};
use model::{Account, Collection, FeedQuery, Format, RawQuery, Reader, Start, SyncToken, Version};
use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;
use tokio::time::Instant;

/// The interval of comments on an idle stream, which keep proxies from closing it.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);
/// The interval of checks of the credential and the rights.
const ACCESS_CHECK_INTERVAL: Duration = Duration::from_secs(3);
/// The interval of reads without a wake-up.
const READ_INTERVAL: Duration = Duration::from_secs(30);
/// The minimum number of newest items read when a stream starts.
const MIN_INITIAL_READ: u32 = 50;
/// The maximum number of events in one read.
const MAX_EVENTS: usize = 20;
/// When the server stops, clients reconnect spread out over this time.
const RECONNECT_SPREAD_MILLIS: u64 = 5_000;

/// Opens a stream of a collection that the caller may read.
pub(crate) async fn open(
    service: Service,
    caller: Arc<Principal>,
    owner: Arc<Account>,
    reader: Reader,
    collection: Collection,
    raw: &RawQuery,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    // A value that is not text is not one of our ids, and is rejected as such.
    let last = headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?"));
    let query = FeedQuery::resolve_live(raw, owner.uid, collection, last, service.site.cursor_keys())?;
    let permit = service.hub.permit(caller.account.uid).ok_or_else(Problem::too_many_streams)?;
    let watch = service.hub.watch_collection(owner.uid);
    let mut text = String::from(":\n\n");
    let sync_token = match &query.start {
        Start::Updates(sync_token) if service.collections.feed.has_expired(sync_token).await? => {
            // The stream starts now, and the client must read the collection first.
            let all = FeedQuery { count: 0, ..query.from(Start::Skip(0)) };
            let sync_token = recent(&service.collections, reader, &all, &mut text).await?;
            event(
                &mut text,
                "incomplete",
                Some(&query.sync_token_text(&sync_token, service.site.cursor_keys())),
                &incomplete_data(&service.site, &owner, &query),
            );
            sync_token
        }
        Start::Updates(sync_token) => sync_token.clone(),
        Start::Skip(_) | Start::After { .. } => {
            recent(&service.collections, reader, &query, &mut text).await?
        }
    };
    let seen = match caller.account.uid == owner.uid {
        true => Some(SeenWatch::new(&service, &query, &watch).await?),
        false => None,
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
        seen,
        read_again: false,
        _permit: permit,
        commented: now,
        checked: now,
        changed: false,
        ended: false,
    };
    let first = stream::iter([Ok::<_, Infallible>(Bytes::from(text))]);
    let rest =
        stream::unfold(live, |mut live| async move { live.next().await.map(|bytes| (Ok(bytes), live)) });
    // nginx buffers responses unless this header disables it.
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    let headers = [(CONTENT_TYPE, "text/event-stream"), (unbuffered, "no")];
    Ok((headers, [Caching::Never.header()], Body::from_stream(stream::StreamExt::chain(first, rest)))
        .into_response())
}

/// Writes the recent activities, oldest first, and returns the sync token to continue from. Only the last event has an
/// id: a client that reconnects before it starts again.
async fn recent(
    collections: &Collections,
    reader: Reader,
    query: &FeedQuery,
    text: &mut String,
) -> Result<SyncToken, Problem> {
    // Reads more than are shown: items that are visible but not yet settled in the log must not appear as new later.
    let wide = FeedQuery { count: query.count.max(MIN_INITIAL_READ), ..query.clone() };
    let count = query.count as usize;
    let (page, ()) = collections.feed.hydrated_page(reader, &wide, |_| (), |(), at| at < count).await?;
    for (at, item) in page.items.iter().enumerate().take(count).rev() {
        let id = (at == 0).then(|| query.sync_token_text(&page.sync_token, collections.site.cursor_keys()));
        event(text, "activity", id.as_deref(), &collections.render_json(item));
    }
    Ok(page.sync_token)
}

/// The data of an `incomplete` event: the address to read the collection from.
fn incomplete_data(site: &Site, owner: &Account, query: &FeedQuery) -> String {
    let first = FeedQuery { format: None, count: model::DEFAULT_COUNT, ..query.from(Start::Skip(0)) };
    let url = site.collection_url(&owner.name, &first);
    json::text(serde_json::json!({ "Url": url }))
}

impl Collections {
    /// A hydrated item as JSON, on one line.
    fn render_json(&self, item: &Item) -> String {
        let json =
            item.body.as_ref().map(|body| self.renderer.single(&item.state, &item.actor, body, Format::Json));
        String::from_utf8_lossy(&json.unwrap_or_default()).into_owned()
    }
}

/// The state of an open stream.
struct Live {
    service: Service,
    caller: Arc<Principal>,
    owner: Arc<Account>,
    reader: Reader,
    query: FeedQuery,
    sync_token: SyncToken,
    watch: CollectionWatch,
    /// The seen position, if the account reads its own collection.
    seen: Option<SeenWatch>,
    /// A pulled actor was not watched yet at the last read, so another read is due.
    read_again: bool,
    _permit: StreamPermit,
    commented: Instant,
    checked: Instant,
    /// The reader's rights have changed, so the collection must be read again.
    changed: bool,
    ended: bool,
}

impl Live {
    /// The next bytes to send; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        while !self.ended {
            if self.service.hub.is_closing() {
                self.ended = true;
                return Some(Bytes::from(format!("retry: {}\n\n", reconnect_delay())));
            }
            if self.checked.elapsed() >= ACCESS_CHECK_INTERVAL && !self.has_access().await {
                return None;
            }
            if std::mem::take(&mut self.changed) {
                let mut text = String::new();
                event(
                    &mut text,
                    "incomplete",
                    Some(&self.query.sync_token_text(&self.sync_token, self.service.site.cursor_keys())),
                    &self.incomplete_data(),
                );
                return Some(Bytes::from(text));
            }
            // Created before the read, so that an arrival during the read still wakes the stream.
            let woken = self.watch.woken();
            match self.seen_event().await {
                Ok(Some(text)) => return Some(Bytes::from(text)),
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "reading the seen position failed"),
            }
            match self.arrivals().await {
                Ok(text) if !text.is_empty() => {
                    self.commented = Instant::now();
                    return Some(Bytes::from(text));
                }
                Ok(_) if std::mem::take(&mut self.read_again) => continue,
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "live stream read failed");
                    return None;
                }
            }
            if self.commented.elapsed() >= COMMENT_INTERVAL {
                self.commented = Instant::now();
                return Some(Bytes::from_static(b":\n\n"));
            }
            let pause = COMMENT_INTERVAL
                .saturating_sub(self.commented.elapsed())
                .min(ACCESS_CHECK_INTERVAL)
                .min(READ_INTERVAL);
            let _ = tokio::time::timeout(pause, woken).await;
        }
        None
    }

    /// The arrivals after the sync token as events. Advances the sync token.
    async fn arrivals(&mut self) -> Result<String, ReadError> {
        loop {
            let found = self
                .service
                .collections
                .feed
                .events(self.reader, &self.query, &self.sync_token, MAX_EVENTS)
                .await?;
            let mut text = String::new();
            for (arrival, sync_token) in &found.events {
                let id = self.query.sync_token_text(sync_token, self.service.site.cursor_keys());
                match arrival {
                    Event::Activity(item) => {
                        event(&mut text, "activity", Some(&id), &self.service.collections.render_json(item));
                    }
                    Event::Deleted(retracted) => {
                        let data = format!("{{\"ActivityIdentifier\":\"{retracted}\"}}");
                        event(&mut text, "deleted", Some(&id), &data);
                    }
                    Event::Changed => event(&mut text, "incomplete", Some(&id), &self.incomplete_data()),
                }
            }
            self.sync_token = found.sync_token;
            self.read_again |= self.watch.watch_pulled(&found.pulled);
            if !text.is_empty() || !found.more {
                return Ok(text);
            }
        }
    }

    /// A `seen` event if the seen position has moved. It has no id: it is no place in the stream.
    async fn seen_event(&mut self) -> Result<Option<String>, StoreError> {
        let Some(known) = &mut self.seen else { return Ok(None) };
        let moves = self.watch.seen_moves();
        if known.moves == moves && known.read.elapsed() < READ_INTERVAL {
            return Ok(None);
        }
        (known.moves, known.read) = (moves, Instant::now());
        let stored = self.service.store.seen(self.query.owner, self.query.collection).await?;
        let Some(seen) = stored.filter(|seen| Some(seen.version) != known.version) else { return Ok(None) };
        known.version = Some(seen.version);
        let data = json::text(
            serde_json::json!({ "Cursor": self.query.sync_token_text(&seen.sync_token, self.service.site.cursor_keys()) }),
        );
        let mut text = String::new();
        event(&mut text, "seen", None, &data);
        Ok(Some(text))
    }

    fn incomplete_data(&self) -> String {
        incomplete_data(&self.service.site, &self.owner, &self.query)
    }

    /// Whether the credential is still valid and the caller may still read the collection.
    async fn has_access(&mut self) -> bool {
        self.checked = Instant::now();
        let Ok(Some(caller)) = self.service.auth.authenticator.revalidate(&self.caller).await else {
            return false;
        };
        match self.service.accounts.open_collection(&caller, &self.owner.name).await {
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

/// What a stream knows of the seen position. It is read only after it may have moved.
struct SeenWatch {
    version: Option<Version>,
    /// The moves that the watch had counted before the last read.
    moves: u64,
    read: Instant,
}

impl SeenWatch {
    async fn new(
        service: &Service,
        query: &FeedQuery,
        watch: &CollectionWatch,
    ) -> Result<SeenWatch, StoreError> {
        let moves = watch.seen_moves();
        let seen = service.store.seen(query.owner, query.collection).await?;
        Ok(SeenWatch { version: seen.map(|seen| seen.version), moves, read: Instant::now() })
    }
}

/// Writes an event. Its data is one line, because our JSON has no line breaks.
fn event(text: &mut String, name: &str, id: Option<&str>, data: &str) {
    // Writing to a String can't fail.
    let _ = writeln!(text, "event: {name}");
    if let Some(id) = id {
        let _ = writeln!(text, "id: {id}");
    }
    let _ = write!(text, "data: {data}\n\n");
}

/// The reconnect delay in milliseconds. It is random, so that clients do not reconnect all together.
fn reconnect_delay() -> u64 {
    let mut bytes = [0; 8];
    // Without randomness they reconnect together, which is harmless.
    let _ = aws_lc_rs::rand::fill(&mut bytes);
    500 + u64::from_be_bytes(bytes) % RECONNECT_SPREAD_MILLIS
}

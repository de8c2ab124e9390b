//! Polls a source: fetches it, imports new items, schedules the next poll.
//!
//! New items are imported before the source's state is stored. A process that dies in between repeats the poll, and
//! importing is idempotent.

use super::Sources;
use super::connection::Connection;
use super::health::sentence;
use super::source::{Seen, Source, SourceError, hash_of, id_of, record_move};
use crate::outgoing::random_fraction;
use feeds::{Feed, FeedItem};
use fetcher::plan::{Hints, Pace, Retry, retry};
use fetcher::{Content, FEED, FetchError, FetchRequest, FetchResponse};
use futures::{StreamExt, TryStreamExt, stream};
use model::{Millis, SourceId, Uid};
use store::{Result, StoreError};
use url::Url;

/// The minimum time between two polls that a hub can cause, in milliseconds.
pub(super) const MIN_POLL_INTERVAL: i64 = 60_000;
/// The number of connections read in one page.
pub(super) const PAGE: usize = 200;
/// The number of connections imported for concurrently.
const CONCURRENCY: usize = 16;
/// The maximum number of existing items that a new connection imports: the newest.
const MAX_INITIAL_ITEMS: usize = 50;

/// The outcome of a poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PollOutcome {
    /// The source was not due.
    NotDue,
    /// No connection is active, so polling stops.
    Unwanted,
    /// The number of created activities.
    Found(u32),
    /// The poll failed for this reason.
    Failed(String),
}

/// A fetched and parsed feed.
pub(super) struct Fetched {
    pub(super) feed: Feed,
    /// The hashes of all items.
    seen: Seen,
    /// The indexes of new and changed items.
    changed: Vec<usize>,
    /// The number of new items, and the publication times of those that have one.
    new: usize,
    published: Vec<i64>,
}

impl Sources {
    /// Polls a source if it is due, or in any case if `anyway`.
    pub async fn poll(&self, id: SourceId, anyway: bool) -> Result<PollOutcome> {
        let Some(mut source) = self.source(id).await? else { return Ok(PollOutcome::NotDue) };
        let is_due = source.due.is_some_and(|due| due <= self.clock.now());
        if !(is_due || anyway) {
            return Ok(PollOutcome::NotDue);
        }
        if !self.is_wanted(id).await? {
            self.unsubscribe(&mut source).await?;
            source.due = None;
            source.known.awaited = true;
            self.save(&mut source).await?;
            return Ok(PollOutcome::Unwanted);
        }
        let outcome = self.poll_once(&mut source).await?;
        self.save(&mut source).await?;
        self.move_on(source).await?;
        Ok(outcome)
    }

    /// Reads a source.
    pub(super) async fn source(&self, id: SourceId) -> Result<Option<Source>> {
        self.store.source(id).await?.map(Source::read).transpose()
    }

    /// Changes a source by compare-and-set and returns the stored result. `change` gets the stored source, if any, and
    /// returns the next state, or `None` to change nothing. It may be called several times.
    pub(super) async fn update_source(
        &self,
        id: SourceId,
        mut change: impl FnMut(Option<Source>) -> Option<Source>,
    ) -> Result<Option<Source>> {
        let now = self.clock.now();
        let next = |stored: Option<&store::Source>| {
            let stored = stored.cloned().map(Source::read).transpose()?;
            change(stored).map(|source| source.to_stored(now)).transpose()
        };
        let stored = store::update::<store::Source, StoreError>(self.store.as_ref(), &id, now, next).await?;
        stored.map(Source::read).transpose()
    }

    /// Changes the source at an address, creating it if necessary.
    pub(super) async fn change_source_at(
        &self,
        address: &Url,
        mut change: impl FnMut(&mut Source),
    ) -> Result<()> {
        let id = id_of(address);
        let changed = self.update_source(id, |stored| {
            let mut source = stored.unwrap_or_else(|| Source::new(address.clone()));
            change(&mut source);
            Some(source)
        });
        changed.await.map(drop)
    }

    /// Changes a connection that is not removed. `None` if there is no connection with this name.
    pub(super) async fn change_connection(
        &self,
        owner: Uid,
        name: &str,
        mut change: impl FnMut(&mut Connection),
    ) -> Result<Option<Connection>> {
        let now = self.clock.now();
        let mut exists = false;
        let next = |stored: Option<&store::Connection>| {
            let stored = stored.filter(|stored| !stored.removed).cloned();
            exists = stored.is_some();
            let Some(mut connection) = stored.map(Connection::read).transpose()? else { return Ok(None) };
            change(&mut connection);
            connection.to_stored(now).map(Some)
        };
        let key = (owner, name.to_owned());
        let stored =
            store::update::<store::Connection, StoreError>(self.store.as_ref(), &key, now, next).await?;
        stored.filter(|_| exists).map(Connection::read).transpose()
    }

    /// Whether an active connection uses the source. Removes connections of removed accounts.
    pub(super) async fn is_wanted(&self, id: SourceId) -> Result<bool> {
        let mut after: Option<(Uid, String)> = None;
        loop {
            let page = self.store.connections_to(id, after, PAGE).await?;
            let ended = page.len() < PAGE;
            after = page.last().map(|last| (last.owner, last.name.clone()));
            for stored in page {
                let connection = Connection::read(stored)?;
                match self.accounts.get(connection.owner).await? {
                    Some(owner) if owner.removed => {
                        let Connection { owner, name, .. } = &connection;
                        self.change_connection(*owner, name, |connection| connection.removed = true).await?;
                    }
                    Some(_) if !connection.settings.paused => return Ok(true),
                    _ => {}
                }
            }
            if ended {
                return Ok(false);
            }
        }
    }

    /// Stores the result of a poll. If the source was changed during the poll, that change wins and the source stays due:
    /// repeating a poll is harmless.
    pub(super) async fn save(&self, source: &mut Source) -> Result<()> {
        let stored = source.to_stored(self.clock.now())?;
        if self.store.replace_source(source.version, &stored).await? {
            source.version = Some(stored.version);
        }
        Ok(())
    }

    async fn poll_once(&self, source: &mut Source) -> Result<PollOutcome> {
        let request = FetchRequest {
            url: (*source.known.address).clone(),
            // New connections need all items, so the fetch is unconditional.
            etag: source.known.etag.clone().filter(|_| !source.known.awaited),
            modified: source.known.modified.clone().filter(|_| !source.known.awaited),
            accept: FEED,
        };
        let answer = match self.fetcher.get(&request).await {
            Ok(answer) => answer,
            Err(failure) => return Ok(self.record_failure(source, &failure, None)),
        };
        record_move(source, answer.moved.clone());
        let fresh_for = answer.fresh_for;
        let Some(fetched) = (match parse(source, &answer) {
            Ok(fetched) => fetched,
            Err(unreadable) => {
                let failure = FetchError::InvalidResponse("it is not a feed");
                return Ok(self.record_failure(source, &failure, Some(sentence(&unreadable))));
            }
        }) else {
            let now = self.clock.now().0;
            source.known.pace.get_or_insert_with(|| Pace::first(&[], now)).record_unchanged(now);
            self.plan_next(source, Hints { fresh_for, ..Hints::default() }, 0).await?;
            return Ok(PollOutcome::Found(0));
        };
        let all = newest(&fetched.feed);
        let imported = self.import_for_all(source, &fetched, Some(&all)).await?;
        if imported > 0 && !source.known.awaited {
            self.mark_hub_quiet(source).await?;
        }
        self.subscribe_if_offered(source, &fetched.feed, &answer).await;
        let hints = self.update_state(source, answer, fetched);
        self.plan_next(source, hints, imported).await?;
        Ok(PollOutcome::Found(imported))
    }

    /// Imports new items for all connections, and `all` items for connections that were added since the last poll. Without
    /// `all` they keep waiting.
    pub(super) async fn import_for_all(
        &self,
        source: &Source,
        fetched: &Fetched,
        all: Option<&[&FeedItem]>,
    ) -> Result<u32> {
        let changed: Vec<&FeedItem> =
            fetched.changed.iter().filter_map(|at| fetched.feed.items.get(*at)).collect();
        let mut after: Option<(Uid, String)> = None;
        let mut most = 0;
        loop {
            let page = self.store.connections_to(source.id, after, PAGE).await?;
            let last = page.last().map(|last| (last.owner, last.name.clone()));
            let ended = page.len() < PAGE;
            let each: Vec<_> = page
                .into_iter()
                .map(|subscription| self.import_for(subscription, &fetched.feed, &changed, all))
                .collect();
            let imported: Vec<u32> = stream::iter(each).buffer_unordered(CONCURRENCY).try_collect().await?;
            most = imported.into_iter().fold(most, u32::max);
            if ended {
                return Ok(most);
            }
            after = last;
        }
    }

    /// Imports the missing items for one connection.
    async fn import_for(
        &self,
        connection: store::Connection,
        feed: &Feed,
        changed: &[&FeedItem],
        all: Option<&[&FeedItem]>,
    ) -> Result<u32> {
        let mut connection = Connection::read(connection)?;
        if connection.settings.paused {
            return Ok(0);
        }
        let initial_items = all.filter(|_| connection.settings.awaits);
        let imported = self.import(&connection, feed, initial_items.unwrap_or(changed)).await?;
        if initial_items.is_some() {
            connection.settings.awaits = false;
            // If the account changed the connection meanwhile, that change wins, and the next poll imports everything again.
            let stored = connection.to_stored(self.clock.now())?;
            self.store.replace_connection(connection.version, &stored).await?;
        }
        Ok(imported)
    }

    /// Updates the state after all connections have the items. Returns the hints for scheduling.
    fn update_state(&self, source: &mut Source, answer: FetchResponse, fetched: Fetched) -> Hints {
        let now = self.clock.now();
        let Fetched { feed, seen, new, published, .. } = fetched;
        let (every, fresh_for) = (feed.every, answer.fresh_for);
        let known = &mut source.known;
        if let Content::Fresh { etag, modified, .. } = answer.content {
            (known.etag, known.modified) = (etag, modified);
        }
        known.awaited = false;
        known.seen = seen;
        known.title = feed.title;
        known.site = feed.site;
        match &mut known.pace {
            Some(pace) if new == 0 => pace.record_unchanged(now.0),
            Some(pace) => pace.record_items(&published, now.0),
            none => *none = Some(Pace::first(&published, now.0)),
        }
        Hints { fresh_for, every, ..Hints::default() }
    }

    /// Records a successful poll, and schedules the next one.
    async fn plan_next(&self, source: &mut Source, hints: Hints, imported: u32) -> Result<()> {
        let now = self.clock.now();
        let subscription = self.subscription_of(source).await?;
        let pushed = subscription.as_ref().is_some_and(|subscription| subscription.is_active(now));
        let known = &mut source.known;
        known.checked = Some(now);
        if imported > 0 {
            known.news = Some((now, imported));
        }
        known.error = None;
        known.ended = false;
        let pace = known.pace.get_or_insert_with(|| Pace::first(&[], now.0));
        let next = pace.next_poll(now.0, Hints { pushed, ..hints }, random_fraction());
        // Early enough to renew the subscription.
        let renewal = subscription
            .map_or(i64::MAX, |subscription| subscription.renew_at().0.max(now.0 + MIN_POLL_INTERVAL));
        source.due = Some(Millis(next.min(renewal)));
        Ok(())
    }

    fn record_failure(
        &self,
        source: &mut Source,
        failure: &FetchError,
        instead: Option<String>,
    ) -> PollOutcome {
        let now = self.clock.now();
        let before = source.known.error.take();
        let times = before.as_ref().map_or(0, |error| error.times).saturating_add(1);
        let message = instead.unwrap_or_else(|| failure.to_string());
        let since = before.map_or(now, |error| error.since);
        source.known.checked = Some(now);
        source.known.error = Some(SourceError { what: message.clone(), since, times });
        match retry(times, failure, now.0, random_fraction()) {
            Retry::At(at) => source.due = Some(Millis(at)),
            Retry::Never => {
                source.known.ended = true;
                source.due = None;
            }
        }
        PollOutcome::Failed(message)
    }
}

/// Parses a response; `None` if the content is unchanged.
pub(super) fn parse(
    source: &Source,
    answer: &FetchResponse,
) -> std::result::Result<Option<Fetched>, feeds::FeedError> {
    let Content::Fresh { body, content_type, .. } = &answer.content else { return Ok(None) };
    let feed = feeds::read(body, content_type.as_deref(), &answer.url)?;
    Ok(Some(compare(source, feed)))
}

/// Compares a feed with the state of the last poll.
pub(super) fn compare(source: &Source, feed: Feed) -> Fetched {
    let seen_before = &source.known.seen;
    let pairs: Vec<(u64, u64)> =
        feed.items.iter().map(|item| (hash_of(&item.id), hash_of(&content_of(item)))).collect();
    let changed =
        pairs.iter().enumerate().filter(|(_, (id, content))| !seen_before.has_content(*id, *content));
    let changed: Vec<usize> = changed.map(|(at, _)| at).collect();
    let new = feed.items.iter().zip(&pairs).filter(|(_, (id, _))| !seen_before.contains(*id));
    let new: Vec<&FeedItem> = new.map(|(item, _)| item).collect();
    let published = new.iter().filter_map(|item| item.published).map(|at| at.0).collect();
    Fetched { seen: pairs.into_iter().collect(), changed, new: new.len(), published, feed }
}

/// The content of an item that an edit changes, without times: many feeds set new times on every item.
fn content_of(item: &FeedItem) -> String {
    format!("{:?}", FeedItem { published: None, updated: None, ..item.clone() })
}

/// The newest items of a feed, in feed order.
pub(super) fn newest(feed: &Feed) -> Vec<&FeedItem> {
    let mut items: Vec<&FeedItem> = feed.items.iter().collect();
    if items.len() > MAX_INITIAL_ITEMS {
        // Items without a time keep their place in the feed, which mostly begins with the newest.
        items.sort_by_key(|item| std::cmp::Reverse(item.published));
        items.truncate(MAX_INITIAL_ITEMS);
    }
    items
}

//! One look at a source: fetch it, bring what is new, plan the next look.
//!
//! What is new is imported before anything is remembered of it: a process that dies in between does it again, and to
//! bring something again changes nothing.

use super::connection::Connection;
use super::health::sentence;
use super::moving::note_move;
use super::source::{Seen, Source, SourceError, hash_of, id_of};
use super::{Sources, chance};
use feeds::{Feed, FeedItem};
use fetcher::plan::{Hints, Pace, Retry, retry};
use fetcher::{Content, FEED, FetchError, FetchRequest, FetchResponse};
use futures::{StreamExt, TryStreamExt, stream};
use model::{Millis, SourceId, Uid};
use store::{Result, StoreError};
use url::Url;

/// The shortest time between two looks that a hub can bring about.
pub(super) const LEAST_WAIT: i64 = 60_000;
/// How many connections are read at once.
pub(super) const PAGE: usize = 200;
/// How many of them are imported something at once.
const CONCURRENCY: usize = 16;
/// The most items that a new connection brings of what was there before: the newest.
const MAX_AT_FIRST: usize = 50;

/// What a look came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PollOutcome {
    /// It was not its time any more.
    NotDue,
    /// Nobody is connected to it, or all have paused: it is not outcome at any more.
    Unwanted,
    /// So many activities are new.
    Found(u32),
    /// It did not work, because of this.
    Failed(String),
}

/// What was fetched and could be read.
pub(super) struct Fetched {
    pub(super) feed: Feed,
    /// All items with what tells their content from another.
    seen: Seen,
    /// Those that were not there before, or were otherwise.
    changed: Vec<usize>,
    /// How many of them are new, and when those were published that say so.
    new: usize,
    published: Vec<i64>,
}

impl Sources {
    /// Looks at a source if its time has come, or all the same if `anyway`.
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
            self.note(&mut source).await?;
            return Ok(PollOutcome::Unwanted);
        }
        let outcome = self.poll_once(&mut source).await?;
        self.note(&mut source).await?;
        self.move_on(source).await?;
        Ok(outcome)
    }

    /// What is known of a source.
    pub(super) async fn source(&self, id: SourceId) -> Result<Option<Source>> {
        self.store.source(id).await?.map(Source::read).transpose()
    }

    /// Changes a source by compare-and-set and returns what is stored then. `change` gets the stored source, if there is
    /// one, and returns the next state, or `None` to leave everything as it is. It may be called several times.
    pub(super) async fn update_source(
        &self,
        id: SourceId,
        mut change: impl FnMut(Option<Source>) -> Option<Source>,
    ) -> Result<Option<Source>> {
        let now = self.clock.now();
        let next = |stored: Option<&store::Source>| {
            let stored = stored.cloned().map(Source::read).transpose()?;
            change(stored).map(|source| source.written(now)).transpose()
        };
        let stored = store::update::<store::Source, StoreError>(self.store.as_ref(), &id, now, next).await?;
        stored.map(Source::read).transpose()
    }

    /// The same for the source at an address, known or new.
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

    /// The same for a connection that is not removed; `None`: there is none of that name.
    pub(super) async fn change_connection(
        &self,
        owner: Uid,
        name: &str,
        mut change: impl FnMut(&mut Connection),
    ) -> Result<Option<Connection>> {
        let now = self.clock.now();
        let mut is_there = false;
        let next = |stored: Option<&store::Connection>| {
            let stored = stored.filter(|stored| !stored.removed).cloned();
            is_there = stored.is_some();
            let Some(mut connection) = stored.map(Connection::read).transpose()? else { return Ok(None) };
            change(&mut connection);
            connection.written(now).map(Some)
        };
        let key = (owner, name.to_owned());
        let stored =
            store::update::<store::Connection, StoreError>(self.store.as_ref(), &key, now, next).await?;
        stored.filter(|_| is_there).map(Connection::read).transpose()
    }

    /// Whether a source is to be outcome at: somebody is connected who has not paused. Connections of accounts that are no
    /// more end here.
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

    /// Remembers what a look found. If the source was changed during the look, that change stays, and the source is due
    /// again: repeating a look changes nothing.
    pub(super) async fn note(&self, source: &mut Source) -> Result<()> {
        let noted = source.written(self.clock.now())?;
        if self.store.replace_source(source.version, &noted).await? {
            source.version = Some(noted.version);
        }
        Ok(())
    }

    async fn poll_once(&self, source: &mut Source) -> Result<PollOutcome> {
        let request = FetchRequest {
            url: (*source.known.address).clone(),
            // Whoever is new needs all of it.
            etag: source.known.etag.clone().filter(|_| !source.known.awaited),
            modified: source.known.modified.clone().filter(|_| !source.known.awaited),
            accept: FEED,
        };
        let answer = match self.fetcher.get(&request).await {
            Ok(answer) => answer,
            Err(failure) => return Ok(self.note_failure(source, &failure, None)),
        };
        note_move(source, answer.moved.clone());
        let fresh_for = answer.fresh_for;
        let Some(fetched) = (match take_in(source, &answer) {
            Ok(fetched) => fetched,
            Err(unreadable) => {
                let failure = FetchError::InvalidResponse("it is not a feed");
                return Ok(self.note_failure(source, &failure, Some(sentence(&unreadable))));
            }
        }) else {
            let now = self.clock.now().0;
            source.known.pace.get_or_insert_with(|| Pace::first(&[], now)).record_unchanged(now);
            self.plan_next(source, Hints { fresh_for, ..Hints::default() }, 0).await?;
            return Ok(PollOutcome::Found(0));
        };
        let all = newest(&fetched.feed);
        let imported = self.bring_to_all(source, &fetched, Some(&all)).await?;
        if imported > 0 && !source.known.awaited {
            self.note_untold(source).await?;
        }
        self.subscribe_if_offered(source, &fetched.feed, &answer).await;
        let hints = self.remember(source, answer, fetched);
        self.plan_next(source, hints, imported).await?;
        Ok(PollOutcome::Found(imported))
    }

    /// Brings what is new to everybody who is connected, and `all` to who is so since the last look. Without it they
    /// wait on.
    pub(super) async fn bring_to_all(
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
            let each: Vec<_> =
                page.into_iter().map(|one| self.bring_to(one, &fetched.feed, &changed, all)).collect();
            let imported: Vec<u32> = stream::iter(each).buffer_unordered(CONCURRENCY).try_collect().await?;
            most = imported.into_iter().fold(most, u32::max);
            if ended {
                return Ok(most);
            }
            after = last;
        }
    }

    /// Brings one connection what it has not got.
    async fn bring_to(
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
        let waited_for = all.filter(|_| connection.settings.awaits);
        let imported = self.import(&connection, feed, waited_for.unwrap_or(changed)).await?;
        if waited_for.is_some() {
            connection.settings.awaits = false;
            // If the account changed it during the look, that change stays, and the next look brings everything again.
            let noted = connection.written(self.clock.now())?;
            self.store.replace_connection(connection.version, &noted).await?;
        }
        Ok(imported)
    }

    /// Remembers what was fetched, once everybody has it. Gives what that says of when to come again.
    fn remember(&self, source: &mut Source, answer: FetchResponse, fetched: Fetched) -> Hints {
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

    /// Notes that a look went well and imported so much, and when the next one is.
    async fn plan_next(&self, source: &mut Source, hints: Hints, imported: u32) -> Result<()> {
        let now = self.clock.now();
        let subscription = self.subscription_of(source).await?;
        let pushed = subscription.as_ref().is_some_and(|one| one.tells(now));
        let known = &mut source.known;
        known.checked = Some(now);
        if imported > 0 {
            known.news = Some((now, imported));
        }
        known.error = None;
        known.ended = false;
        let pace = known.pace.get_or_insert_with(|| Pace::first(&[], now.0));
        let next = pace.next_poll(now.0, Hints { pushed, ..hints }, chance());
        // In time to ask the hub again.
        let renewal = subscription.map_or(i64::MAX, |one| one.renew_at().0.max(now.0 + LEAST_WAIT));
        source.due = Some(Millis(next.min(renewal)));
        Ok(())
    }

    fn note_failure(
        &self,
        source: &mut Source,
        failure: &FetchError,
        instead: Option<String>,
    ) -> PollOutcome {
        let now = self.clock.now();
        let before = source.known.error.take();
        let times = before.as_ref().map_or(0, |error| error.times).saturating_add(1);
        let what = instead.unwrap_or_else(|| failure.to_string());
        let since = before.map_or(now, |error| error.since);
        source.known.checked = Some(now);
        source.known.error = Some(SourceError { what: what.clone(), since, times });
        match retry(times, failure, now.0, chance()) {
            Retry::At(at) => source.due = Some(Millis(at)),
            Retry::Never => {
                source.known.ended = true;
                source.due = None;
            }
        }
        PollOutcome::Failed(what)
    }
}

/// Reads what came; `None` where nothing did, or what is known already.
pub(super) fn take_in(
    source: &Source,
    answer: &FetchResponse,
) -> std::result::Result<Option<Fetched>, feeds::FeedError> {
    let Content::Fresh { body, content_type, .. } = &answer.content else { return Ok(None) };
    let feed = feeds::read(body, content_type.as_deref(), &answer.url)?;
    Ok(Some(compare(source, feed)))
}

/// What is new in a feed.
pub(super) fn compare(source: &Source, feed: Feed) -> Fetched {
    let seen_before = &source.known.seen;
    let pairs: Vec<(u64, u64)> =
        feed.items.iter().map(|item| (hash_of(&item.id), hash_of(&content_of(item)))).collect();
    let changed = pairs.iter().enumerate().filter(|(_, (id, content))| !seen_before.has(*id, *content));
    let changed: Vec<usize> = changed.map(|(at, _)| at).collect();
    let new = feed.items.iter().zip(&pairs).filter(|(_, (id, _))| !seen_before.knows(*id));
    let new: Vec<&FeedItem> = new.map(|(item, _)| item).collect();
    let published = new.iter().filter_map(|item| item.published).map(|at| at.0).collect();
    Fetched { seen: pairs.into_iter().collect(), changed, new: new.len(), published, feed }
}

/// All of an item that an edit changes. Times are not of it: many feeds date everything anew.
fn content_of(item: &FeedItem) -> String {
    format!("{:?}", FeedItem { published: None, updated: None, ..item.clone() })
}

/// The newest items of a feed, in its order.
pub(super) fn newest(feed: &Feed) -> Vec<&FeedItem> {
    let mut items: Vec<&FeedItem> = feed.items.iter().collect();
    if items.len() > MAX_AT_FIRST {
        // Those without a time are where the feed has them: it begins with the newest, mostly.
        items.sort_by_key(|item| std::cmp::Reverse(item.published));
        items.truncate(MAX_AT_FIRST);
    }
    items
}

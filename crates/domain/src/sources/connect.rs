//! Connections: finds the feed behind a typed address, previews it, and creates, pauses and removes connections.

use super::connection::{Connection, ConnectionSettings, is_name, name_for};
use super::health::sentence;
use super::import::draft;
use super::people::free_name;
use super::poll::newest;
use super::source::{Source, id_of};
use super::{Address, Health, PollOutcome, Sources};
use crate::ingest::Draft;
use feeds::catalogue::{self, Recognised};
use feeds::opml::Outline;
use feeds::{Feed, Format};
use fetcher::{Content, FetchError, FetchRequest, FetchResponse};
use futures::{StreamExt, TryStreamExt, stream};
use model::{Account, AccountName, Filter, Millis, Order, Quota, QuotaReached};
use std::collections::BTreeSet;
use std::sync::Arc;
use store::{ExternalKey, Slice, StoreError};
use url::Url;

/// The `Accept` header for a feed or a page.
const FEED_OR_PAGE: &str = "application/atom+xml, application/rss+xml;q=0.9, application/feed+json;q=0.9, text/html;q=0.8, */*;q=0.1";
/// The number of connections read concurrently.
const CONCURRENCY: usize = 16;
/// The page size when deleting imported activities.
const PAGE: usize = 200;
/// When a source is polled whose connection was not completed, in milliseconds.
const CONNECT_TIMEOUT: i64 = 60_000;

/// Why a source could not be connected.
#[derive(Debug, thiserror::Error)]
pub enum NotConnected {
    /// The text is neither an address nor a handle that the catalogue recognises.
    #[error("This is not the address of a page or a feed: write one like https://example.org/feed.")]
    NotUnderstood,
    /// Fetching failed.
    #[error(transparent)]
    NotFetched(#[from] FetchError),
    /// The address is no feed, and its page links to none.
    #[error(
        "No feed found at this address, and the page links to none. Enter the address of the feed itself."
    )]
    NoFeed,
    /// The feed is unreadable.
    #[error("{}", sentence(.0))]
    FeedError(#[from] feeds::FeedError),
    /// The name is invalid.
    #[error("Invalid source name: expected 1 to 64 of a-z 0-9 . _ -, starting with a letter or digit.")]
    BadName,
    /// The name is taken.
    #[error("A source with the name {0} already exists: remove it first, or choose another name.")]
    NameTaken(String),
    /// The account exceeded its fetch budget.
    #[error("Too many requests. Try again in 60 seconds.")]
    TooOften,
    /// The account has the maximum number of sources.
    #[error("An account has at most {} sources: remove one first.", .0.max)]
    TooMany(QuotaReached),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The activities that a connection would import.
#[derive(Debug)]
pub struct Preview {
    /// The address of the feed.
    pub address: Url,
    /// The title of the feed.
    pub title: Option<String>,
    /// The service of its activities.
    pub service: String,
    /// The default name of a connection to it.
    pub name: String,
    /// The activities, newest first.
    pub activities: Vec<Draft>,
    settings: ConnectionSettings,
    feed: Feed,
}

/// A new or existing connection.
#[derive(Debug)]
pub struct Connected {
    /// The connection.
    pub connection: Connection,
    /// Whether it was created now.
    pub is_new: bool,
    /// How many activities were imported.
    pub imported: u32,
}

/// A connection with its source.
#[derive(Debug)]
pub struct Listed {
    /// The connection.
    pub connection: Connection,
    /// Its source.
    pub source: Option<Source>,
    /// Its status.
    pub health: Health,
}

impl Listed {
    /// The address of the feed.
    pub fn address(&self) -> String {
        let known = self.source.as_ref().map(|source| source.known.address.to_string());
        known.unwrap_or_else(|| self.connection.settings.typed.clone())
    }

    /// Whether this is its address, or the text that it was created from.
    pub fn is_at(&self, address: &str) -> bool {
        address == self.address() || address == self.connection.settings.typed
    }
}

impl Sources {
    /// Finds the feed behind a typed text, and the activities that it would import for that account. Stores nothing.
    pub async fn preview(&self, account: &Arc<Account>, typed: &str) -> Result<Preview, NotConnected> {
        self.spend_fetch(account)?;
        let typed = typed.trim();
        // Checked before recognition, so that a forbidden address is reported as such.
        if typed.contains("://") {
            self.fetcher.check(typed)?;
        }
        let Recognised { service, feed, page } =
            catalogue::recognise(typed).ok_or(NotConnected::NotUnderstood)?;
        let found = match feed {
            // The catalogue knows where a service has its feeds, but not every account has one there.
            Some(feed) => match self.find_feed(feed).await {
                Err(NotConnected::NotFetched(FetchError::NotFound) | NotConnected::NoFeed) => None,
                found => Some(found?),
            },
            None => None,
        };
        let (requested, answer, read) = match found {
            Some(found) => found,
            None => self.find_feed(page.clone()).await?,
        };
        // A temporary redirect may lead elsewhere tomorrow, so only a permanent one counts.
        let address = answer.moved.clone().unwrap_or(requested);
        let shown = catalogue::source(service, &read, &address).ok_or(NotConnected::NotUnderstood)?;
        let name = name_for(&address);
        let page = Some(page)
            .filter(|page| *page != address)
            .or_else(|| read.site.as_deref().and_then(|site| Url::parse(site).ok()));
        let now = self.clock.now();
        let settings = ConnectionSettings::new(shown, typed.to_owned(), page, now);
        let connection = Connection {
            owner: account.uid,
            name: name.clone(),
            version: None,
            source: id_of(&address),
            removed: false,
            settings,
        };
        let drafts =
            newest(&read).into_iter().filter_map(|item| draft(account, &connection, &read, item, now));
        let activities = drafts.collect();
        let title = read.title.clone();
        Ok(Preview {
            address,
            title,
            service: connection.settings.service.clone(),
            name,
            activities,
            settings: connection.settings,
            feed: read,
        })
    }

    /// Counts a fetch against the account's budget; an error if the budget is used up.
    pub(super) fn spend_fetch(&self, account: &Account) -> Result<(), NotConnected> {
        match &self.account_budget {
            Some(budget) if !budget.try_spend(account.uid) => Err(NotConnected::TooOften),
            _ => Ok(()),
        }
    }

    /// The feed at an address, or the one that the page there links to, with the address it was requested from.
    async fn find_feed(&self, address: Url) -> Result<(Url, FetchResponse, Feed), NotConnected> {
        let address = self.fetcher.check(address.as_str())?;
        let answer = self.fetch(address.clone()).await?;
        let Content::Fresh { body, content_type, .. } = &answer.content else {
            return Err(NotConnected::NoFeed);
        };
        let read = feeds::read(body, content_type.as_deref(), &answer.url);
        let is_page =
            matches!(&read, Err(feeds::FeedError::NotAFeed) | Ok(Feed { format: Format::Html, .. }));
        if is_page
            && let Some(found) =
                feeds::discover(body, content_type.as_deref(), &answer.url).into_iter().next()
        {
            let address = self.fetcher.check(found.url.as_str())?;
            let answer = self.fetch(address.clone()).await?;
            let Content::Fresh { body, content_type, .. } = &answer.content else {
                return Err(NotConnected::NoFeed);
            };
            let feed = feeds::read(body, content_type.as_deref(), &answer.url)?;
            return Ok((address, answer, feed));
        }
        match read {
            Ok(feed) => Ok((address, answer, feed)),
            Err(feeds::FeedError::NotAFeed) => Err(NotConnected::NoFeed),
            Err(unreadable) => Err(unreadable.into()),
        }
    }

    async fn fetch(&self, url: Url) -> Result<FetchResponse, FetchError> {
        self.fetcher.get(&FetchRequest { url, etag: None, modified: None, accept: FEED_OR_PAGE }).await
    }

    /// Connects an account to the feed behind a typed text, and imports its newest items. Idempotent.
    pub async fn connect(
        &self,
        account: &Arc<Account>,
        name: Option<&str>,
        typed: &str,
    ) -> Result<Connected, NotConnected> {
        if name.is_some_and(|name| !is_name(name)) {
            return Err(NotConnected::BadName);
        }
        let preview = self.preview(account, typed).await?;
        self.connect_to(account, name, preview).await
    }

    /// Fails if an account with this many connections may not have another one.
    pub(super) fn require_room(&self, connections: usize) -> Result<(), NotConnected> {
        let max = self.quotas.sources;
        if connections as u64 >= max {
            return Err(NotConnected::TooMany(QuotaReached { quota: Quota::Sources, max }));
        }
        Ok(())
    }

    async fn connect_to(
        &self,
        account: &Arc<Account>,
        name: Option<&str>,
        preview: Preview,
    ) -> Result<Connected, NotConnected> {
        let target = id_of(&preview.address);
        let connections = self.store.connections_of(account.uid).await?;
        let same = connections.iter().find(|connection| {
            connection.source == target && name.is_none_or(|name| name == connection.name)
        });
        if let Some(same) = same {
            return Ok(Connected { connection: Connection::read(same.clone())?, is_new: false, imported: 0 });
        }
        self.require_room(connections.len())?;
        let is_taken = |name: &str| connections.iter().any(|connection| connection.name == name);
        let name = match name {
            Some(name) if is_taken(name) => return Err(NotConnected::NameTaken(name.to_owned())),
            Some(name) => name.to_owned(),
            None => free_name(&preview.name, is_taken),
        };
        let now = self.clock.now();
        let verified = self.links_back(preview.settings.page.as_ref(), &account.name).await.then_some(now);
        let settings = ConnectionSettings { verified, ..preview.settings.clone() };
        let connection =
            Connection { owner: account.uid, name, version: None, source: target, removed: false, settings };
        // The source comes first, so that it is polled soon even if this process ends here. Then the connection, so that
        // all new items are imported from now on. Then the existing items.
        let by = Millis(now.0 + CONNECT_TIMEOUT);
        self.change_source_at(&preview.address, |source| source.poll_by(by)).await?;
        let connection = self.add_connection(connection).await?;
        let imported = self.import(&connection, &preview.feed, &newest(&preview.feed)).await?;
        self.start_polling(&preview, imported).await?;
        Ok(Connected { connection, is_new: true, imported })
    }

    /// Adds a connection under an unused name.
    pub(super) async fn add_connection(&self, connection: Connection) -> Result<Connection, NotConnected> {
        let now = self.clock.now();
        let key = (connection.owner, connection.name.clone());
        let add = |stored: Option<&store::Connection>| {
            if stored.is_some_and(|stored| !stored.removed) {
                return Err(NotConnected::NameTaken(connection.name.clone()));
            }
            Ok(Some(connection.to_stored(now)?))
        };
        let added = store::update::<store::Connection, _>(self.store.as_ref(), &key, now, add).await?;
        let version = added.map(|added| added.version);
        Ok(Connection { version, ..connection })
    }

    /// Starts polling a source. Its title is visible immediately. Its items are recorded by the next poll, because another
    /// account may have connected meanwhile that still needs them.
    async fn start_polling(&self, preview: &Preview, imported: u32) -> Result<(), StoreError> {
        let now = self.clock.now();
        let update = self.change_source_at(&preview.address, |source| {
            let known = &mut source.known;
            if known.checked.is_none() {
                (known.title, known.site) = (preview.feed.title.clone(), preview.feed.site.clone());
                (known.checked, known.news) = (Some(now), (imported > 0).then_some((now, imported)));
            }
            source.poll_now(now);
        });
        update.await?;
        self.due_now.notify_one();
        Ok(())
    }

    /// Whether the page links to the account's profile with `rel=me`.
    async fn links_back(&self, page: Option<&Address>, name: &AccountName) -> bool {
        let (Some(page), Some(base)) = (page, &self.base_url) else { return false };
        let Ok(page) = self.fetcher.check(page.as_str()) else { return false };
        let Ok(answer) = self.fetch(page).await else { return false };
        let Content::Fresh { body, content_type, .. } = &answer.content else { return false };
        let profile = format!("{base}/user/{}", name.as_str());
        feeds::rel_me(body, content_type.as_deref(), &answer.url)
            .iter()
            .any(|found| found.as_str().trim_end_matches('/').eq_ignore_ascii_case(&profile))
    }

    /// The account's sources as OPML outlines.
    pub async fn outlines(&self, account: &Account) -> Result<Vec<Outline>, StoreError> {
        let listed = self.list(account).await?;
        let outline = |listed: Listed| {
            let title = listed.source.as_ref().and_then(|source| source.known.title.clone());
            let title = title.unwrap_or_else(|| listed.connection.name.clone());
            let address = listed.source.map(|source| (*source.known.address).clone())?;
            let site = listed.connection.settings.page.map(|page| (*page).clone());
            Some(Outline { title: Some(title), address, site })
        };
        Ok(listed.into_iter().filter_map(outline).collect())
    }

    /// The account's connections, by name.
    pub async fn list(&self, account: &Account) -> Result<Vec<Listed>, StoreError> {
        let stored = self.store.connections_of(account.uid).await?;
        let each: Vec<_> = stored
            .into_iter()
            .map(|connection| async { self.listed(Connection::read(connection)?).await })
            .collect();
        stream::iter(each).buffered(CONCURRENCY).try_collect().await
    }

    async fn listed(&self, connection: Connection) -> Result<Listed, StoreError> {
        let source = self.source(connection.source).await?;
        let now = self.clock.now();
        let subscription = match &source {
            Some(source) => self.subscription_of(source).await?,
            None => None,
        };
        let has_hub = subscription.is_some_and(|subscription| subscription.is_active(now));
        let health = Health::of(&connection, source.as_ref(), has_hub, now);
        Ok(Listed { connection, source, health })
    }

    /// The account's connection with this name.
    pub async fn find(&self, account: &Account, name: &str) -> Result<Option<Listed>, StoreError> {
        match self.connection(account, name).await? {
            Some(connection) => Ok(Some(self.listed(connection).await?)),
            None => Ok(None),
        }
    }

    async fn connection(&self, account: &Account, name: &str) -> Result<Option<Connection>, StoreError> {
        if !is_name(name) {
            return Ok(None);
        }
        let stored = self.store.connection(account.uid, name).await?.filter(|stored| !stored.removed);
        stored.map(Connection::read).transpose()
    }

    /// Polls a connection's source now, and verifies its page. `None` if there is no connection with this name.
    pub async fn check(&self, account: &Account, name: &str) -> Result<Option<PollOutcome>, StoreError> {
        let Some(connection) = self.connection(account, name).await? else { return Ok(None) };
        let outcome = self.poll(connection.source, true).await?;
        let links_back = self.links_back(connection.settings.page.as_ref(), &account.name).await;
        let verified = links_back.then(|| self.clock.now());
        let verify = self.change_connection(account.uid, name, |connection| {
            if verified.is_some() != connection.settings.verified.is_some() {
                connection.settings.verified = verified;
            }
        });
        verify.await?;
        Ok(Some(outcome))
    }

    /// Pauses or resumes a connection. Resuming imports the items of the feed. `false` if there is no such connection.
    pub async fn pause(&self, account: &Account, name: &str, paused: bool) -> Result<bool, StoreError> {
        let Some(before) = self.connection(account, name).await? else { return Ok(false) };
        // A resumed connection that still awaits its items may have been resumed by a process that ended then.
        if before.settings.paused == paused && (paused || !before.settings.awaits) {
            return Ok(true);
        }
        let pause = self.change_connection(account.uid, name, |connection| {
            connection.settings.paused = paused;
            connection.settings.awaits |= !paused;
        });
        let Some(connection) = pause.await? else { return Ok(false) };
        if !paused {
            let now = self.clock.now();
            let resumed = self.update_source(connection.source, |stored| {
                let mut source = stored?;
                // A server that failed, or asked for a pause, is not polled before its scheduled time.
                let is_planned = source.known.ended || source.due.is_some();
                if source.known.error.is_some() && is_planned {
                    source.known.awaited = true;
                } else {
                    source.poll_now(now);
                }
                Some(source)
            });
            resumed.await?;
            self.due_now.notify_one();
        }
        Ok(true)
    }

    /// Removes a connection, optionally with its imported activities, and returns the number of deleted activities.
    /// `None` if there is no connection with this name.
    pub async fn disconnect(
        &self,
        account: &Account,
        name: &str,
        with_activities: bool,
    ) -> Result<Option<u32>, StoreError> {
        if !is_name(name) {
            return Ok(None);
        }
        let end = self.change_connection(account.uid, name, |connection| connection.removed = true);
        let Some(connection) = end.await? else { return Ok(None) };
        let deleted = if with_activities { self.delete_imported(account, &connection).await? } else { 0 };
        Ok(Some(deleted))
    }

    /// Deletes the activities that a connection imported.
    async fn delete_imported(&self, account: &Account, connection: &Connection) -> Result<u32, StoreError> {
        let folded = connection.settings.service.to_lowercase();
        let filter = Filter { services: BTreeSet::from([folded]), ..Filter::default() };
        let (mut after, mut deleted) = (None, 0);
        loop {
            let slice = Slice::own(account.uid, Order::Received, &filter, after, PAGE);
            let entries = self.store.slice(&slice).await?;
            after = entries.last().map(|entry| entry.sort_key(Order::Received));
            let ids: Vec<_> = entries.iter().filter(|entry| !entry.retracted).map(|entry| entry.id).collect();
            for activity in self.store.activities(&ids).await?.into_iter().flatten() {
                let is_ours = activity.body.imported_by.as_deref() == Some(connection.name.as_str());
                if is_ours && !activity.state.deleted {
                    let service = activity.state.facet.service.clone();
                    let source = ExternalKey { actor: account.uid, service, id: activity.body.source_id };
                    deleted += u32::from(self.ingest.delete(&source).await?);
                }
            }
            self.hub.wrote();
            if entries.len() < PAGE {
                return Ok(deleted);
            }
        }
    }
}

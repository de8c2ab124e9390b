//! Connections: from what somebody typed to a feed, what would come in, and making, pausing and ending them.

use super::connection::{Connection, ConnectionSettings, MAX_CONNECTIONS, is_name, name_for};
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
use model::{Account, AccountName, Filter, Millis, Order};
use std::collections::BTreeSet;
use std::sync::Arc;
use store::{ExternalKey, Slice, StoreError};
use url::Url;

/// The `Accept` header of who takes a page as well as a feed.
const FEED_OR_PAGE: &str = "application/atom+xml, application/rss+xml;q=0.9, application/feed+json;q=0.9, text/html;q=0.8, */*;q=0.1";
/// How many connections are outcome at at once.
const CONCURRENCY: usize = 16;
/// How many activities are outcome through at once for those that a connection imported.
const PAGE: usize = 200;
/// When a source is outcome at whose connection was not made to its end.
const TO_CONNECT: i64 = 60_000;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum NotConnected {
    /// What was typed is no address and no name that the catalogue knows.
    #[error("This is not the address of a page or a feed: write one like https://example.org/feed.")]
    NotUnderstood,
    /// It could not be fetched.
    #[error(transparent)]
    NotFetched(#[from] FetchError),
    /// Neither is it a feed, nor does it point to one.
    #[error(
        "There is no feed at this address, and the page there points to none: give the address of the feed itself."
    )]
    NoFeed,
    /// It is a feed that can't be read.
    #[error("{}", sentence(.0))]
    Unreadable(#[from] feeds::FeedError),
    /// That can't be a name.
    #[error("A source's name has 1 to 64 of a-z 0-9 . _ -, and begins with a letter or digit.")]
    BadName,
    /// That is the name of another.
    #[error("There is another source of that name, {0}: remove it first, or choose another name.")]
    NameTaken(String),
    /// Too much was asked for.
    #[error("That was often: try again in a minute.")]
    TooOften,
    /// There are too many.
    #[error("An account has at most {MAX_CONNECTIONS} sources: remove one first.")]
    TooMany,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What would come in.
#[derive(Debug)]
pub struct Preview {
    /// Where the feed is.
    pub address: Url,
    /// What it calls itself.
    pub title: Option<String>,
    /// The service that its activities would be done on.
    pub service: String,
    /// What a connection to it would be called.
    pub name: String,
    /// The activities, newest first.
    pub activities: Vec<Draft>,
    settings: ConnectionSettings,
    feed: Feed,
}

/// A connection that was made, or was there.
#[derive(Debug)]
pub struct Connected {
    /// It.
    pub connection: Connection,
    /// It was not there before.
    pub is_new: bool,
    /// So many activities came in with it.
    pub imported: u32,
}

/// A connection with its source.
#[derive(Debug)]
pub struct Listed {
    /// What was wished for.
    pub connection: Connection,
    /// Where it comes from.
    pub source: Option<Source>,
    /// How that is.
    pub health: Health,
}

impl Listed {
    /// Where it is fetched.
    pub fn address(&self) -> String {
        let known = self.source.as_ref().map(|source| source.known.address.to_string());
        known.unwrap_or_else(|| self.connection.settings.typed.clone())
    }

    /// Whether that is its address, or what it was made from.
    pub fn is_at(&self, address: &str) -> bool {
        address == self.address() || address == self.connection.settings.typed
    }
}

impl Sources {
    /// Finds the feed behind what somebody typed, and what it would bring to that account. Nothing is kept.
    pub async fn preview(&self, account: &Arc<Account>, typed: &str) -> Result<Preview, NotConnected> {
        self.may_ask(account)?;
        let typed = typed.trim();
        // Before anything is made of it: what may not be asked is told as what it is.
        if typed.contains("://") {
            self.fetcher.check(typed)?;
        }
        let Recognised { service, feed, page } =
            catalogue::recognise(typed).ok_or(NotConnected::NotUnderstood)?;
        let found = match feed {
            // Where a service has its feeds is known, but not to everybody the same.
            Some(feed) => match self.find_feed(feed).await {
                Err(NotConnected::NotFetched(FetchError::NotFound) | NotConnected::NoFeed) => None,
                found => Some(found?),
            },
            None => None,
        };
        let (asked, answer, read) = match found {
            Some(found) => found,
            None => self.find_feed(page.clone()).await?,
        };
        // Where it leads for now is its server's affair, and may be elsewhere tomorrow.
        let address = answer.moved.clone().unwrap_or(asked);
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

    /// Counts that an account has something fetched; an error if that is too often.
    pub(super) fn may_ask(&self, account: &Account) -> Result<(), NotConnected> {
        match &self.asked {
            Some(asked) if !asked.once_more(account.uid) => Err(NotConnected::TooOften),
            _ => Ok(()),
        }
    }

    /// What is at an address if it is a feed, else the feed that the page there points to; and where that was asked for.
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

    /// Connects an account to the feed behind what somebody typed, and brings what is there. The same again changes
    /// nothing.
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

    async fn connect_to(
        &self,
        account: &Arc<Account>,
        name: Option<&str>,
        preview: Preview,
    ) -> Result<Connected, NotConnected> {
        let target = id_of(&preview.address);
        let there = self.store.connections_of(account.uid).await?;
        let same = there.iter().find(|one| one.source == target && name.is_none_or(|name| name == one.name));
        if let Some(same) = same {
            return Ok(Connected { connection: Connection::read(same.clone())?, is_new: false, imported: 0 });
        }
        if there.len() >= MAX_CONNECTIONS {
            return Err(NotConnected::TooMany);
        }
        let is_taken = |name: &str| there.iter().any(|one| one.name == name);
        let name = match name {
            Some(name) if is_taken(name) => return Err(NotConnected::NameTaken(name.to_owned())),
            Some(name) => name.to_owned(),
            None => free_name(&preview.name, is_taken),
        };
        let now = self.clock.now();
        let verified = self.says_it_is(preview.settings.page.as_ref(), &account.name).await.then_some(now);
        let settings = ConnectionSettings { verified, ..preview.settings.clone() };
        let connection =
            Connection { owner: account.uid, name, version: None, source: target, removed: false, settings };
        // First the source, so that the settings is met soon even if this process ends here; then the settings, so that whatever
        // comes into the feed from now on is imported; then what is there already.
        let by = Millis(now.0 + TO_CONNECT);
        self.change_source_at(&preview.address, |source| source.is_awaited_by(by)).await?;
        let connection = self.add_connection(connection).await?;
        let imported = self.import(&connection, &preview.feed, &newest(&preview.feed)).await?;
        self.begin(&preview, imported).await?;
        Ok(Connected { connection, is_new: true, imported })
    }

    /// Adds a connection under a name that no other one has.
    pub(super) async fn add_connection(&self, connection: Connection) -> Result<Connection, NotConnected> {
        let now = self.clock.now();
        let key = (connection.owner, connection.name.clone());
        let add = |stored: Option<&store::Connection>| {
            if stored.is_some_and(|stored| !stored.removed) {
                return Err(NotConnected::NameTaken(connection.name.clone()));
            }
            Ok(Some(connection.written(now)?))
        };
        let added = store::update::<store::Connection, _>(self.store.as_ref(), &key, now, add).await?;
        let version = added.map(|added| added.version);
        Ok(Connection { version, ..connection })
    }

    /// Has a source outcome at from now on. What it is called can be seen at once; what was in it is noted by the look
    /// that follows, for others may be connected meanwhile who have not got it.
    async fn begin(&self, preview: &Preview, imported: u32) -> Result<(), StoreError> {
        let now = self.clock.now();
        let begun = self.change_source_at(&preview.address, |source| {
            let known = &mut source.known;
            if known.checked.is_none() {
                (known.title, known.site) = (preview.feed.title.clone(), preview.feed.site.clone());
                (known.checked, known.news) = (Some(now), (imported > 0).then_some((now, imported)));
            }
            source.is_due_at_once(now);
        });
        begun.await?;
        self.due_now.notify_one();
        Ok(())
    }

    /// Whether a page says by `rel=me` that it is the account's.
    async fn says_it_is(&self, page: Option<&Address>, name: &AccountName) -> bool {
        let (Some(page), Some(base)) = (page, &self.base_url) else { return false };
        let Ok(page) = self.fetcher.check(page.as_str()) else { return false };
        let Ok(answer) = self.fetch(page).await else { return false };
        let Content::Fresh { body, content_type, .. } = &answer.content else { return false };
        let profile = format!("{base}/user/{}", name.as_str());
        feeds::rel_me(body, content_type.as_deref(), &answer.url)
            .iter()
            .any(|found| found.as_str().trim_end_matches('/').eq_ignore_ascii_case(&profile))
    }

    /// The account's sources, as feed readers exchange them.
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
        let each: Vec<_> =
            stored.into_iter().map(|one| async { self.listed(Connection::read(one)?).await }).collect();
        stream::iter(each).buffered(CONCURRENCY).try_collect().await
    }

    async fn listed(&self, connection: Connection) -> Result<Listed, StoreError> {
        let source = self.source(connection.source).await?;
        let now = self.clock.now();
        let subscription = match &source {
            Some(source) => self.subscription_of(source).await?,
            None => None,
        };
        let is_told = subscription.is_some_and(|one| one.tells(now));
        let health = Health::of(&connection, source.as_ref(), is_told, now);
        Ok(Listed { connection, source, health })
    }

    /// The account's connection of that name.
    pub async fn one(&self, account: &Account, name: &str) -> Result<Option<Listed>, StoreError> {
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

    /// Looks at a connection's source now, and whether its page says whose it is. `None`: there is none of that name.
    pub async fn check(&self, account: &Account, name: &str) -> Result<Option<PollOutcome>, StoreError> {
        let Some(connection) = self.connection(account, name).await? else { return Ok(None) };
        let outcome = self.poll(connection.source, true).await?;
        let says = self.says_it_is(connection.settings.page.as_ref(), &account.name).await;
        let verified = says.then(|| self.clock.now());
        let verify = self.change_connection(account.uid, name, |connection| {
            if verified.is_some() != connection.settings.verified.is_some() {
                connection.settings.verified = verified;
            }
        });
        verify.await?;
        Ok(Some(outcome))
    }

    /// Pauses a connection, or has it go on with what is in the feed then. `false`: there is none of that name.
    pub async fn pause(&self, account: &Account, name: &str, paused: bool) -> Result<bool, StoreError> {
        let Some(before) = self.connection(account, name).await? else { return Ok(false) };
        // One that goes on already and has not got everything yet may have been resumed by a process that ended then.
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
                // A server that failed, or asked to come later, is left alone until the time that was planned.
                let is_planned = source.known.ended || source.due.is_some();
                if source.known.error.is_some() && is_planned {
                    source.known.awaited = true;
                } else {
                    source.is_due_at_once(now);
                }
                Some(source)
            });
            resumed.await?;
            self.due_now.notify_one();
        }
        Ok(true)
    }

    /// Ends a connection; with what it imported, if that is wanted. `None`: there is none of that name; else how many
    /// activities went with it.
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
        let gone = if with_activities { self.delete_brought(account, &connection).await? } else { 0 };
        Ok(Some(gone))
    }

    /// Deletes what a connection imported.
    async fn delete_brought(&self, account: &Account, connection: &Connection) -> Result<u32, StoreError> {
        let folded = connection.settings.service.to_lowercase();
        let filter = Filter { services: BTreeSet::from([folded]), ..Filter::default() };
        let (mut after, mut gone) = (None, 0);
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
                    gone += u32::from(self.ingest.delete(&source).await?);
                }
            }
            self.hub.wrote();
            if entries.len() < PAGE {
                return Ok(gone);
            }
        }
    }
}

//! Reads collections.
//!
//! - `read` walks the store's ordered entries to the items of a page; `updates` walks them in the order of arrival.
//! - `visibility` checks every entry for both; `hydrate` fetches the bodies of the items shown.
//! - `validity` says whether a cached page is still true.
//! - `unread` counts the arrivals that the owner has not seen, and moves the seen position.
//! - `search` finds items by their words.
//! - `pulled_actors` lists the actors whose entries are merged in; `merge` merges them and caches the newest ones.
//!
//! Entries are hints: an item is shown only if the activity's current state puts it there.

mod hydrate;
mod merge;
mod pulled_actors;
mod read;
mod search;
mod unread;
mod updates;
mod validity;
mod visibility;

pub use merge::HeadCache;
pub use search::Found;
pub use unread::{MAX_UNREAD, Unread};
pub use updates::{Event, Events};
pub use validity::Validity;

use hydrate::Bodies;
use model::{Account, Body, Clock, FeedQuery, Position, Reader, Start, State, SyncToken, Version};
use pulled_actors::ReadTracker;
use std::sync::Arc;
use std::time::Duration;
use store::{AccountCache, Dependencies, Store, StoreError};

/// An activity on a page.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its current state.
    pub state: State,
    /// The account that performed it.
    pub actor: Arc<Account>,
    /// The body of the state's version, if it was needed or came with the state.
    pub body: Option<Arc<Body>>,
    /// The position at which that version arrived in this collection, if it has.
    arrived: Option<Position>,
    /// The version of the owner's edge to the actor, if the edge is why the item is here.
    edge: Option<Version>,
}

impl Item {
    /// Whether a reader whose seen position this is has seen this version.
    pub fn is_seen(&self, seen: &SyncToken) -> bool {
        seen.covers(self.state.id, self.state.version, self.edge, self.arrived)
    }

    /// Whether this version has arrived, and so can be counted as unread.
    pub fn has_arrived(&self) -> bool {
        self.arrived.is_some()
    }
}

/// A page of a collection.
#[derive(Debug)]
pub struct Page {
    /// The items shown.
    pub items: Vec<Item>,
    /// Where the next page starts, if there is more.
    pub next: Option<Start>,
    /// Covers the items of this page and of the pages before it in the walk.
    pub sync_token: SyncToken,
    /// `None`: the page cannot be cached.
    pub(super) dependencies: Option<Dependencies>,
}

/// Why a page can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// `start` is further away than a request may walk.
    #[error("start is further than {0} entries away")]
    StartTooFar(u32),
    /// The request's `count` exceeds the maximum, and more items follow.
    #[error("more than {0} items follow")]
    CountTooLarge(u32),
    /// Arrivals after the sync token may be missing: see [`Feed::has_expired`].
    #[error("the sync token has expired")]
    Expired,
    /// The filter makes the walk longer than a request may take, or makes it read more rows.
    #[error("the read took too long")]
    TooBroad,
    /// Activities of the page changed during every attempt to read it.
    #[error("the page changed while it was read")]
    Changed,
}

/// Limits of a read.
#[derive(Clone, Copy, Debug)]
pub struct FeedLimits {
    /// Activities received longer ago than this are not shown.
    pub retention: Option<Duration>,
    /// Maximum number of entries that `start` may skip.
    pub max_start: u32,
    /// Maximum number of items on a page.
    pub max_count: u32,
    /// Maximum number of rows that a read looks at, beyond those that `start` skips and those that a mute hides.
    pub max_rows: usize,
    /// Timeout of a read.
    pub deadline: Duration,
    /// Time without a read after which an account becomes dormant. `None`: never.
    pub idle_after: Option<Duration>,
    /// TTL of the head cache.
    pub head_ttl: Duration,
}

impl Default for FeedLimits {
    fn default() -> FeedLimits {
        FeedLimits {
            retention: None,
            max_start: 100_000,
            max_count: 1_000,
            max_rows: 50_000,
            deadline: Duration::from_secs(10),
            idle_after: None,
            head_ttl: Duration::ZERO,
        }
    }
}

/// Reads pages of collections.
#[derive(Clone)]
pub struct Feed {
    store: Arc<dyn Store>,
    accounts: AccountCache,
    bodies: Arc<Bodies>,
    head_cache: Arc<HeadCache>,
    reads: Arc<ReadTracker>,
    clock: Clock,
    limits: FeedLimits,
}

impl Feed {
    /// Creates a reader of that store's collections.
    pub fn new(store: Arc<dyn Store>, accounts: AccountCache, clock: Clock, limits: FeedLimits) -> Feed {
        let bodies = Arc::new(Bodies::new(Arc::clone(&store)));
        // Where whole pages are cached, heads are not: a cached one could be older than the page's mark.
        let head_ttl = if store.changes().is_some() { Duration::ZERO } else { limits.head_ttl };
        let head_cache = Arc::new(HeadCache::new(head_ttl));
        let reads = Arc::new(ReadTracker::new(limits.idle_after));
        Feed { store, accounts, bodies, head_cache, reads, clock, limits }
    }

    /// The cached newest entries of pulled actors.
    pub fn head_cache(&self) -> Arc<HeadCache> {
        Arc::clone(&self.head_cache)
    }

    /// The page that `reader` gets for `query`. Its items may lack their bodies: see [`Feed::hydrated_page`].
    pub async fn page(&self, reader: Reader, query: &FeedQuery) -> Result<Page, ReadError> {
        let read = async {
            match &query.start {
                Start::Updates(sync_token) if self.has_expired(sync_token).await? => Err(ReadError::Expired),
                Start::Updates(sync_token) => self.updates(reader, query, sync_token).await,
                Start::Skip(skip) => self.walk(reader, query, *skip, None).await,
                Start::After { sort_key, .. } => self.walk(reader, query, 0, Some(*sort_key)).await,
            }
        };
        let read = tokio::time::timeout(self.limits.deadline, read);
        let (page, dependencies) = store::recorded(self.store.as_ref(), read).await;
        Ok(Page { dependencies, ..page.unwrap_or(Err(ReadError::TooBroad))? })
    }

    /// Maximum number of items on the page of a query.
    fn page_size(&self, query: &FeedQuery) -> usize {
        query.count.min(self.limits.max_count) as usize
    }

    /// Rejects a page that `max_count` would cut short: a client that pages by `start` and `count` alone would take it
    /// for the last page.
    fn reject_truncated(&self, query: &FeedQuery, more: bool) -> Result<(), ReadError> {
        match more && query.count > self.limits.max_count {
            true => Err(ReadError::CountTooLarge(self.limits.max_count)),
            false => Ok(()),
        }
    }

    /// Whether arrivals after the sync token may be missing: deleted since, or lost because an older backup was restored.
    pub async fn has_expired(&self, sync_token: &SyncToken) -> Result<bool, ReadError> {
        Ok(self.store.has_lost(sync_token.offset.position, self.clock.now()).await?)
    }
}

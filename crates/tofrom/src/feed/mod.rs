//! DeliveryState collections.
//!
//! `read` walks the store's ordered entries and finds what a page shows; `updates` does the same in the order of
//! arrival; `visibility` is what both hold every entry to; `hydrate` gets the bodies of what is shown. `others` says from whom a
//! collection is read besides its own entries, `merge` puts them together, and `head_cache` remembers what many pull. Entries
//! are hints: nothing is shown that the activity's present state does not put there.

mod head_cache;
mod hydrate;
mod merge;
mod pulled_actors;
mod read;
mod updates;
mod visibility;

pub use head_cache::HeadCache;
pub use hydrate::Bodies;
pub use updates::{Event, Events};

use crate::accounts::AccountCache;
use crate::clock::Clock;
use model::{Account, FeedQuery, Position, Reader, Start, State, SyncToken, Version};
use pulled_actors::ReadTracker;
use std::sync::Arc;
use std::time::Duration;
use store::{Store, StoreError};

/// An activity on a page.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its present state.
    pub state: State,
    /// Who did it.
    pub actor: Arc<Account>,
    /// Where that version arrived in this collection, if it has.
    arrived: Option<Position>,
    /// The version of the owner's edge to the actor, if it is there by that.
    edge: Option<Version>,
}

/// A page of a collection.
#[derive(Debug)]
pub struct Page {
    /// What it shows.
    pub items: Vec<Item>,
    /// Where the next page starts, if there is more.
    pub next: Option<Start>,
    /// What whoever has this page (and those before it in its walk) has seen.
    pub sync_token: SyncToken,
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
    /// More items follow than a page may have, and more were asked for.
    #[error("more than {0} items follow")]
    CountTooLarge(u32),
    /// The sync_token is so old that what came after it may have been forgotten.
    #[error("the sync_token is too old")]
    Expired,
    /// The filter makes the walk longer than a request may take.
    #[error("the read took too long")]
    TooBroad,
}

/// How far a read may go.
#[derive(Clone, Copy, Debug)]
pub struct FeedLimits {
    /// What was received longer ago is not shown.
    pub retention: Option<Duration>,
    /// How many entries `start` may step over.
    pub max_start: u32,
    /// How many items a page may have.
    pub max_count: u32,
    /// How long a read may take.
    pub deadline: Duration,
    /// After how long without a read an account falls asleep, if it does.
    pub idle_after: Option<Duration>,
    /// How long what very-followed accounts did is remembered.
    pub heads_kept: Duration,
}

impl Default for FeedLimits {
    fn default() -> FeedLimits {
        FeedLimits {
            retention: None,
            max_start: 100_000,
            max_count: 1_000,
            deadline: Duration::from_secs(10),
            idle_after: None,
            heads_kept: Duration::ZERO,
        }
    }
}

/// ReadTracker pages of collections.
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
    /// A reader of that store's collections.
    pub fn new(store: Arc<dyn Store>, accounts: AccountCache, clock: Clock, limits: FeedLimits) -> Feed {
        let bodies = Arc::new(Bodies::new(Arc::clone(&store)));
        let head_cache = Arc::new(HeadCache::new(limits.heads_kept));
        let reads = Arc::new(ReadTracker::new(limits.idle_after));
        Feed { store, accounts, bodies, head_cache, reads, clock, limits }
    }

    /// What it remembers of very-followed accounts.
    pub fn head_cache(&self) -> Arc<HeadCache> {
        Arc::clone(&self.head_cache)
    }

    /// The bodies of what it shows.
    pub fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// The page that `reader` gets for `query`.
    pub async fn page(&self, reader: Reader, query: &FeedQuery) -> Result<Page, ReadError> {
        let read = async {
            match &query.start {
                Start::Updates(sync_token) if self.has_expired(sync_token).await? => Err(ReadError::Expired),
                Start::Updates(sync_token) => self.updates(reader, query, sync_token).await,
                Start::Skip(skip) => self.walk(reader, query, *skip, None).await,
                Start::After { sort_key, sync_token } => {
                    self.walk(reader, query, 0, Some((*sort_key, sync_token))).await
                }
            }
        };
        tokio::time::timeout(self.limits.deadline, read).await.unwrap_or(Err(ReadError::TooBroad))
    }

    /// How many items the page of a query has at most.
    fn page_size(&self, query: &FeedQuery) -> usize {
        query.count.min(self.limits.max_count) as usize
    }

    /// Refuses a page of `max_count` items behind which there is more, if more was asked for: who pages by `start` and
    /// `count` alone would take it for the last one.
    fn demand_whole(&self, query: &FeedQuery, more: bool) -> Result<(), ReadError> {
        match more && query.count > self.limits.max_count {
            true => Err(ReadError::CountTooLarge(self.limits.max_count)),
            false => Ok(()),
        }
    }

    /// Whether what came after the sync_token may have been forgotten meanwhile.
    pub async fn has_expired(&self, sync_token: &SyncToken) -> Result<bool, ReadError> {
        Ok(sync_token.offset.position < self.store.oldest(self.clock.now()).await?)
    }
}

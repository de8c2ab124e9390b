//! The seen position of a collection, and the activities that arrived after it.

use super::updates::{MAX_STEP, Step, Steps};
use super::{Event, Feed, ReadError};
use model::{Account, FeedQuery, MAX_PAGE, Millis, Reader, Start, SyncToken, Version};
use std::collections::HashSet;
use store::{Seen, StoreError};

/// The largest exact count.
pub const MAX_UNREAD: usize = 1_000;
/// How long every engine keeps arrivals, in milliseconds.
const LOG_MEMORY: i64 = 7 * 24 * 60 * 60 * 1_000;

/// The unread activities of a collection.
#[derive(Clone, Debug)]
pub struct Unread {
    /// Their number, up to [`MAX_UNREAD`].
    pub count: usize,
    /// There are more, or there may be.
    pub at_least: bool,
    /// Updates after this sync token bring them.
    pub sync_token: SyncToken,
}

impl Feed {
    /// Counts what an updates walk from the seen position would bring, under the filters of the query.
    pub async fn unread(&self, owner: &Account, query: &FeedQuery) -> Result<Unread, ReadError> {
        self.unread_up_to(MAX_UNREAD, owner, query).await
    }

    /// The same, exact up to `max` only: the walk ends there.
    pub async fn unread_up_to(
        &self,
        max: usize,
        owner: &Account,
        query: &FeedQuery,
    ) -> Result<Unread, ReadError> {
        let (sync_token, known) = self.unread_from(owner, query).await?;
        let counting = self.count_updates(query, &sync_token, max);
        let count =
            tokio::time::timeout(self.limits.deadline, counting).await.unwrap_or(Err(ReadError::TooBroad))?;
        let at_least = count > max || !known;
        Ok(Unread { count: count.min(max), at_least, sync_token })
    }

    /// The seen position of the query's collection. `None`: it was never set.
    pub async fn seen(&self, query: &FeedQuery) -> Result<Option<SyncToken>, ReadError> {
        let stored = self.store.seen(query.owner, query.collection).await?;
        Ok(stored.map(|seen| seen.sync_token))
    }

    /// Where the unread activities begin, and whether the log still knows all of them.
    async fn unread_from(&self, owner: &Account, query: &FeedQuery) -> Result<(SyncToken, bool), ReadError> {
        let now = self.clock.now();
        let stored = self.store.seen(query.owner, query.collection).await?;
        let seen = stored.as_ref().map(|seen| seen.sync_token.clone()).unwrap_or_default();
        let from = self.store.resume_at(seen.offset.position, now).await?;
        if from == seen.offset.position {
            return Ok((seen, true));
        }
        // Nothing arrived before the account was created.
        let known = stored.is_none() && owner.created > Millis(now.0.saturating_sub(LOG_MEMORY));
        Ok((SyncToken::at(from), known))
    }

    /// The number of activities that arrived after `sync_token`. Stops when it is more than `max`.
    async fn count_updates(
        &self,
        query: &FeedQuery,
        sync_token: &SyncToken,
        max: usize,
    ) -> Result<usize, ReadError> {
        let floor = self.store.floor().await?;
        let filter = self.filter(query);
        let pulled = self.pulled(query).await?;
        let step = Step {
            reader: Reader::Owner,
            query,
            filter: &filter,
            pulled: &pulled,
            floor,
            limit: MAX_STEP.min(max + 1),
            deletions: false,
            with_bodies: false,
        };
        let (mut ahead, mut counted) = (sync_token.clone(), HashSet::new());
        while counted.len() <= max {
            let Steps { events, ended, .. } = self.step(&step, &mut ahead).await?;
            let ids = events.into_iter().filter_map(|(event, _)| match event {
                Event::Activity(item) => Some(item.state.id),
                Event::Deleted(_) | Event::Changed => None,
            });
            counted.extend(ids);
            if ended {
                break;
            }
        }
        Ok(counted.len())
    }

    /// The sync token of a reader who has seen all that the collection shows now.
    pub async fn seen_now(&self, query: &FeedQuery) -> Result<SyncToken, ReadError> {
        // A token remembers as many items that are shown before they arrive.
        let newest = FeedQuery { count: MAX_PAGE, ..query.from(Start::Skip(0)) };
        Ok(self.page(Reader::Owner, &newest).await?.sync_token)
    }

    /// Moves the seen position of the query's collection forward. `false`: it was there already, or further.
    pub async fn mark_seen(&self, query: &FeedQuery, sync_token: &SyncToken) -> Result<bool, StoreError> {
        let (owner, collection) = (query.owner, query.collection);
        let mut moved = false;
        let forward = |stored: Option<&Seen>| {
            let seen = stored.map(|seen| seen.sync_token.clone()).unwrap_or_default().joined(sync_token);
            moved = seen.is_some();
            let version = Version::default();
            Ok(seen.map(|sync_token| Seen { owner, collection, version, sync_token }))
        };
        let key = (owner, collection);
        store::update::<Seen, StoreError>(self.store.as_ref(), &key, self.clock.now(), forward).await?;
        Ok(moved)
    }
}

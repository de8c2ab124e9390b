//! Fetches the bodies of a page's items, with a cache by identifier and version.

use super::{Event, Feed, Item, Page, ReadError};
use model::{Activity, ActivityId, Body, Entry, FeedQuery, Reader, State, SyncToken, Version};
use std::sync::Arc;
use store::Store;

/// Maximum number of cached bodies.
const CAPACITY: u64 = 50_000;
/// How often a page is read again because an activity on it changed meanwhile.
const MAX_ATTEMPTS: usize = 5;

/// A read-through cache of bodies.
pub(super) struct Bodies {
    store: Arc<dyn Store>,
    cached: moka::sync::Cache<(ActivityId, Version), Arc<Body>>,
}

impl Bodies {
    /// A cache in front of that store.
    pub(super) fn new(store: Arc<dyn Store>) -> Bodies {
        Bodies { store, cached: moka::sync::Cache::new(CAPACITY) }
    }

    /// The current states of these entries' activities. If the body of an entry's version is not cached, it is read
    /// together with the state: they are stored together, and the caller mostly needs the body next.
    pub(super) async fn states(
        &self,
        entries: impl Iterator<Item = &Entry>,
    ) -> Result<Vec<Option<(State, Option<Arc<Body>>)>>, ReadError> {
        let (mut order, mut cached, mut uncached) = (Vec::new(), Vec::new(), Vec::new());
        for entry in entries {
            let is_cached = self.cached.contains_key(&(entry.id, entry.version));
            order.push(is_cached);
            if is_cached { &mut cached } else { &mut uncached }.push(entry.id);
        }
        let (cached, uncached) =
            tokio::try_join!(self.store.states(&cached), self.store.activities(&uncached))?;
        let (mut cached, mut uncached) = (cached.into_iter(), uncached.into_iter());
        let state = |is_cached| match is_cached {
            true => cached.next().flatten().map(|state| (state, None)),
            false => uncached.next().flatten().map(|activity| {
                let (state, body) = self.insert(activity);
                (state, Some(body))
            }),
        };
        Ok(order.into_iter().map(state).collect())
    }

    fn insert(&self, Activity { state, body }: Activity) -> (State, Arc<Body>) {
        let body = Arc::new(body);
        self.cached.insert((state.id, state.version), Arc::clone(&body));
        (state, body)
    }
}

impl Feed {
    /// Reads a page and the bodies of those items that `needs_body` selects by index, from what `prepare` made of the
    /// page. If an activity changed between the two reads, the page is read again, because its cursors would not match.
    pub async fn hydrated_page<T>(
        &self,
        reader: Reader,
        query: &FeedQuery,
        prepare: impl Fn(&Page) -> T,
        needs_body: impl Fn(&T, usize) -> bool,
    ) -> Result<(Page, T), ReadError> {
        self.hydrated(None, reader, query, prepare, needs_body).await
    }

    /// The same, beginning with a page that was read before.
    pub async fn hydrated<T>(
        &self,
        mut first: Option<Page>,
        reader: Reader,
        query: &FeedQuery,
        prepare: impl Fn(&Page) -> T,
        needs_body: impl Fn(&T, usize) -> bool,
    ) -> Result<(Page, T), ReadError> {
        for _ in 0..MAX_ATTEMPTS {
            let mut page = match first.take() {
                Some(page) => page,
                None => self.page(reader, query).await?,
            };
            let prepared = prepare(&page);
            if self.hydrate(&mut page.items, |at| needs_body(&prepared, at)).await? {
                return Ok((page, prepared));
            }
        }
        Err(ReadError::Changed)
    }

    /// Hydrates the activities. One that changed meanwhile is left out: its new version's arrival will follow.
    pub(super) async fn hydrated_events(
        &self,
        events: Vec<(Event, SyncToken)>,
    ) -> Result<Vec<(Event, SyncToken)>, ReadError> {
        let item = |(event, _): &(Event, SyncToken)| match event {
            Event::Activity(item) => Some(item.clone()),
            Event::Deleted(_) | Event::Changed => None,
        };
        let mut items: Vec<Item> = events.iter().filter_map(item).collect();
        self.hydrate(&mut items, |_| true).await?;
        let mut items = items.into_iter();
        let events = events.into_iter().filter_map(|(event, sync_token)| match event {
            Event::Activity(_) => {
                let item = items.next().filter(|item| item.body.is_some())?;
                Some((Event::Activity(item), sync_token))
            }
            other => Some((other, sync_token)),
        });
        Ok(events.collect())
    }

    /// Fetches the bodies of the items that `needs_body` selects by index. Returns `false` if an item gets none because
    /// its activity has a newer version by now, or has expired.
    pub async fn hydrate(
        &self,
        items: &mut [Item],
        needs_body: impl Fn(usize) -> bool,
    ) -> Result<bool, ReadError> {
        let mut missing = Vec::new();
        for (_, item) in items.iter_mut().enumerate().filter(|(at, _)| needs_body(*at)) {
            if item.body.is_none() {
                item.body = self.bodies.cached.get(&(item.state.id, item.state.version));
            }
            if item.body.is_none() {
                missing.push(item);
            }
        }
        if missing.is_empty() {
            return Ok(true);
        }
        let ids: Vec<ActivityId> = missing.iter().map(|item| item.state.id).collect();
        let mut unchanged = true;
        for (item, activity) in missing.into_iter().zip(self.store.activities(&ids).await?) {
            // Without a body the activity has expired since the page was read.
            let current = activity.map(|activity| self.bodies.insert(activity));
            let current = current.filter(|(state, _)| state.version == item.state.version);
            item.body = current.map(|(_, body)| body);
            unchanged &= item.body.is_some();
        }
        Ok(unchanged)
    }
}

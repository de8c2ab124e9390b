//! Fetches the bodies of a page's items, with a cache by identifier and version.

use super::{Item, ReadError};
use model::{Activity, ActivityId, Body, Entry, State, Version};
use std::collections::HashMap;
use std::sync::Arc;
use store::{Store, StoreError};

/// Maximum number of cached bodies.
const CAPACITY: u64 = 50_000;

/// A read-through cache of bodies.
pub struct Bodies {
    store: Arc<dyn Store>,
    cached: moka::sync::Cache<(ActivityId, Version), Arc<Body>>,
}

impl Bodies {
    /// A cache in front of that store.
    pub fn new(store: Arc<dyn Store>) -> Bodies {
        Bodies { store, cached: moka::sync::Cache::new(CAPACITY) }
    }

    /// The current states of these entries' activities. If the body of an entry's version is not cached, it is read
    /// together with the state: they are stored together, and the caller mostly needs the body next.
    pub(super) async fn states(
        &self,
        entries: impl Iterator<Item = &Entry>,
    ) -> Result<Vec<Option<State>>, ReadError> {
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
            true => cached.next().flatten(),
            false => uncached.next().flatten().map(|activity| self.insert(activity).0),
        };
        Ok(order.into_iter().map(state).collect())
    }

    /// The bodies of the items that `selected` accepts by index. If a body is newer than its item's state, the state is
    /// updated too, so that both have the same version.
    pub async fn of(
        &self,
        items: &mut [Item],
        selected: impl Fn(usize) -> bool,
    ) -> Result<HashMap<ActivityId, Arc<Body>>, ReadError> {
        let mut found = HashMap::new();
        let mut missing = Vec::new();
        for (_, item) in items.iter().enumerate().filter(|(at, _)| selected(*at)) {
            let id = item.state.id;
            match self.cached.get(&(id, item.state.version)) {
                Some(body) => drop(found.insert(id, body)),
                None => missing.push(id),
            }
        }
        let activities = self.store.activities(&missing).await?;
        for (id, activity) in missing.into_iter().zip(activities) {
            let (state, body) = self.insert(activity.ok_or_else(|| missing_body(id))?);
            found.insert(id, body);
            for item in items.iter_mut().filter(|item| item.state.id == id) {
                item.state.clone_from(&state);
            }
        }
        Ok(found)
    }

    fn insert(&self, Activity { state, body }: Activity) -> (State, Arc<Body>) {
        let body = Arc::new(body);
        self.cached.insert((state.id, state.version), Arc::clone(&body));
        (state, body)
    }
}

fn missing_body(id: ActivityId) -> StoreError {
    StoreError::Corrupt(format!("activity {id} has no body"))
}

//! From what is shown to what is said: the bodies of a page's items, remembered by identifier and version.

use super::{Item, ReadError};
use model::{Activity, ActivityId, Body, Entry, State, Version};
use std::collections::HashMap;
use std::sync::Arc;
use store::{Store, StoreError};

/// How many bodies are remembered.
const REMEMBERED: u64 = 50_000;

/// The bodies of activities.
pub struct Bodies {
    store: Arc<dyn Store>,
    known: moka::sync::Cache<(ActivityId, Version), Arc<Body>>,
}

impl Bodies {
    /// The bodies in that store.
    pub fn new(store: Arc<dyn Store>) -> Bodies {
        Bodies { store, known: moka::sync::Cache::new(REMEMBERED) }
    }

    /// The present states of these entries' activities. Where the body of an entry's version is not known, it is read
    /// with the state: they lie together, and who asks for the one mostly wants the other next.
    pub(super) async fn states(
        &self,
        entries: impl Iterator<Item = &Entry>,
    ) -> Result<Vec<Option<State>>, ReadError> {
        let (mut order, mut known, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        for entry in entries {
            let is_known = self.known.contains_key(&(entry.id, entry.version));
            order.push(is_known);
            if is_known { &mut known } else { &mut unknown }.push(entry.id);
        }
        let (known, unknown) = tokio::try_join!(self.store.states(&known), self.store.activities(&unknown))?;
        let (mut known, mut unknown) = (known.into_iter(), unknown.into_iter());
        let one = |is_known| match is_known {
            true => known.next().flatten(),
            false => unknown.next().flatten().map(|activity| self.remember(activity).0),
        };
        Ok(order.into_iter().map(one).collect())
    }

    /// The bodies of those of the items that are `wanted`. A body that is newer than its item's state brings the
    /// state up to it: both are shown as of one version.
    pub async fn of(
        &self,
        items: &mut [Item],
        wanted: impl Fn(usize) -> bool,
    ) -> Result<HashMap<ActivityId, Arc<Body>>, ReadError> {
        let mut found = HashMap::new();
        let mut missing = Vec::new();
        for (_, item) in items.iter().enumerate().filter(|(at, _)| wanted(*at)) {
            let id = item.state.id;
            match self.known.get(&(id, item.state.version)) {
                Some(body) => drop(found.insert(id, body)),
                None => missing.push(id),
            }
        }
        let activities = self.store.activities(&missing).await?;
        for (id, activity) in missing.into_iter().zip(activities) {
            let (state, body) = self.remember(activity.ok_or_else(|| bodiless(id))?);
            found.insert(id, body);
            for item in items.iter_mut().filter(|item| item.state.id == id) {
                item.state.clone_from(&state);
            }
        }
        Ok(found)
    }

    fn remember(&self, Activity { state, body }: Activity) -> (State, Arc<Body>) {
        let body = Arc::new(body);
        self.known.insert((state.id, state.version), Arc::clone(&body));
        (state, body)
    }
}

fn bodiless(id: ActivityId) -> StoreError {
    StoreError::Corrupt(format!("activity {id} has no body"))
}

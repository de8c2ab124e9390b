//! From what is shown to what is said: the bodies of a page's items, remembered by identifier and version.

use super::{Item, ReadError};
use model::{ActivityId, Body, Version};
use std::collections::HashMap;
use std::sync::Arc;
use store::{Store, StoreError};

/// How many bodies are remembered.
const REMEMBERED: u64 = 50_000;

/// How often a body may overtake its state before that is taken for a fault.
const ATTEMPTS: usize = 4;

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

    /// The bodies of those of the items that are `wanted`. A body that is newer than its item's state brings the
    /// state up to it: both are shown as of one version.
    pub async fn of(
        &self,
        items: &mut [Item],
        wanted: impl Fn(usize) -> bool,
    ) -> Result<HashMap<ActivityId, Arc<Body>>, ReadError> {
        let mut found = HashMap::new();
        for _ in 0..ATTEMPTS {
            let mut missing = Vec::new();
            for (_, item) in items.iter().enumerate().filter(|(at, _)| wanted(*at)) {
                let id = item.state.id;
                match self.known.get(&(id, item.state.version)) {
                    Some(body) => drop(found.insert(id, body)),
                    None if !found.contains_key(&id) => missing.push(id),
                    None => {}
                }
            }
            if missing.is_empty() {
                return Ok(found);
            }
            let mut overtaken = Vec::new();
            let bodies = self.store.bodies(&missing).await?;
            for (id, body) in missing.into_iter().zip(bodies) {
                let (version, body) = body.ok_or_else(|| bodiless(id))?;
                let body = Arc::new(body);
                self.known.insert((id, version), Arc::clone(&body));
                if items.iter().any(|item| (item.state.id, item.state.version) == (id, version)) {
                    found.insert(id, body);
                } else {
                    overtaken.push(id);
                }
            }
            // Mostly none: then the state that is known is the one that the body belongs to.
            let states = self.store.states(&overtaken).await?;
            for (id, state) in overtaken.into_iter().zip(states) {
                let state = state.ok_or_else(|| bodiless(id))?;
                items
                    .iter_mut()
                    .filter(|item| item.state.id == id)
                    .for_each(|item| item.state = state.clone());
            }
        }
        Err(StoreError::Unavailable("an activity changed faster than it could be read".to_owned()).into())
    }
}

fn bodiless(id: ActivityId) -> StoreError {
    StoreError::Corrupt(format!("activity {id} has no body"))
}

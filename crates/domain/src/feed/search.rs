//! Full-text search in a collection. The store finds activities of all accounts; each is checked as on a page.

use super::visibility::Belonging;
use super::{Feed, Item, ReadError};
use model::{Entry, EntryReason, FeedQuery, Reader, State};

/// Activities read at a time, and at most.
const BATCH: usize = 200;
const MAX_READ: usize = 4_000;

/// The found activities.
#[derive(Debug, Default)]
pub struct Found {
    /// The newest activities of the collection that have all words.
    pub items: Vec<Item>,
    /// Whether there may be more.
    pub more: bool,
}

impl Feed {
    /// Whether the store can search texts.
    pub fn searches_text(&self) -> bool {
        self.store.searches_text()
    }

    /// The newest activities of the query's collection that have all words of the text, of the last one at least the
    /// beginning. The query's filter and count apply, its start and order do not.
    pub async fn search(&self, reader: Reader, query: &FeedQuery, text: &str) -> Result<Found, ReadError> {
        let search = self.search_by_batch(reader, query, text);
        tokio::time::timeout(self.limits.deadline, search).await.unwrap_or(Err(ReadError::TooBroad))
    }

    async fn search_by_batch(
        &self,
        reader: Reader,
        query: &FeedQuery,
        text: &str,
    ) -> Result<Found, ReadError> {
        let (filter, size) = (self.filter(query), self.page_size(query));
        let (mut items, mut before, mut read) = (Vec::new(), None, 0);
        loop {
            let found = self.store.search(text, before, BATCH).await?;
            read += found.len();
            let is_last = found.len() < BATCH;
            before = found.last().map(|(_, place)| *place);
            let ids: Vec<_> = found.into_iter().map(|(id, _)| id).collect();
            let states = self.store.states(&ids).await?.into_iter().flatten();
            let entries = states.filter(|state| !state.deleted).map(|state| entry(query, &state)).collect();
            let Belonging { candidates, .. } = self.belonging(reader, query, &filter, entries).await?;
            let mut shown: Vec<Item> =
                self.shown(reader, query, candidates, true).await?.into_iter().flatten().collect();
            // An activity that changed meanwhile has no body here. It is found again.
            self.hydrate(&mut shown, |_| true).await?;
            items.extend(shown.into_iter().filter(|item| item.body.is_some()));
            let is_full = items.len() > size;
            if is_last || is_full || read >= MAX_READ {
                items.truncate(size);
                return Ok(Found { items, more: is_full || !is_last });
            }
        }
    }
}

/// The entry that the activity would have in the collection.
fn entry(query: &FeedQuery, state: &State) -> Entry {
    let reason = if state.actor == query.owner {
        EntryReason::Authored
    } else if state.addressed.contains(&query.owner) {
        EntryReason::Addressed
    } else {
        EntryReason::Followed
    };
    Entry::of(state, reason, false)
}

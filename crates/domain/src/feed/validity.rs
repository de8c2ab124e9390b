//! Whether a cached page is still what a new read would give.

use super::{Feed, Page, ReadError};
use model::{FeedQuery, Start};
use store::Standing;

/// About the size of an item without its body.
const ITEM_BYTES: usize = 500;

/// What of a cached page is still true.
#[derive(Debug)]
pub enum Validity {
    /// Everything.
    Current,
    /// Its items. The floor has moved, so the links are new.
    Moved(Box<Page>),
    /// Perhaps nothing.
    Outdated,
}

impl Feed {
    /// What of a page is still true for the reader and the query that it was read for. Counts as a read of the collection.
    pub async fn validity(&self, query: &FeedQuery, page: &Page) -> Result<Validity, ReadError> {
        let Some((dependencies, changes)) = page.dependencies.as_ref().zip(self.store.changes()) else {
            return Ok(Validity::Outdated);
        };
        if !self.accounts.are_unchanged(dependencies).await? {
            return Ok(Validity::Outdated);
        }
        let standing = || dependencies.standing(self.store.as_ref(), self.clock.now());
        match standing() {
            Standing::Unchanged => self.recorded(query, Validity::Current).await,
            Standing::Changed => Ok(Validity::Outdated),
            // The floor decides which arrivals belong to a page of updates.
            Standing::FloorMoved if matches!(query.start, Start::Updates(_)) => Ok(Validity::Outdated),
            Standing::FloorMoved => {
                // As in a read, the floor comes first: what arrives after it is reported after it.
                let since = changes.mark();
                let floor = self.store.floor().await?;
                if standing() == Standing::Changed {
                    return Ok(Validity::Outdated);
                }
                let moved = Page::at(floor, query, page.items.clone(), page.next.is_some());
                let dependencies = Some(dependencies.clone().renewed(since));
                self.recorded(query, Validity::Moved(Box::new(Page { dependencies, ..moved }))).await
            }
        }
    }

    async fn recorded(&self, query: &FeedQuery, validity: Validity) -> Result<Validity, ReadError> {
        // A page of no items asks for the position only.
        if query.count > 0 {
            self.record_read(query).await?;
        }
        Ok(validity)
    }
}

impl Page {
    /// The approximate size in memory, without bodies.
    pub fn cached_bytes(&self) -> usize {
        let dependencies = self.dependencies.as_ref().map_or(0, |dependencies| dependencies.bytes());
        self.items.len() * ITEM_BYTES + dependencies
    }

    /// The page for a cache, without bodies. `None`: nothing would tell whether it is still true.
    pub fn cacheable(mut self) -> Option<Page> {
        self.items.iter_mut().for_each(|item| item.body = None);
        self.dependencies.is_some().then_some(self)
    }
}

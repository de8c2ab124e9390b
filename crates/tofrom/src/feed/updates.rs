//! A page in the order of arrival: what came into a collection after a mark.

use super::{Feed, Item, Page, ReadError};
use model::{FeedQuery, Mark, Place, Reader, Start};
use std::collections::HashSet;

impl Feed {
    /// What arrived after `mark`, oldest first, each activity once in its newest version.
    pub(super) async fn updates(
        &self,
        reader: Reader,
        query: &FeedQuery,
        mark: &Mark,
    ) -> Result<Page, ReadError> {
        let floor = self.store.floor().await?;
        let size = query.page_size() as usize;
        let mut mark = mark.clone();
        if size == 0 {
            return Ok(Page { items: Vec::new(), next: None, mark });
        }
        let filter = self.filter(query);
        let mut items: Vec<Item> = Vec::new();
        let mut on_page = HashSet::new();
        // What the mark knows is only let go together with the items that it stood for, so a page that ends early
        // gives the mark as of its last item.
        let mut ahead = mark.clone();
        let limit = size + 1;
        loop {
            let arrivals = self.store.arrivals(query.owner, ahead.place, floor, limit).await?;
            let ended = arrivals.len() < limit;
            let places: Vec<_> = arrivals.iter().map(|entry| (entry.id, entry.arrived)).collect();
            let candidates = self.belonging(query, &filter, arrivals).await?;
            let versions: Vec<_> = candidates.iter().map(|c| (c.entry.id, c.entry.version)).collect();
            let mut shown = versions.into_iter().zip(self.shown(reader, query, candidates).await?).peekable();
            for (id, arrived) in places {
                if let Some(position) = arrived {
                    ahead.advance(Place { position, inside: Some(id) });
                }
                let Some(((_, version), item)) = shown.next_if(|((candidate, _), _)| *candidate == id) else {
                    continue;
                };
                let seen = ahead.forget(id, version);
                // An older version than the present one: the newer one's arrival is still to come.
                let Some(item) = item.filter(|item| !seen && item.state.version == version) else { continue };
                if !on_page.insert(id) {
                    continue;
                }
                if items.len() == size {
                    let next = Some(Start::Updates(mark.clone()));
                    return Ok(Page { items, next, mark });
                }
                items.push(item);
                mark = ahead.clone();
            }
            if ended {
                break;
            }
        }
        ahead.advance(Place::whole(floor));
        Ok(Page { items, next: None, mark: ahead })
    }
}

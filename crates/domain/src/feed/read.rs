//! Reads a page in the collection's own order.

use super::visibility::Belonging;
use super::{Feed, Item, Page, ReadError};
use model::{DeliveryState, Entry, FeedQuery, Position, Reader, SortKey, Start, SyncToken};

/// Maximum number of entries read from the store per request.
const MAX_SLICE: usize = 500;

impl Feed {
    /// Walks the collection from its top, or from after a sort key, over `skip` items, to the items of a page.
    pub(super) async fn walk(
        &self,
        reader: Reader,
        query: &FeedQuery,
        skip: u32,
        after: Option<SortKey>,
    ) -> Result<Page, ReadError> {
        // The floor is read first: arrivals during the read have later positions.
        let floor = self.store.floor().await?;
        if query.count == 0 {
            return Ok(Page::at(floor, query, Vec::new(), false));
        }
        let delivery = self.delivery_state(query).await?;
        // The page is returned once the reactivation is durable. Catching up runs later.
        let page = self.read_page(reader, query, skip, after, floor, &delivery);
        Ok(tokio::try_join!(page, self.reactivate(query.owner, &delivery))?.0)
    }

    async fn read_page(
        &self,
        reader: Reader,
        query: &FeedQuery,
        skip: u32,
        after: Option<SortKey>,
        floor: Position,
        delivery: &DeliveryState,
    ) -> Result<Page, ReadError> {
        let (size, filter) = (self.page_size(query), self.filter(query));
        let mut walk = Walk { to_skip: skip as usize, stepped_over: 0 };
        let mut budget = RowBudget(self.limits.max_rows);
        let mut items: Vec<Item> = Vec::with_capacity(size + 1);
        let mut limit = if walk.to_skip > 0 { MAX_SLICE } else { MAX_SLICE.min(size + 1) };
        let actors = self.pulled_actors(query.owner, delivery).await?;
        let mut merge = self.merge(query, &filter, &actors, after, limit, floor).await?;
        // One item more than the page has shows whether there is a next page.
        loop {
            let entries = merge.next(limit).await?;
            let ended = entries.len() < limit;
            walk.pass(&entries, self.limits.max_start)?;
            let (rows, before, wanted) = (entries.len(), walk.to_skip, size + 1 - items.len());
            let (found, muted) =
                self.items_of(reader, query, &filter, entries, &mut walk.to_skip, wanted).await?;
            items.extend(found);
            if ended || items.len() > size {
                break;
            }
            budget.spend(rows.saturating_sub(muted + before - walk.to_skip))?;
            limit = MAX_SLICE.min(limit * 2);
        }
        let more = items.len() > size;
        self.reject_truncated(query, more)?;
        items.truncate(size);
        Ok(Page::at(merge.floor, query, items, more))
    }

    /// The items of these entries, without the first `to_skip`, at most `limit`; and how many entries a mute hides.
    async fn items_of(
        &self,
        reader: Reader,
        query: &FeedQuery,
        filter: &model::Filter,
        entries: Vec<Entry>,
        to_skip: &mut usize,
        limit: usize,
    ) -> Result<(Vec<Item>, usize), ReadError> {
        let Belonging { mut candidates, muted } = self.belonging(reader, query, filter, entries).await?;
        // For the owner, skipped items are counted by entries alone. For other readers the state decides, because only
        // the state holds the recipients.
        if reader == Reader::Owner {
            let skipped = candidates.len().min(*to_skip);
            *to_skip -= skipped;
            candidates.drain(..skipped);
        }
        let mut items = Vec::new();
        while !candidates.is_empty() && items.len() < limit {
            let take = candidates.len().min(limit.max(*to_skip) - items.len());
            let batch: Vec<_> = candidates.drain(..take).collect();
            if *to_skip >= batch.len() {
                *to_skip -= self.count_shown(reader, query, &batch).await?;
                continue;
            }
            for item in self.shown(reader, query, batch, true).await?.into_iter().flatten() {
                if *to_skip > 0 {
                    *to_skip -= 1;
                } else {
                    items.push(item);
                }
            }
        }
        Ok((items, muted))
    }
}

impl Page {
    /// The page of these items, read at that floor.
    pub(super) fn at(floor: Position, query: &FeedQuery, items: Vec<Item>, more: bool) -> Page {
        let mut sync_token = match &query.start {
            Start::After { sync_token, .. } => sync_token.clone(),
            Start::Skip(_) | Start::Updates(_) => SyncToken::at(floor),
        };
        for item in &items {
            sync_token.shown(item.state.id, item.state.version, item.edge, item.arrived);
        }
        let last = items.last().map(|item| item.sort_key(query)).filter(|_| more);
        let next = last.map(|sort_key| Start::After { sort_key, sync_token: sync_token.clone() });
        Page { items, next, sync_token, dependencies: None }
    }
}

/// The rows that a read may still look at.
pub(super) struct RowBudget(pub(super) usize);

impl RowBudget {
    /// Fails if there are fewer left.
    pub(super) fn spend(&mut self, rows: usize) -> Result<(), ReadError> {
        self.0 = self.0.checked_sub(rows).ok_or(ReadError::TooBroad)?;
        Ok(())
    }
}

/// Progress of a walk.
struct Walk {
    to_skip: usize,
    stepped_over: usize,
}

impl Walk {
    /// Counts entries that are read only to be skipped. Fails if there are more than `max`.
    fn pass(&mut self, entries: &[Entry], max: u32) -> Result<(), ReadError> {
        if self.to_skip > 0 {
            self.stepped_over += entries.len().min(self.to_skip);
        }
        if self.stepped_over > max as usize {
            return Err(ReadError::StartTooFar(max));
        }
        Ok(())
    }
}

impl Item {
    fn sort_key(&self, query: &FeedQuery) -> SortKey {
        let time = match query.order {
            model::Order::Received => self.state.received,
            model::Order::Published => self.state.published,
        };
        SortKey { time, id: self.state.id }
    }
}

//! What came into a collection after a mark.

use super::{Feed, Item, Page, ReadError};
use model::{ActivityId, Entry, FeedQuery, Filter, Mark, Place, Position, Reader, Start, Version};
use std::collections::{HashMap, HashSet};
use store::Arrival;

/// Something that happened in a collection.
#[derive(Clone, Debug)]
pub enum Event {
    /// An activity came, or a new version of one.
    Activity(Item),
    /// An activity is not there any more.
    Deleted(ActivityId),
    /// Something changed that can't be told one by one: the collection must be read anew.
    Changed,
}

/// What happened after a mark.
#[derive(Debug)]
pub struct Events {
    /// In the order of arrival, each with the mark of whoever has seen all up to it.
    pub events: Vec<(Event, Mark)>,
    /// The mark of whoever has seen all of them.
    pub mark: Mark,
    /// Whether there may be more at once.
    pub more: bool,
}

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
        loop {
            let step = Step { reader, query, filter: &filter, floor, limit: size + 1, deletions: false };
            let (events, ended) = self.step(&step, &mut ahead).await?;
            for (event, after) in events {
                let Event::Activity(item) = event else { continue };
                if !on_page.insert(item.state.id) {
                    continue;
                }
                if items.len() == size {
                    let next = Some(Start::Updates(mark.clone()));
                    return Ok(Page { items, next, mark });
                }
                items.push(item);
                mark = after;
            }
            if ended {
                break;
            }
        }
        ahead.advance(Place::whole(floor));
        Ok(Page { items, next: None, mark: ahead })
    }

    /// What happened after `mark`, deletions and changes too, at most about `limit` of it.
    pub async fn events(
        &self,
        reader: Reader,
        query: &FeedQuery,
        mark: &Mark,
        limit: usize,
    ) -> Result<Events, ReadError> {
        let floor = self.store.floor().await?;
        let filter = self.filter(query);
        let mut mark = mark.clone();
        let step = Step { reader, query, filter: &filter, floor, limit, deletions: true };
        let (events, ended) = self.step(&step, &mut mark).await?;
        if ended {
            mark.advance(Place::whole(floor));
        }
        Ok(Events { events, mark, more: !ended })
    }

    /// The next arrivals after `ahead`, which goes on behind them, and whether they were the last ones.
    async fn step(&self, step: &Step<'_>, ahead: &mut Mark) -> Result<(Vec<(Event, Mark)>, bool), ReadError> {
        let Step { reader, query, filter, floor, limit, deletions } = *step;
        let arrivals = self.store.arrivals(query.owner, ahead.place, floor, limit).await?;
        let ended = arrivals.len() < limit;
        let entry = |arrival: &Arrival| match arrival {
            Arrival::Entry(entry) => Some(entry.clone()),
            Arrival::Change(_) => None,
        };
        let entries: Vec<Entry> = arrivals.iter().filter_map(entry).collect();
        let candidates = self.belonging(query, filter, entries.clone()).await?;
        let places: Vec<_> =
            candidates.iter().map(|candidate| (candidate.entry.id, candidate.entry.arrived)).collect();
        let items = places.into_iter().zip(self.shown(reader, query, candidates).await?);
        let mut shown: HashMap<_, Item> = items.filter_map(|(place, item)| Some((place, item?))).collect();
        let unshown: Vec<Entry> = match deletions {
            true => entries.into_iter().filter(|e| !shown.contains_key(&(e.id, e.arrived))).collect(),
            false => Vec::new(),
        };
        let mut lost = self.taken_away(reader, query, filter, &unshown).await?.into_iter();
        let mut events = Vec::new();
        for arrival in &arrivals {
            ahead.advance(place_of(arrival));
            let event = match arrival {
                Arrival::Change(_) => Some(Event::Changed),
                Arrival::Entry(entry) => {
                    let seen = !entry.gone && ahead.forget(entry.id, entry.version);
                    match shown.remove(&(entry.id, entry.arrived)) {
                        Some(item) => news(seen, entry.version, item),
                        None => lost.next().unwrap_or(false).then_some(Event::Deleted(entry.id)),
                    }
                }
            };
            events.extend(event.map(|event| (event, ahead.clone())));
        }
        Ok((events, ended))
    }
}

/// One look at the arrivals.
#[derive(Clone, Copy)]
struct Step<'a> {
    reader: Reader,
    query: &'a FeedQuery,
    filter: &'a Filter,
    floor: Position,
    limit: usize,
    deletions: bool,
}

fn place_of(arrival: &Arrival) -> Place {
    match arrival {
        Arrival::Entry(entry) => {
            Place { position: entry.arrived.unwrap_or_default(), inside: Some(entry.id) }
        }
        Arrival::Change(position) => Place::whole(*position),
    }
}

/// The item, unless the mark has seen it, or it is an older version than the present one: the newer one's arrival is
/// still to come.
fn news(seen: bool, version: Version, item: Item) -> Option<Event> {
    (!seen && item.state.version == version).then_some(Event::Activity(item))
}

//! What came into a collection after a sync_token.

use super::merge::pulled;
use super::{Feed, Item, Page, ReadError};
use model::{
    ActivityId, ArrivalOffset, Entry, EntryReason, EntryReasons, FeedQuery, Filter, Position, Reader, Start,
    SyncToken, Uid, Version,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use store::Arrival;

/// The most arrivals that are read at once, of the collection and of each account that it pulls from.
const LARGEST_STEP: usize = 250;

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

/// What happened after a sync_token.
#[derive(Debug)]
pub struct Events {
    /// In the order of arrival, each with the sync_token of whoever has seen all up to it.
    pub events: Vec<(Event, SyncToken)>,
    /// The sync_token of whoever has seen all of them.
    pub sync_token: SyncToken,
    /// Whether there may be more at once.
    pub more: bool,
    /// The accounts whose deeds it pulls: what comes to them comes here too.
    pub pulled: Vec<Uid>,
}

impl Feed {
    /// What arrived after `sync_token`, oldest first, each activity once in its newest version.
    pub(super) async fn updates(
        &self,
        reader: Reader,
        query: &FeedQuery,
        sync_token: &SyncToken,
    ) -> Result<Page, ReadError> {
        let floor = self.store.floor().await?;
        let size = self.page_size(query);
        let mut sync_token = sync_token.clone();
        if size == 0 {
            return Ok(Page { items: Vec::new(), next: None, sync_token });
        }
        let filter = self.filter(query);
        let pulled = self.pulled(query).await?;
        let mut items: Vec<Item> = Vec::new();
        let mut on_page = HashSet::new();
        // What the sync_token knows is only let go together with the items that it stood for, so a page that ends early
        // gives the sync_token as of its last item.
        let mut ahead = sync_token.clone();
        loop {
            let step = Step {
                reader,
                query,
                filter: &filter,
                pulled: &pulled,
                floor,
                limit: LARGEST_STEP.min(size + 1),
                deletions: false,
            };
            let (events, ended) = self.step(&step, &mut ahead).await?;
            for (event, after) in events {
                let Event::Activity(item) = event else { continue };
                if !on_page.insert(item.state.id) {
                    continue;
                }
                if items.len() == size {
                    self.demand_whole(query, true)?;
                    let next = Some(Start::Updates(sync_token.clone()));
                    return Ok(Page { items, next, sync_token });
                }
                items.push(item);
                sync_token = after;
            }
            if ended {
                break;
            }
        }
        ahead.advance(ArrivalOffset::after(floor));
        Ok(Page { items, next: None, sync_token: ahead })
    }

    /// What happened after `sync_token`, deletions and changes too, at most about `limit` of it.
    pub async fn events(
        &self,
        reader: Reader,
        query: &FeedQuery,
        sync_token: &SyncToken,
        limit: usize,
    ) -> Result<Events, ReadError> {
        let floor = self.store.floor().await?;
        let filter = self.filter(query);
        let pulled = self.pulled(query).await?;
        let mut sync_token = sync_token.clone();
        let step = Step { reader, query, filter: &filter, pulled: &pulled, floor, limit, deletions: true };
        let (events, ended) = self.step(&step, &mut sync_token).await?;
        if ended {
            sync_token.advance(ArrivalOffset::after(floor));
        }
        Ok(Events { events, sync_token, more: !ended, pulled: pulled.into_keys().collect() })
    }

    /// The next arrivals after `ahead`, which goes on behind them, and whether they were the last ones.
    async fn step(
        &self,
        step: &Step<'_>,
        ahead: &mut SyncToken,
    ) -> Result<(Vec<(Event, SyncToken)>, bool), ReadError> {
        let Step { reader, query, filter, deletions, .. } = *step;
        let Arrived { arrivals, known_to, ended } = self.arrivals(step, ahead.offset).await?;
        let entry = |arrival: &Arrival| match arrival {
            Arrival::Entry(entry) => Some(entry.clone()),
            Arrival::Change(_) => None,
        };
        let entries: Vec<Entry> = arrivals.iter().filter_map(entry).collect();
        let candidates = self.belonging(query, filter, entries.clone()).await?;
        let offsets: Vec<_> =
            candidates.iter().map(|candidate| (candidate.entry.id, candidate.entry.arrived)).collect();
        let items = offsets.into_iter().zip(self.shown(reader, query, candidates).await?);
        let mut shown: HashMap<_, Item> = items.filter_map(|(offset, item)| Some((offset, item?))).collect();
        let unshown: Vec<Entry> = match deletions {
            true => entries.into_iter().filter(|e| !shown.contains_key(&(e.id, e.arrived))).collect(),
            false => Vec::new(),
        };
        let mut lost = self.taken_away(reader, query, filter, &unshown).await?.into_iter();
        let mut events = Vec::new();
        for arrival in &arrivals {
            ahead.advance(offset(arrival_key(arrival)));
            let event = match arrival {
                Arrival::Change(_) => Some(Event::Changed),
                Arrival::Entry(entry) => {
                    let item = shown.remove(&(entry.id, entry.arrived));
                    // What addresses the owner is pushed to them; that it is pulled too is no news.
                    let comes_otherwise = |item: &Item| {
                        entry.pulled
                            && entry.reasons == EntryReasons::default().with(EntryReason::Followed)
                            && item.state.addressed.contains(&query.owner)
                    };
                    if item.as_ref().is_some_and(comes_otherwise) {
                        continue;
                    }
                    let edge = item.as_ref().and_then(|item| item.edge);
                    let seen = !entry.retracted && ahead.forget(entry.id, entry.version, edge);
                    match item {
                        Some(item) => news(seen, entry.version, item),
                        None => lost.next().unwrap_or(false).then_some(Event::Deleted(entry.id)),
                    }
                }
            };
            events.extend(event.map(|event| (event, ahead.clone())));
        }
        if let Some(offset) = known_to {
            ahead.advance(offset);
        }
        Ok((events, ended))
    }
}

/// What comes next.
struct Arrived {
    arrivals: Vec<Arrival>,
    /// There is nothing else up to there.
    known_to: Option<ArrivalOffset>,
    /// There is nothing else at all.
    ended: bool,
}

/// Where an arrival stands among others: a change comes last at its position.
type ArrivalKey = (Position, bool, Option<ActivityId>);

impl Feed {
    /// What comes after that offset, of the owner's own arrivals and of what arrived with those who are pulled from.
    async fn arrivals(&self, step: &Step<'_>, after: ArrivalOffset) -> Result<Arrived, ReadError> {
        let Step { query, floor, limit, .. } = *step;
        let own = self.store.arrivals(query.owner, after, floor, limit);
        if step.pulled.is_empty() {
            let arrivals = own.await?;
            let ended = arrivals.len() < limit;
            return Ok(Arrived { arrivals, known_to: None, ended });
        }
        let actors: Vec<Uid> = step.pulled.keys().copied().collect();
        let others = self.store.own_arrivals(&actors, after, floor, limit);
        let (own, others) = tokio::try_join!(own, others)?;
        // A list that is full may go on behind its last one: nothing after that is known to be next.
        let last_own = own.last().filter(|_| own.len() >= limit).map(arrival_key);
        let full = others.iter().filter(|list| list.len() >= limit);
        let last = full.filter_map(|list| list.last().map(arrival_key_of)).chain(last_own).min();
        let mut merged: BTreeMap<ArrivalKey, Arrival> =
            own.into_iter().map(|arrival| (arrival_key(&arrival), arrival)).collect();
        for entry in others.into_iter().flatten() {
            let entry = pulled(entry, step.pulled);
            // What is not pulled is pushed, and arrives so.
            if entry.arrived.is_some() {
                let at = arrival_key_of(&entry);
                let joined = match merged.remove(&at) {
                    Some(Arrival::Entry(mine)) => mine.overlaid_with(entry),
                    _ => entry,
                };
                merged.insert(at, Arrival::Entry(joined));
            }
        }
        let known = merged.into_iter().filter(|(at, _)| last.is_none_or(|last| *at <= last));
        let mut arrivals: Vec<Arrival> = known.map(|(_, arrival)| arrival).collect();
        let all = arrivals.len() <= limit;
        arrivals.truncate(limit);
        let known_to = last.filter(|_| all).map(offset);
        Ok(Arrived { arrivals, known_to, ended: last.is_none() && all })
    }
}

fn arrival_key(arrival: &Arrival) -> ArrivalKey {
    match arrival {
        Arrival::Entry(entry) => arrival_key_of(entry),
        Arrival::Change(position) => (*position, true, None),
    }
}

fn arrival_key_of(entry: &Entry) -> ArrivalKey {
    (entry.arrived.unwrap_or_default(), false, Some(entry.id))
}

/// One look at the arrivals.
#[derive(Clone, Copy)]
struct Step<'a> {
    reader: Reader,
    query: &'a FeedQuery,
    filter: &'a Filter,
    pulled: &'a HashMap<Uid, Position>,
    floor: Position,
    limit: usize,
    deletions: bool,
}

/// The offset of who has seen everything up to there.
fn offset((position, _, inside): ArrivalKey) -> ArrivalOffset {
    ArrivalOffset { position, inside }
}

/// The item, unless the sync_token has seen it, or it is an older version than the present one: the newer one's arrival is
/// still to come.
fn news(seen: bool, version: Version, item: Item) -> Option<Event> {
    (!seen && item.state.version == version).then_some(Event::Activity(item))
}

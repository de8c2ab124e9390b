//! Reads the arrivals of a collection after a sync token.

use super::merge::pulled;
use super::read::RowBudget;
use super::visibility::Belonging;
use super::{Feed, Item, Page, ReadError};
use model::{
    ActivityId, ArrivalOffset, Entry, EntryReason, EntryReasons, FeedQuery, Filter, Position, Reader, Start,
    SyncToken, Uid, Version,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use store::Arrival;

/// Maximum number of arrivals read per step, of the collection and of each pulled actor.
pub(super) const MAX_STEP: usize = 250;

/// A change of a collection.
#[derive(Clone, Debug)]
pub enum Event {
    /// An activity arrived, or a new version of one.
    Activity(Item),
    /// An activity left the collection.
    Deleted(ActivityId),
    /// A change that cannot be reported item by item: the client must read the collection again.
    Changed,
}

/// The events after a sync token.
#[derive(Debug)]
pub struct Events {
    /// The events in the order of arrival, each with the sync token after it.
    pub events: Vec<(Event, SyncToken)>,
    /// The sync token after all events.
    pub sync_token: SyncToken,
    /// Whether more events may be available now.
    pub more: bool,
    /// The pulled actors: their arrivals are arrivals of this collection too.
    pub pulled: Vec<Uid>,
}

impl Feed {
    /// The activities that arrived after `sync_token`, oldest first, each once in its newest version.
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
            return Ok(Page { items: Vec::new(), next: None, sync_token, dependencies: None });
        }
        let filter = self.filter(query);
        let pulled = self.pulled(query).await?;
        let mut items: Vec<Item> = Vec::new();
        let mut on_page = HashSet::new();
        // A page that ends early returns the sync token after its last item: the token may only drop identifiers whose
        // items are on the page.
        let mut ahead = sync_token.clone();
        let mut budget = RowBudget(self.limits.max_rows);
        loop {
            let step = Step {
                reader,
                query,
                filter: &filter,
                pulled: &pulled,
                floor,
                limit: MAX_STEP.min(size + 1),
                deletions: false,
                with_bodies: true,
            };
            let Steps { events, ended, rows } = self.step(&step, &mut ahead).await?;
            for (event, after) in events {
                let Event::Activity(item) = event else { continue };
                if !on_page.insert(item.state.id) {
                    continue;
                }
                if items.len() == size {
                    self.reject_truncated(query, true)?;
                    let next = Some(Start::Updates(sync_token.clone()));
                    return Ok(Page { items, next, sync_token, dependencies: None });
                }
                items.push(item);
                sync_token = after;
            }
            if ended {
                break;
            }
            budget.spend(rows)?;
        }
        ahead.advance(ArrivalOffset::after(floor));
        Ok(Page { items, next: None, sync_token: ahead, dependencies: None })
    }

    /// The events after `sync_token`, including deletions and changes, about `limit` at most. Activities have their
    /// bodies.
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
        let step = Step {
            reader,
            query,
            filter: &filter,
            pulled: &pulled,
            floor,
            limit,
            deletions: true,
            with_bodies: true,
        };
        let Steps { events, ended, .. } = self.step(&step, &mut sync_token).await?;
        if ended {
            sync_token.advance(ArrivalOffset::after(floor));
        }
        let events = self.hydrated_events(events).await?;
        Ok(Events { events, sync_token, more: !ended, pulled: pulled.into_keys().collect() })
    }

    /// The events of the next arrivals after `ahead`. Advances `ahead`.
    pub(super) async fn step(&self, step: &Step<'_>, ahead: &mut SyncToken) -> Result<Steps, ReadError> {
        let Step { reader, query, filter, deletions, with_bodies, .. } = *step;
        let ArrivalBatch { arrivals, complete_to, ended } = self.arrivals(step, ahead.offset).await?;
        let entry = |arrival: &Arrival| match arrival {
            Arrival::Entry(entry) => Some(entry.clone()),
            Arrival::Change(_) => None,
        };
        let entries: Vec<Entry> = arrivals.iter().filter_map(entry).collect();
        let Belonging { candidates, muted } = self.belonging(reader, query, filter, entries.clone()).await?;
        let rows = entries.len().saturating_sub(muted);
        let offsets: Vec<_> =
            candidates.iter().map(|candidate| (candidate.entry.id, candidate.entry.arrived)).collect();
        let items = offsets.into_iter().zip(self.shown(reader, query, candidates, with_bodies).await?);
        let mut shown: HashMap<_, Item> = items.filter_map(|(offset, item)| Some((offset, item?))).collect();
        let unshown: Vec<Entry> = match deletions {
            true => entries.into_iter().filter(|e| !shown.contains_key(&(e.id, e.arrived))).collect(),
            false => Vec::new(),
        };
        let mut lost = self.left_view(reader, query, filter, &unshown).await?.into_iter();
        let mut events = Vec::new();
        for arrival in &arrivals {
            ahead.advance(offset(arrival_key(arrival)));
            let event = match arrival {
                Arrival::Change(_) => {
                    ahead.pass_change();
                    Some(Event::Changed)
                }
                Arrival::Entry(entry) => {
                    let item = shown.remove(&(entry.id, entry.arrived));
                    // An activity that addresses the owner is pushed too: the pulled copy is not reported.
                    let is_also_pushed = |item: &Item| {
                        entry.pulled
                            && entry.reasons == EntryReasons::default().with(EntryReason::Followed)
                            && item.state.addressed.contains(&query.owner)
                    };
                    if item.as_ref().is_some_and(is_also_pushed) {
                        continue;
                    }
                    let edge = item.as_ref().and_then(|item| item.edge);
                    let seen = !entry.retracted && ahead.forget(entry.id, entry.version, edge);
                    match item {
                        Some(item) => activity_event(seen, entry.version, item),
                        None => lost.next().unwrap_or(false).then_some(Event::Deleted(entry.id)),
                    }
                }
            };
            events.extend(event.map(|event| (event, ahead.clone())));
        }
        if let Some(offset) = complete_to {
            ahead.advance(offset);
        }
        Ok(Steps { events, ended, rows })
    }
}

/// The outcome of one step through the arrivals.
pub(super) struct Steps {
    /// The events, each with the sync token after it.
    pub(super) events: Vec<(Event, SyncToken)>,
    /// No more arrivals follow.
    pub(super) ended: bool,
    /// Arrivals that were looked at, without those that a mute hides.
    rows: usize,
}

/// The next arrivals.
struct ArrivalBatch {
    arrivals: Vec<Arrival>,
    /// The batch is complete up to this offset.
    complete_to: Option<ArrivalOffset>,
    /// No more arrivals follow.
    ended: bool,
}

/// Orders arrivals: a change is last at its position.
type ArrivalKey = (Position, bool, Option<ActivityId>);

impl Feed {
    /// The arrivals after that offset, of the owner and of the pulled actors.
    async fn arrivals(&self, step: &Step<'_>, after: ArrivalOffset) -> Result<ArrivalBatch, ReadError> {
        let Step { query, floor, limit, .. } = *step;
        let own = self.store.arrivals(query.owner, after, floor, limit);
        if step.pulled.is_empty() {
            let arrivals = own.await?;
            let ended = arrivals.len() < limit;
            return Ok(ArrivalBatch { arrivals, complete_to: None, ended });
        }
        let actors: Vec<Uid> = step.pulled.keys().copied().collect();
        let pulled_lists = self.store.own_arrivals(&actors, after, floor, limit);
        let (own, pulled_lists) = tokio::try_join!(own, pulled_lists)?;
        // A full list may continue after its last arrival: the merge is complete only up to there.
        let last_own = own.last().filter(|_| own.len() >= limit).map(arrival_key);
        let full = pulled_lists.iter().filter(|list| list.len() >= limit);
        let last = full.filter_map(|list| list.last().map(entry_key)).chain(last_own).min();
        let mut merged: BTreeMap<ArrivalKey, Arrival> =
            own.into_iter().map(|arrival| (arrival_key(&arrival), arrival)).collect();
        for entry in pulled_lists.into_iter().flatten() {
            let entry = pulled(entry, step.pulled);
            // Entries that are not pulled arrive when they are pushed.
            if entry.arrived.is_some() {
                let at = entry_key(&entry);
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
        let complete_to = last.filter(|_| all).map(offset);
        Ok(ArrivalBatch { arrivals, complete_to, ended: last.is_none() && all })
    }
}

fn arrival_key(arrival: &Arrival) -> ArrivalKey {
    match arrival {
        Arrival::Entry(entry) => entry_key(entry),
        Arrival::Change(position) => (*position, true, None),
    }
}

fn entry_key(entry: &Entry) -> ArrivalKey {
    (entry.arrived.unwrap_or_default(), false, Some(entry.id))
}

/// Parameters of one step through the arrivals.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    pub(super) reader: Reader,
    pub(super) query: &'a FeedQuery,
    pub(super) filter: &'a Filter,
    pub(super) pulled: &'a HashMap<Uid, Position>,
    pub(super) floor: Position,
    pub(super) limit: usize,
    pub(super) deletions: bool,
    pub(super) with_bodies: bool,
}

/// The offset of a reader that has seen all arrivals up to this key.
fn offset((position, _, inside): ArrivalKey) -> ArrivalOffset {
    ArrivalOffset { position, inside }
}

/// An event for the item, unless the sync token covers it, or `version` is superseded: the current version's arrival
/// will follow.
fn activity_event(seen: bool, version: Version, item: Item) -> Option<Event> {
    (!seen && item.state.version == version).then_some(Event::Activity(item))
}

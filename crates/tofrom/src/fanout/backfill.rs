//! What following brings along: what the followed account has done, from where the edge begins.

use model::{
    ActivityId, Edge, Entry, EntryReason, EntryReasons, FanoutMode, Filter, Order, Position, SortKey, Uid,
    Version, entry_belongs,
};
use std::collections::{BTreeMap, HashSet};
use store::{Result, Slice, Store};

/// How many are taken at once.
const PAGE: usize = 500;

/// Delivers to the follower what the followed account did up to now, from where the edge begins.
///
/// What was accepted before the edge arrives with it. What was accepted after it has a task of its own, which may or may
/// not have known of the edge: it arrives at its own place, where that task would have put it, and nobody has got there
/// yet, because this task is not done. What was hidden or deleted before the edge is delivered as retracted, because an earlier
/// following may have left an entry of it; it takes its own place, so that nobody is told of it anew.
pub(super) async fn deliver(
    store: &dyn Store,
    at: Position,
    follower: Uid,
    followee: Uid,
    edge: &Edge,
    mode: FanoutMode,
) -> Result<()> {
    let mut after = None;
    loop {
        let (mut own, next) = own_entries(store, followee, edge, after).await?;
        // What is pulled is found where it is.
        own.retain(|entry| !(mode == FanoutMode::Pull && entry.pulled && entry.arrived > Some(at)));
        let addressed = addressed(store, follower, &own).await?;
        own.retain(|entry| !addressed.contains(&(entry.id, entry.version)));
        for (place, entries) in places(at, follower, edge, own) {
            store.deliver(place, entries).await?;
        }
        match next {
            None => return Ok(()),
            further => after = further,
        }
    }
}

/// Some of what the followed account did, after that sort_key and from where the edge begins; and where to go on, if there is
/// more.
pub(super) async fn own_entries(
    store: &dyn Store,
    followee: Uid,
    edge: &Edge,
    after: Option<SortKey>,
) -> Result<(Vec<Entry>, Option<SortKey>)> {
    let filter = Filter::default();
    let own = store.slice(&Slice::own(followee, Order::Received, &filter, after, PAGE)).await?;
    let is_older = |entry: &Entry| edge.from.is_some_and(|oldest| entry.sort_key(Order::Received) < oldest);
    let last = own.last().filter(|last| own.len() == PAGE && !is_older(last));
    let next = last.map(|last| last.sort_key(Order::Received));
    Ok((own.into_iter().filter(|entry| !is_older(entry)).collect(), next))
}

/// Those that address the follower as well: they reach them by that, once.
pub(super) async fn addressed(
    store: &dyn Store,
    follower: Uid,
    own: &[Entry],
) -> Result<HashSet<(ActivityId, Version)>> {
    let ids: Vec<_> = own.iter().map(|entry| entry.id).collect();
    let states = store.states(&ids).await?;
    let reached =
        states.into_iter().flatten().filter(|state| !state.deleted && state.addressed.contains(&follower));
    Ok(reached.map(|state| (state.id, state.version)).collect())
}

/// The follower's entries of what the followed account has as its own, by the place at which they arrive.
fn places(
    at: Position,
    follower: Uid,
    edge: &Edge,
    own: Vec<Entry>,
) -> BTreeMap<Position, Vec<(Uid, Entry)>> {
    let mut places: BTreeMap<Position, Vec<(Uid, Entry)>> = BTreeMap::new();
    for own in own {
        let accepted = own.arrived.unwrap_or(at);
        let reasons = EntryReasons::default().with(EntryReason::Followed);
        let mut entry = Entry { reasons, prior: None, arrived: None, pulled: false, ..own };
        entry.retracted = !entry_belongs(&entry, follower, Some(edge), false).to;
        // What ended after the edge was made has a task that tells of it, if there was anything to tell.
        if !(entry.retracted && accepted > at) {
            let place = if entry.retracted { accepted } else { accepted.max(at) };
            places.entry(place).or_default().push((follower, entry));
        }
    }
    places
}

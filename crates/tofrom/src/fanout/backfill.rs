//! What following brings along: what the followed account has done, from where the edge begins.

use model::{ActivityId, Box, Boxes, Edge, Entry, Filter, Order, Position, Uid, Version, entry_belongs};
use std::collections::{BTreeMap, HashSet};
use store::{Result, Slice, Store};

/// How many are taken at once.
const PAGE: usize = 500;

/// Delivers to the follower what the followed account did up to now, from where the edge begins.
///
/// What was accepted before the edge arrives with it. What was accepted after it has a task of its own, which may or may
/// not have known of the edge: it arrives at its own place, where that task would have put it, and nobody has got there
/// yet, because this task is not done. What was hidden or deleted before the edge is delivered as gone, because an earlier
/// following may have left an entry of it; it takes its own place, so that nobody is told of it anew.
pub(super) async fn deliver(
    store: &dyn Store,
    at: Position,
    follower: Uid,
    followee: Uid,
    edge: &Edge,
) -> Result<()> {
    let filter = Filter::default();
    let mut after = None;
    loop {
        let slice = Slice {
            owner: followee,
            boxes: Boxes::default().with(Box::From),
            order: Order::Received,
            filter: &filter,
            after,
            limit: PAGE,
        };
        let own = store.slice(&slice).await?;
        let last = own.last().map(|entry| entry.spot(Order::Received));
        let ended = own.len() < PAGE;
        let old = |entry: &Entry| edge.from.is_some_and(|oldest| entry.spot(Order::Received) < oldest);
        let reached_the_end = own.last().is_some_and(old);
        let mut own: Vec<Entry> = own.into_iter().filter(|entry| !old(entry)).collect();
        let addressed = addressed(store, follower, &own).await?;
        own.retain(|entry| !addressed.contains(&(entry.id, entry.version)));
        for (place, entries) in places(at, follower, edge, own) {
            store.deliver(place, entries).await?;
        }
        if ended || reached_the_end {
            return Ok(());
        }
        after = last;
    }
}

/// Those that address the follower as well: they reach them by that, once.
async fn addressed(
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
        let boxes = Boxes::default().with(Box::Followed);
        let mut entry = Entry { boxes, formerly: None, arrived: None, ..own };
        entry.gone = !entry_belongs(&entry, follower, Some(edge), false).to;
        // What ended after the edge was made has a task that tells of it, if there was anything to tell.
        if !(entry.gone && accepted > at) {
            let place = if entry.gone { accepted } else { accepted.max(at) };
            places.entry(place).or_default().push((follower, entry));
        }
    }
    places
}

//! What following brings along: what the followed account has done, from where the edge begins.

use model::{ActivityId, Box, Boxes, Edge, Entry, Filter, Order, Position, Uid, Version, entry_belongs};
use std::collections::HashSet;
use store::{Result, Slice, Store};

/// How many are taken at once.
const PAGE: usize = 500;

/// Delivers to the follower what was accepted before the edge was made; what came after it has tasks that know of the
/// edge. Hidden and deleted ones too, as gone: an earlier following may have left entries of them.
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
        let mut own: Vec<Entry> = own
            .into_iter()
            .filter(|entry| !old(entry) && entry.arrived.is_some_and(|accepted| accepted < at))
            .collect();
        let addressed = addressed(store, follower, &own).await?;
        own.retain(|entry| !addressed.contains(&(entry.id, entry.version)));
        if !own.is_empty() {
            store
                .deliver(
                    at,
                    own.into_iter().map(|entry| (follower, brought(entry, follower, edge))).collect(),
                )
                .await?;
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

/// The follower's entry of what the followed account has as its own.
fn brought(own: Entry, follower: Uid, edge: &Edge) -> Entry {
    // Nobody is told of the end of what was before this edge.
    let followed =
        Entry { boxes: Boxes::default().with(Box::Followed), formerly: None, arrived: None, ..own };
    if entry_belongs(&followed, follower, Some(edge), false).to {
        return followed;
    }
    Entry { gone: true, ..followed }
}

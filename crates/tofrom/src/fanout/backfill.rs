//! What following brings along: what the followed account has done, from where the edge begins.

use model::{Box, Boxes, Edge, Entry, Filter, Order, Position, Uid, Visibility};
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
        let entries: Vec<(Uid, Entry)> = own
            .into_iter()
            .filter(|entry| !old(entry) && entry.arrived.is_some_and(|accepted| accepted < at))
            .map(|entry| (follower, brought(entry)))
            .collect();
        if !entries.is_empty() {
            store.deliver(at, entries).await?;
        }
        if ended || reached_the_end {
            return Ok(());
        }
        after = last;
    }
}

/// The follower's entry of what the followed account has as its own.
fn brought(own: Entry) -> Entry {
    let hidden = own.gone || own.visibility == Visibility::Direct;
    // Nobody is told that something is gone which this edge never brought.
    let visibility = if hidden { Visibility::Direct } else { own.visibility };
    Entry { boxes: Boxes::default().with(Box::Followed), gone: hidden, visibility, arrived: None, ..own }
}

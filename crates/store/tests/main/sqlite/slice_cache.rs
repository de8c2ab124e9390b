//! Cached slices are never visible: a store that caches returns the same as one that was just opened, for any writer and
//! any state of deliveries.

use super::super::conformance::fresh;
use super::super::scratch::Scratch;
use super::open;
use model::{Entry, EntryReason, EntryReasons, Filter, Order, Position, Uid};
use store::sqlite::SqliteStore;
use store::{Feeds, Log, Slice};

/// First slices, in a recorded read: others are not cached.
async fn slices(store: &SqliteStore, owner: Uid) -> Vec<Vec<Entry>> {
    store::recorded(store, read_slices(store, owner)).await.0
}

async fn read_slices(store: &SqliteStore, owner: Uid) -> Vec<Vec<Entry>> {
    let songs = Filter { kinds: fresh::words(&["song"]), ..Filter::default() };
    let mut slices = Vec::new();
    for filter in [&Filter::default(), &songs] {
        for order in [Order::Received, Order::Published] {
            for reasons in [EntryReasons::ALL, fresh::reasons(&[EntryReason::Followed])] {
                let slice = Slice { owner, reasons, order, filter, after: None, limit: 3 };
                slices.push(store.slice(&slice).await.unwrap());
            }
        }
    }
    slices
}

#[tokio::test]
async fn cached_slices_equal_slices_of_a_fresh_store() {
    let scratch = Scratch::new();
    // Two stores of one file, like the server and a command beside it.
    let (first, second) = (open(&scratch), open(&scratch));
    let (owner, other) = (fresh::uid(&first).await, fresh::uid(&first).await);
    let mut random = 7_u64;
    let mut roll = |sides: u64| {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (random >> 33) % sides
    };
    let mut waiting: Vec<(Position, Entry)> = Vec::new();
    let mut unsettled: Vec<Position> = Vec::new();
    let mut hits = 0;
    for step in 0..300 {
        let writer = if roll(2) == 0 { &first } else { &second };
        match roll(5) {
            0 | 1 => {
                let received = fresh::NOON + roll(1_000) as i64;
                let actor = if roll(2) == 0 { owner } else { other };
                let mut item = fresh::acceptance(actor, &step.to_string(), received);
                item.activity.state.facet =
                    fresh::facet("flickr", ["photo", "song"][roll(2) as usize], "post");
                let position = fresh::accept(writer, &item).await;
                let state = item.activity.state;
                let entry = Entry {
                    id: state.id,
                    facet: state.facet,
                    published: state.published,
                    ..fresh::entry(received, received, &[EntryReason::Followed])
                };
                waiting.push((position, entry));
            }
            // Deliveries happen in any order, and are acknowledged in any other.
            2 | 3 if !waiting.is_empty() => {
                let (position, entry) = waiting.swap_remove(roll(waiting.len() as u64) as usize);
                writer.deliver(position, vec![(owner, entry)]).await.unwrap();
                unsettled.push(position);
            }
            _ if !unsettled.is_empty() => {
                let position = unsettled.swap_remove(roll(unsettled.len() as u64) as usize);
                writer.acknowledge(&[position], &[]).await.unwrap();
            }
            _ => {}
        }
        // Occasionally everything is settled.
        if roll(4) == 0 {
            for (position, entry) in waiting.drain(..) {
                writer.deliver(position, vec![(owner, entry)]).await.unwrap();
                unsettled.push(position);
            }
            writer.acknowledge(&unsettled, &[]).await.unwrap();
            unsettled.clear();
        }
        let expected = slices(&open(&scratch), owner).await;
        assert_eq!(slices(&first, owner).await, expected, "step {step}");
        let rows = first.rows_stepped();
        assert_eq!(slices(&first, owner).await, expected, "step {step}, again");
        hits += u64::from(first.rows_stepped() == rows);
    }
    assert!(hits > 50, "{hits}");
}

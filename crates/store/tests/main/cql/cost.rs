//! What reading collections costs: statements and rows.

#![allow(clippy::print_stdout, reason = "it measures")]

use super::super::conformance::fresh;
use super::{KEYSPACE, addresses, shared};
use model::{ActivityId, Box, Boxes, Entry, Filter, Millis, Order, Place, Position, Uid, Version};
use scylla::client::session_builder::SessionBuilder;
use std::collections::HashSet;
use store::cql::CqlStore;
use store::{Feeds, Slice};

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % sides
    }
}

/// Delivers so many, received in order within an hour, published within a day before. One in ten addresses the
/// account, one in ten is its own; one in a thousand is a song.
async fn fill(store: &CqlStore, owner: Uid, number: u64) -> Vec<Entry> {
    let mut dice = Dice(fresh::number());
    let mut all = Vec::new();
    for batch in 0..number / 500 {
        let entry = |index: u64| {
            let received = fresh::NOON + ((batch * 500 + index) * HOUR / number) as i64;
            let mut random = [0; 10];
            random[..4].copy_from_slice(&(dice.roll(1 << 31) as u32).to_be_bytes());
            random[4..8].copy_from_slice(&(dice.roll(1 << 31) as u32).to_be_bytes());
            let one = match dice.roll(10) {
                0 => Box::Addressed,
                1 => Box::From,
                _ => Box::Followed,
            };
            let facet = if index.is_multiple_of(250) {
                fresh::facet("last.fm", "song", "play")
            } else {
                fresh::photo()
            };
            Entry {
                id: ActivityId::new(Millis(received), random),
                version: Version(received),
                facet,
                ..fresh::entry(received, received - dice.roll(DAY) as i64, &[one])
            }
        };
        let entries: Vec<Entry> = (0..500).map(entry).collect();
        let deliveries = entries.iter().map(|entry| (owner, entry.clone())).collect();
        store.deliver(Position(batch + 1), deliveries).await.unwrap();
        all.extend(entries.into_iter().map(|entry| Entry { arrived: Some(Position(batch + 1)), ..entry }));
    }
    all
}

async fn measured<T>(store: &CqlStore, what: &str, doing: impl Future<Output = T>) -> T {
    let before = store.counted();
    let done = doing.await;
    let after = store.counted();
    println!("    {what}: {} statements, {} rows", after.0 - before.0, after.1 - before.1);
    done
}

/// The account's partitions, and how many rows each has.
async fn partitions(owner: Uid) -> Vec<(i8, i8, i64, i64)> {
    let session = SessionBuilder::new().known_nodes(addresses()).build().await.unwrap();
    let directory = format!("SELECT ord, box, bucket FROM {}.directory WHERE uid = {}", *KEYSPACE, owner.0);
    let listed = session.query_unpaged(directory, &[]).await.unwrap().into_rows_result().unwrap();
    let mut sizes = Vec::new();
    for row in listed.rows::<(i8, i8, i64)>().unwrap() {
        let (order, number, bucket) = row.unwrap();
        let table = if number == 2 { "followed" } else { "own" };
        let by = if order == 0 { "received" } else { "published" };
        let count = format!(
            "SELECT COUNT(*) FROM {}.{table}_{by} WHERE uid = {} AND box = {number} AND bucket = {bucket}",
            *KEYSPACE, owner.0
        );
        let rows = session.query_unpaged(count, &[]).await.unwrap().into_rows_result().unwrap();
        sizes.push((order, number, bucket, rows.first_row::<(i64,)>().unwrap().0));
    }
    sizes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes, and must run alone to count"]
async fn a_page_costs_the_same_however_much_there_is() {
    let Some(store) = shared().await else { return };
    for number in [1_000, 30_000, 60_000] {
        let owner = fresh::uid(&*store).await;
        println!("{number} entries of {owner:?}");
        let started = std::time::Instant::now();
        let all = measured(&store, "filling", fill(&store, owner, number)).await;
        println!("    {:?}", started.elapsed());
        let sizes = partitions(owner).await;
        println!("    partitions (order, box, bucket, rows): {sizes:?}");
        assert!(sizes.iter().all(|(_, _, _, rows)| *rows <= 20_000), "none grows without end");
        let everything = Filter::default();
        let songs = Filter { services: fresh::words(&["last.fm"]), ..Filter::default() };
        for order in [Order::Received, Order::Published] {
            let mut expected = all.clone();
            expected.sort_by_key(|entry| std::cmp::Reverse(entry.spot(order)));
            let slice =
                Slice { owner, boxes: Boxes::ALL, order, filter: &everything, after: None, limit: 21 };
            let page = measured(&store, &format!("{order:?} first page"), store.slice(&slice)).await.unwrap();
            assert_eq!(page, expected[..21]);
            let middle = Some(expected[expected.len() / 2].spot(order));
            let slice = Slice { after: middle, ..slice };
            let page = measured(&store, "page in the middle", store.slice(&slice)).await.unwrap();
            assert_eq!(page, expected[expected.len() / 2 + 1..][..21]);
            let slice = Slice { after: None, filter: &songs, ..slice };
            let own = Slice { boxes: [Box::From, Box::Addressed].into_iter().collect(), ..slice.clone() };
            measured(&store, "rare, own and addressed", store.slice(&own)).await.unwrap();
            let page = measured(&store, "rare, all boxes", store.slice(&slice)).await.unwrap();
            let rare: Vec<Entry> =
                expected.iter().filter(|entry| songs.matches(entry)).take(21).cloned().collect();
            assert_eq!(page, rare);
            let slice = Slice { filter: &everything, limit: 100_000, ..slice };
            let found = measured(&store, "everything", store.slice(&slice)).await.unwrap();
            assert!(found == expected);
        }
        let (first, last) = (Place::default(), Position(number));
        let arrivals =
            measured(&store, "all arrivals", store.arrivals(owner, first, last, 100_000)).await.unwrap();
        let ids: HashSet<_> = arrivals
            .iter()
            .map(|arrival| match arrival {
                store::Arrival::Entry(entry) => entry.id,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(ids.len() as u64, number);
        let late = Place::whole(Position(number / 500 - 1));
        measured(&store, "a poll", store.arrivals(owner, late, last, 50)).await.unwrap();
        measured(
            &store,
            "a poll that finds nothing",
            store.arrivals(owner, Place::whole(Position(number)), Position(number + 5), 50),
        )
        .await
        .unwrap();
    }
}

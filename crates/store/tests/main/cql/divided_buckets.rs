//! Divided buckets, by this process or another.

use super::super::conformance::fresh;
use super::{KEYSPACE, open, session, shared};
use model::{
    ActivityId, ArrivalOffset, Entry, EntryReason, EntryReasons, Filter, Millis, Order, Position, Uid,
    Version,
};
use store::cql::CqlStore;
use store::{Feeds, Slice};

const HOUR: i64 = 3_600_000;

/// Twelve activities some hours apart with three facets, delivered repeatedly with versions and positions that are
/// not in order.
fn deliveries() -> Vec<(Position, Entry)> {
    let ids: Vec<_> = (0..12_i64).map(|number| fresh::id(fresh::NOON + number * 5 * HOUR)).collect();
    let delivery = |n: u64| {
        let number = (n * 7) % 12;
        let received = fresh::NOON + number as i64 * 5 * HOUR;
        let reasons = &EntryReason::ALL[(n % 3) as usize..];
        let id: ActivityId = ids[number as usize];
        let entry = Entry {
            id,
            facet: fresh::facet(["flickr", "last.fm", "digg"][number as usize % 3], "photo", "post"),
            version: Version(1 + (n * 5 % 11) as i64),
            retracted: (n * 5 % 11).is_multiple_of(4),
            ..fresh::entry(received, received - 3 * HOUR, reasons)
        };
        (Position(1 + n * 3 % 17), entry)
    };
    (0..72).map(delivery).collect()
}

async fn everything(store: &CqlStore, owner: Uid) -> Vec<Vec<Entry>> {
    let all = Filter::default();
    let rare = Filter { services: fresh::words(&["digg"]), ..Filter::default() };
    let later = Filter {
        received: model::Range { since: Some(Millis(fresh::NOON + 20 * HOUR)), before: None },
        ..Filter::default()
    };
    let mut found = Vec::new();
    for order in [Order::Received, Order::Published] {
        for filter in [&all, &rare, &later] {
            for limit in [1, 5, 100] {
                let mut slice =
                    Slice { owner, reasons: EntryReasons::ALL, order, filter, after: None, limit };
                let mut walked = Vec::new();
                loop {
                    let page = store.slice(&slice).await.unwrap();
                    slice.after = page.last().map(|entry| entry.sort_key(order));
                    let ended = page.len() < limit;
                    walked.extend(page);
                    if ended {
                        break;
                    }
                }
                found.push(walked);
            }
        }
    }
    found.push(fresh::arrivals(store, owner, ArrivalOffset::default(), Position(u64::MAX), 1_000).await);
    found
}

/// Marks every existing bucket as divided in the directory.
pub(super) async fn divide(owner: Uid, level: i8) {
    let session = session().await;
    let directory =
        format!("SELECT ord, reason, bucket FROM {}.directory WHERE uid = {}", *KEYSPACE, owner.0);
    let listed = session.query_unpaged(directory, &[]).await.unwrap().into_rows_result().unwrap();
    for row in listed.rows::<(i8, i8, i64)>().unwrap() {
        let (order, number, bucket) = row.unwrap();
        let text = format!(
            "UPDATE {}.directory USING TIMESTAMP {level} SET divided = {level}
             WHERE uid = {} AND ord = {order} AND reason = {number} AND bucket = {bucket}",
            *KEYSPACE, owner.0
        );
        session.query_unpaged(text, &[]).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn divided_buckets_return_the_same_as_undivided_ones() {
    let Some(early) = shared().await else { return };
    let (whole, divided) = (fresh::uid(&*early).await, fresh::uid(&*early).await);
    let deliveries = deliveries();
    for (at, entry) in &deliveries {
        early.deliver(*at, vec![(whole, entry.clone())]).await.unwrap();
    }
    let expected = everything(&early, whole).await;
    assert_eq!(expected[0].len(), 12);
    for (part, level) in deliveries.chunks(24).zip([1, 3, 5]) {
        let late = open().await;
        for (number, (at, entry)) in part.iter().enumerate() {
            // By a store that knows of the division, and by one that does not.
            let store = if number % 2 == 0 { &late } else { &early };
            store.deliver(*at, vec![(divided, entry.clone())]).await.unwrap();
        }
        divide(divided, level).await;
    }
    assert_eq!(everything(&early, divided).await, expected);
}

//! Slices of collections, and removals.

use super::reference::{
    Collection, any_deliveries, any_filter, any_order, any_reasons, any_sort_key, check, read_all,
};
use super::{Engine, fresh};
use model::{
    Entry, EntryReason, EntryReasons, Filter, Millis, Order, Position, Range, SortKey, Uid, Version,
    Visibility,
};
use proptest::prelude::*;
use std::collections::HashSet;
use store::{Slice, Store};

const ONE: Position = Position(1);

async fn deliver(store: &dyn Store, owner: Uid, entries: &[Entry]) {
    store.deliver(ONE, entries.iter().map(|entry| (owner, entry.clone())).collect()).await.unwrap();
}

fn arrived(entry: &Entry) -> Entry {
    Entry { arrived: Some(ONE), ..entry.clone() }
}

async fn times(store: &dyn Store, owner: Uid, order: Order, range: Range) -> Vec<i64> {
    let filter = match order {
        Order::Received => Filter { received: range, ..Filter::default() },
        Order::Published => Filter { published: range, ..Filter::default() },
    };
    let slice = Slice { owner, reasons: EntryReasons::ALL, order, filter: &filter, after: None, limit: 100 };
    store.slice(&slice).await.unwrap().iter().map(|entry| entry.sort_key(order).time.0).collect()
}

pub(crate) async fn a_slice_is_in_order(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let entries: Vec<Entry> = [(10, 300), (20, 100), (30, 200)]
        .map(|(received, published)| Entry {
            visibility: Visibility::Followers,
            actor: owner,
            ..fresh::entry(received, published, &[EntryReason::Followed])
        })
        .to_vec();
    deliver(&*store, owner, &entries).await;
    let received = fresh::all(&*store, owner, EntryReasons::ALL, Order::Received).await;
    assert_eq!(received, [arrived(&entries[2]), arrived(&entries[1]), arrived(&entries[0])]);
    let published = fresh::all(&*store, owner, EntryReasons::ALL, Order::Published).await;
    assert_eq!(published, [arrived(&entries[0]), arrived(&entries[2]), arrived(&entries[1])]);
    let other = fresh::uid(&*store).await;
    assert_eq!(
        fresh::all(&*store, other, EntryReasons::ALL, Order::Received).await,
        [],
        "collections are separate"
    );
}

pub(crate) async fn ties_are_ordered_by_identifier(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let mut entries: Vec<Entry> = (0..30)
        .map(|number| Entry {
            facet: fresh::facet(["flickr", "last.fm", "digg"][number % 3], "photo", "post"),
            ..fresh::entry(fresh::NOON, fresh::NOON, &[EntryReason::ALL[number % 2]])
        })
        .collect();
    deliver(&*store, owner, &entries).await;
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.id));
    let expected: Vec<Entry> = entries.iter().map(arrived).collect();
    let filter = Filter::default();
    for order in [Order::Received, Order::Published] {
        for limit in [1, 7, 30, 31] {
            let slice =
                Slice { owner, reasons: EntryReasons::ALL, order, filter: &filter, after: None, limit };
            assert_eq!(read_all(&*store, slice).await, expected, "{limit}");
        }
    }
}

pub(crate) async fn the_range_is_exact_at_both_ends(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let entries: Vec<Entry> =
        (1..=5).map(|time| fresh::entry(time * 10, 1_000 - time * 10, &[EntryReason::Addressed])).collect();
    deliver(&*store, owner, &entries).await;
    let range = |since: Option<i64>, before: Option<i64>| Range {
        since: since.map(Millis),
        before: before.map(Millis),
    };
    let received = Order::Received;
    assert_eq!(times(&*store, owner, received, range(Some(20), Some(40))).await, [30, 20]);
    assert_eq!(times(&*store, owner, received, range(Some(21), None)).await, [50, 40, 30]);
    assert_eq!(times(&*store, owner, received, range(None, Some(11))).await, [10]);
    assert_eq!(times(&*store, owner, received, range(Some(40), Some(40))).await, [0; 0], "an empty range");
    assert_eq!(times(&*store, owner, received, range(Some(50), Some(10))).await, [0; 0]);
    assert_eq!(times(&*store, owner, Order::Published, range(Some(960), Some(980))).await, [970, 960]);

    // A sort key outside the range does not widen it.
    let filter = Filter { received: range(Some(20), Some(40)), ..Filter::default() };
    let id = |time: i64| entries.iter().find(|entry| entry.received.0 == time).unwrap().id;
    for (sort_key, expected) in [
        (SortKey { time: Millis(50), id: id(50) }, vec![30, 20]),
        (SortKey { time: Millis(40), id: id(40) }, vec![30, 20]),
        (SortKey { time: Millis(30), id: id(30) }, vec![20]),
        (SortKey { time: Millis(20), id: id(20) }, vec![]),
        (SortKey { time: Millis(10), id: id(10) }, vec![]),
    ] {
        let reasons = EntryReasons::ALL;
        let slice =
            Slice { owner, reasons, order: received, filter: &filter, after: Some(sort_key), limit: 9 };
        let found: Vec<i64> =
            store.slice(&slice).await.unwrap().iter().map(|entry| entry.received.0).collect();
        assert_eq!(found, expected, "{sort_key:?}");
    }
}

pub(crate) async fn slices_of_one_or_several_reasons(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let everywhere = fresh::entry(40, 40, &EntryReason::ALL);
    let [from, addressed, followed] =
        [(10, EntryReason::Authored), (20, EntryReason::Addressed), (30, EntryReason::Followed)]
            .map(|(time, reason)| fresh::entry(time, time, &[reason]));
    deliver(&*store, owner, &[everywhere.clone(), from.clone(), addressed.clone(), followed.clone()]).await;
    for (reasons, single) in [
        (vec![EntryReason::Authored], vec![&from]),
        (vec![EntryReason::Addressed], vec![&addressed]),
        (vec![EntryReason::Followed], vec![&followed]),
        (vec![EntryReason::Addressed, EntryReason::Followed], vec![&followed, &addressed]),
        (vec![EntryReason::Authored, EntryReason::Followed], vec![&followed, &from]),
        (EntryReason::ALL.to_vec(), vec![&followed, &addressed, &from]),
    ] {
        let reasons = fresh::reasons(&reasons);
        // Once, with its requested reasons.
        let mut expected = vec![Entry { reasons, ..arrived(&everywhere) }];
        expected.extend(single.into_iter().map(arrived));
        for order in [Order::Received, Order::Published] {
            assert_eq!(fresh::all(&*store, owner, reasons, order).await, expected);
        }
    }
}

pub(crate) async fn an_entry_is_retracted_when_all_its_rows_are(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let first = fresh::entry(fresh::NOON, 5, &[EntryReason::Addressed, EntryReason::Followed]);
    let no_longer_addressed = Entry {
        reasons: fresh::reasons(&[EntryReason::Addressed]),
        version: Version(first.version.0 + 1),
        visibility: Visibility::Followers,
        retracted: true,
        ..first.clone()
    };
    let still_followed = Entry {
        reasons: fresh::reasons(&[EntryReason::Followed]),
        retracted: false,
        ..no_longer_addressed.clone()
    };
    let deleted = Entry {
        reasons: first.reasons,
        version: Version(first.version.0 + 2),
        ..no_longer_addressed.clone()
    };
    for (position, delivered, reasons, visibility, retracted) in [
        (1, &first, first.reasons, first.visibility, false),
        // Until the other row is delivered too, its values stay.
        (2, &no_longer_addressed, still_followed.reasons, first.visibility, false),
        (2, &still_followed, still_followed.reasons, still_followed.visibility, false),
        (3, &deleted, first.reasons, deleted.visibility, true),
    ] {
        store.deliver(Position(position), vec![(owner, delivered.clone())]).await.unwrap();
        let arrived = Some(Position(position));
        let expected = Entry { reasons, retracted, visibility, arrived, ..delivered.clone() };
        assert_eq!(fresh::all(&*store, owner, EntryReasons::ALL, Order::Received).await, [expected]);
    }
}

pub(crate) async fn extreme_times_are_ordered(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let entries: Vec<Entry> = [Millis::MAX.0, 0, -1, Millis::MIN.0]
        .map(|time| Entry {
            version: Version(1),
            actor: Uid(i64::MAX),
            ..fresh::entry(time, time, &[EntryReason::Authored])
        })
        .to_vec();
    deliver(&*store, owner, &entries).await;
    let expected: Vec<Entry> = entries.iter().map(arrived).collect();
    let filter = Filter::default();
    for order in [Order::Received, Order::Published] {
        let slice =
            Slice { owner, reasons: EntryReasons::ALL, order, filter: &filter, after: None, limit: 1 };
        assert_eq!(read_all(&*store, slice).await, expected);
    }
    let since = Range { since: Some(Millis::MIN), before: Some(Millis::MAX) };
    assert_eq!(times(&*store, owner, Order::Received, since).await, [0, -1, Millis::MIN.0]);
}

pub(crate) async fn empty_slices(store: Engine) {
    let owner = fresh::uid(&*store).await;
    store.deliver(ONE, Vec::new()).await.unwrap();
    let one = fresh::entry(10, 10, &[EntryReason::Followed]);
    deliver(&*store, owner, std::slice::from_ref(&one)).await;
    deliver(&*store, owner, &[Entry { reasons: EntryReasons::default(), ..fresh::entry(20, 20, &[]) }]).await;
    let all = Filter::default();
    let nothing = Filter { services: fresh::words(&["no such service"]), ..Filter::default() };
    let slice = Slice {
        owner,
        reasons: EntryReasons::ALL,
        order: Order::Received,
        filter: &all,
        after: None,
        limit: 10,
    };
    assert_eq!(
        store.slice(&slice).await.unwrap(),
        [arrived(&one)],
        "an entry without a reason is not stored"
    );
    for empty in [
        Slice { limit: 0, ..slice.clone() },
        Slice { reasons: EntryReasons::default(), ..slice.clone() },
        Slice { reasons: fresh::reasons(&[EntryReason::Authored, EntryReason::Addressed]), ..slice.clone() },
        Slice { owner: Uid(i64::MAX), ..slice.clone() },
        Slice { after: Some(one.sort_key(Order::Received)), ..slice.clone() },
    ] {
        assert_eq!(store.slice(&empty).await.unwrap(), [], "{empty:?}");
    }
    let found = store.slice(&Slice { filter: &nothing, ..slice }).await.unwrap();
    assert!(!found.iter().any(|entry| nothing.matches(entry)));
}

pub(crate) async fn a_slice_merges_a_thousand_facets(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let tag = fresh::number();
    let entries: Vec<Entry> = (0..1_000_i64)
        .map(|number| Entry {
            facet: fresh::facet(&format!("service {tag} {number}"), "song", "play"),
            ..fresh::entry(fresh::NOON + number / 3, fresh::NOON - number, &[EntryReason::Followed])
        })
        .collect();
    deliver(&*store, owner, &entries).await;
    let mut expected: Vec<Entry> = entries.iter().map(arrived).collect();
    let filter = Filter::default();
    for order in [Order::Received, Order::Published] {
        expected.sort_by_key(|entry| std::cmp::Reverse(entry.sort_key(order)));
        let slice =
            Slice { owner, reasons: EntryReasons::ALL, order, filter: &filter, after: None, limit: 300 };
        assert!(read_all(&*store, slice.clone()).await == expected);
        let rare = Filter { services: fresh::words(&[&format!("service {tag} 500")]), ..Filter::default() };
        let mut found = read_all(&*store, Slice { filter: &rare, ..slice }).await;
        found.retain(|entry| rare.matches(entry));
        assert_eq!(found, [arrived(&entries[500])]);
    }
}

pub(crate) async fn removals_are_stored(store: Engine) {
    let (owner, other) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    let [one, two, three] = [fresh::NOON, 0, -5].map(|time| (fresh::id(time), Millis(time)));
    assert_eq!(store.removed(owner, &[one, two]).await.unwrap(), [false, false]);
    for version in [5, 5, 3] {
        store.remove(owner, one.0, one.1, Version(version)).await.unwrap();
    }
    store.remove(owner, three.0, three.1, Version(1)).await.unwrap();
    assert_eq!(store.removed(owner, &[two, three, one, two]).await.unwrap(), [false, true, true, false]);
    assert_eq!(
        store.removed(other, &[one, three]).await.unwrap(),
        [false, false],
        "removed by the owner only"
    );
    assert_eq!(store.removed(owner, &[]).await.unwrap(), [false; 0]);
}

pub(crate) async fn slices_match_the_reference_model(store: Engine) {
    let query = (any_reasons(), any_order(), any_filter(), prop::option::of(any_sort_key()), 1..9_usize);
    let case = (any_deliveries(), prop::collection::vec(query, 1..6));
    check(64, &case, async |(deliveries, queries)| {
        let owner = fresh::uid(&*store).await;
        for delivery in &deliveries {
            store.deliver(delivery.at, vec![(owner, delivery.entry.clone())]).await.unwrap();
        }
        let collection = Collection::of(&deliveries);
        for (reasons, order, filter, after, limit) in queries {
            let range = match order {
                Order::Received => filter.received,
                Order::Published => filter.published,
            };
            let mut expected = collection.entries(reasons, order);
            expected.retain(|entry| {
                let sort_key = entry.sort_key(order);
                range.contains(sort_key.time) && after.is_none_or(|after| sort_key < after)
            });
            let mut found =
                read_all(&*store, Slice { owner, reasons, order, filter: &filter, after, limit }).await;
            let known: HashSet<_> = expected.iter().map(|entry| entry.id).collect();
            assert!(
                found.iter().all(|entry| known.contains(&entry.id)),
                "an entry outside the range or the reasons"
            );
            // Entries that the filter does not select may be returned.
            found.retain(|entry| filter.matches(entry));
            expected.retain(|entry| filter.matches(entry));
            assert_eq!(found, expected);
        }
    });
}

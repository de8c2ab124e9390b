//! Deliveries and their arrivals.

use super::reference::{Collection, Delivery, any_deliveries, check, read_arrivals};
use super::{Engine, fresh};
use model::{ArrivalOffset, Entry, EntryReason, EntryReasons, Order, Position, Uid, Version, Visibility};
use proptest::prelude::*;
use store::{Arrival, Store};

const START: ArrivalOffset = ArrivalOffset { position: Position(0), inside: None };
const END: Position = Position(u64::MAX);

async fn only(store: &dyn Store, owner: Uid) -> Entry {
    let mut all = fresh::all(store, owner, EntryReasons::ALL, Order::Received).await;
    assert_eq!(all.len(), 1);
    all.pop().unwrap()
}

pub(crate) async fn the_later_version_wins_then_the_later_position(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let base = fresh::entry(fresh::NOON, fresh::NOON, &[EntryReason::Followed]);
    let at = |version, position, retracted, visibility| Delivery {
        at: Position(position),
        entry: Entry { version: Version(version), retracted, visibility, ..base.clone() },
    };
    let expected = |delivery: &Delivery| Entry { arrived: Some(delivery.at), ..delivery.entry.clone() };
    let without_prior = |entry: Entry| Entry { prior: None, ..entry };
    let first = at(10, 5, false, Visibility::Public);
    let older = at(9, 50, true, Visibility::Direct);
    let again_later = at(10, 7, false, Visibility::Public);
    let again_earlier = at(10, 6, false, Visibility::Public);
    let newer = at(11, 3, true, Visibility::Followers);
    for (delivery, winner) in [
        (&first, &first),
        (&first, &first),
        (&older, &first),
        (&again_later, &again_later),
        (&again_earlier, &again_later),
        (&newer, &newer),
        (&again_later, &newer),
    ] {
        store.deliver(delivery.at, vec![(owner, delivery.entry.clone())]).await.unwrap();
        assert_eq!(without_prior(only(&*store, owner).await), expected(winner));
    }
}

pub(crate) async fn the_order_of_deliveries_does_not_matter(store: Engine) {
    let case = any_deliveries().prop_flat_map(|deliveries| {
        let repeated: Vec<Delivery> =
            deliveries.iter().chain(deliveries.iter().step_by(3)).cloned().collect();
        (Just(deliveries), Just(repeated).prop_shuffle(), 1..5_usize)
    });
    check(48, &case, async |(deliveries, shuffled, batch)| {
        let (first, second) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
        for delivery in &deliveries {
            store.deliver(delivery.at, vec![(first, delivery.entry.clone())]).await.unwrap();
        }
        // Deliveries with the same position may share a call.
        for position in shuffled.iter().map(|delivery| delivery.at) {
            let same: Vec<(Uid, Entry)> = shuffled
                .iter()
                .filter(|delivery| delivery.at == position)
                .map(|delivery| (second, delivery.entry.clone()))
                .collect();
            for part in same.chunks(batch) {
                store.deliver(position, part.to_vec()).await.unwrap();
            }
        }
        for order in [Order::Received, Order::Published] {
            let expected = fresh::all(&*store, first, EntryReasons::ALL, order).await;
            assert_eq!(fresh::all(&*store, second, EntryReasons::ALL, order).await, expected);
        }
        let expected = fresh::arrivals(&*store, first, START, END, 1_000).await;
        assert_eq!(fresh::arrivals(&*store, second, START, END, 1_000).await, expected);
    });
}

pub(crate) async fn many_arrivals_at_one_position_are_paged(store: Engine) {
    let (owner, other) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    let mut entries: Vec<Entry> = (0..50)
        .map(|number| Entry {
            facet: fresh::facet(["flickr", "last.fm"][number % 2], "photo", "post"),
            ..fresh::entry(fresh::NOON - 7 * number as i64, 0, &EntryReason::ALL[..=number % 3])
        })
        .collect();
    let deliveries: Vec<(Uid, Entry)> =
        entries.iter().flat_map(|entry| [(owner, entry.clone()), (other, entry.clone())]).collect();
    store.deliver(Position(3), deliveries).await.unwrap();
    entries.sort_by_key(|entry| entry.id);
    let expected: Vec<Entry> =
        entries.iter().map(|entry| Entry { arrived: Some(Position(3)), ..entry.clone() }).collect();
    for limit in [1, 7, 50, 51] {
        assert_eq!(read_arrivals(&*store, owner, START, END, limit).await, expected, "{limit}");
    }
    let whole = ArrivalOffset::after(Position(3));
    assert_eq!(fresh::arrivals(&*store, owner, whole, END, 9).await, [], "the whole position was seen");
    assert_eq!(fresh::arrivals(&*store, owner, START, END, 0).await, []);
}

pub(crate) async fn arrivals_end_at_the_floor(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let entries: Vec<Entry> =
        (1..=5).map(|number| fresh::entry(fresh::NOON - number, 0, &[EntryReason::Addressed])).collect();
    for (number, entry) in entries.iter().enumerate() {
        store.deliver(Position(10 * (number as u64 + 1)), vec![(owner, entry.clone())]).await.unwrap();
    }
    for (after, floor, expected) in [
        (START, END, vec![0, 1, 2, 3, 4]),
        (START, Position(30), vec![0, 1, 2]),
        (START, Position(29), vec![0, 1]),
        (ArrivalOffset::after(Position(10)), Position(30), vec![1, 2]),
        (ArrivalOffset::after(Position(9)), Position(30), vec![0, 1, 2]),
        (ArrivalOffset { position: Position(20), inside: Some(entries[1].id) }, END, vec![2, 3, 4]),
        (ArrivalOffset::after(Position(30)), Position(30), vec![]),
        (ArrivalOffset::after(Position(40)), Position(20), vec![]),
        (ArrivalOffset::after(END), END, vec![]),
    ] {
        let found: Vec<_> =
            fresh::arrivals(&*store, owner, after, floor, 9).await.iter().map(|entry| entry.id).collect();
        let expected: Vec<_> = expected.into_iter().map(|number: usize| entries[number].id).collect();
        assert_eq!(found, expected, "{after:?} {floor:?}");
    }
}

pub(crate) async fn a_new_version_arrives_again(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let first = fresh::entry(fresh::NOON, 0, &[EntryReason::Addressed, EntryReason::Followed]);
    store.deliver(Position(1), vec![(owner, first.clone())]).await.unwrap();
    let prior = Some(first.visibility);
    let second = Entry { version: Version(first.version.0 + 1), retracted: true, prior, ..first.clone() };
    store.deliver(Position(2), vec![(owner, second.clone())]).await.unwrap();
    let found = fresh::arrivals(&*store, owner, ArrivalOffset::after(Position(1)), END, 9).await;
    assert_eq!(found, [Entry { arrived: Some(Position(2)), ..second }], "a retraction arrives too");
    // The same version with one reason at a later position: that reason arrives there.
    let third = Entry { version: Version(first.version.0 + 2), prior, ..first };
    store.deliver(Position(3), vec![(owner, third.clone())]).await.unwrap();
    let followed = Entry { reasons: fresh::reasons(&[EntryReason::Followed]), ..third.clone() };
    store.deliver(Position(4), vec![(owner, followed.clone())]).await.unwrap();
    let found = fresh::arrivals(&*store, owner, ArrivalOffset::after(Position(2)), END, 9).await;
    let addressed =
        Entry { reasons: fresh::reasons(&[EntryReason::Addressed]), arrived: Some(Position(3)), ..third };
    assert_eq!(found, [addressed, Entry { arrived: Some(Position(4)), ..followed }]);
}

pub(crate) async fn arrivals_match_the_reference_model(store: Engine) {
    let case = (any_deliveries(), 0..8_u64, any::<prop::sample::Index>(), 0..8_u64, 1..6_usize);
    check(48, &case, async |(deliveries, position, inside, floor, limit)| {
        let owner = fresh::uid(&*store).await;
        for delivery in &deliveries {
            store.deliver(delivery.at, vec![(owner, delivery.entry.clone())]).await.unwrap();
        }
        let all = Collection::of(&deliveries).arrivals();
        let inside = (!all.is_empty()).then(|| inside.get(&all).id);
        let after = ArrivalOffset { position: Position(position), inside };
        let mut expected = all;
        expected.retain(|entry| {
            let arrived = entry.arrived.unwrap();
            arrived <= Position(floor) && after.is_before(arrived, entry.id)
        });
        assert_eq!(read_arrivals(&*store, owner, after, Position(floor), limit).await, expected);
    });
}

pub(crate) async fn a_change_follows_the_entries_of_its_position(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let mut entries: Vec<Entry> =
        (0..3).map(|n| fresh::entry(fresh::NOON - n, 0, &[EntryReason::Addressed])).collect();
    entries.sort_by_key(|entry| entry.id);
    for (position, entry) in [(2, 0), (2, 1), (5, 2)] {
        store.deliver(Position(position), vec![(owner, entries[entry].clone())]).await.unwrap();
    }
    for position in [1, 2, 2, 4, 9] {
        store.note_changes(Position(position), &[owner]).await.unwrap();
    }
    let expected = [None, Some(0), Some(1), None, None, Some(2), None];
    let kinds = |arrivals: &[Arrival]| -> Vec<Option<usize>> {
        let number = |arrival: &Arrival| match arrival {
            Arrival::Entry(entry) => entries.iter().position(|known| known.id == entry.id),
            Arrival::Change(_) => None,
        };
        arrivals.iter().map(number).collect()
    };
    for limit in [1, 2, 3, 100] {
        let (mut found, mut after) = (Vec::new(), START);
        loop {
            let page = store.arrivals(owner, after, END, limit).await.unwrap();
            assert!(page.len() <= limit);
            found.extend(kinds(&page));
            after = match page.last() {
                Some(Arrival::Entry(entry)) => {
                    ArrivalOffset { position: entry.arrived.unwrap(), inside: Some(entry.id) }
                }
                Some(Arrival::Change(position)) => ArrivalOffset::after(*position),
                None => break,
            };
        }
        assert_eq!(found, expected, "{limit}");
    }
    let until = store.arrivals(owner, START, Position(4), 100).await.unwrap();
    assert_eq!(kinds(&until), expected[..5]);
}

pub(crate) async fn at_one_position_the_wider_prior_visibility_wins(store: Engine) {
    let base = fresh::entry(fresh::NOON, 0, &[EntryReason::Followed]);
    let retraction = |prior| Entry { prior, retracted: true, version: Version(9), ..base.clone() };
    let writes = [
        (2, retraction(Some(Visibility::Followers))),
        (2, retraction(Some(Visibility::Direct))),
        (2, retraction(None)),
        (1, retraction(Some(Visibility::Public))),
    ];
    for order in [[0, 1, 2, 3], [2, 1, 0, 3], [3, 1, 0, 2], [2, 0, 3, 1]] {
        let owner = fresh::uid(&*store).await;
        for number in order {
            let (at, entry) = &writes[number];
            store.deliver(Position(*at), vec![(owner, entry.clone())]).await.unwrap();
        }
        let found = fresh::arrivals(&*store, owner, START, END, 9).await;
        let last = Entry { arrived: Some(Position(2)), ..retraction(Some(Visibility::Followers)) };
        assert_eq!(found, [last], "{order:?}");
    }
}

//! Activities marked as pulled, and the reads of followers in pull mode.

use super::reference::{
    Collection, Delivery, any_deliveries, any_filter, any_order, any_reasons, any_sort_key, check,
};
use super::{Engine, fresh};
use model::{
    ArrivalOffset, Entry, EntryReason, EntryReasons, Filter, Order, Position, State, Uid, Version, Visibility,
};
use proptest::prelude::*;
use store::{Acceptance, Arrival, Slice, Store};

const START: ArrivalOffset = ArrivalOffset { position: Position(0), inside: None };
const END: Position = Position(u64::MAX);

/// The next version, pulled or not.
fn next(before: &Acceptance, pulled: bool) -> Acceptance {
    let mut next = fresh::next(before, "next", false);
    next.activity.state.pulled = pulled;
    next
}

async fn deliver(store: &dyn Store, owner: Uid, deliveries: &[Delivery]) {
    for delivery in deliveries {
        store.deliver(delivery.at, vec![(owner, delivery.entry.clone())]).await.unwrap();
    }
}

pub(crate) async fn pulled_is_on_the_state_and_on_the_authored_entry(store: Engine) {
    let (ada, bob) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    let mut first = fresh::acceptance(ada, "1", fresh::NOON);
    first.activity.state.pulled = true;
    let second = next(&first, false);
    let third = next(&second, true);
    let from = fresh::reasons(&[EntryReason::Authored]);
    for item in [&first, &second, &third] {
        let position = fresh::accept(&*store, item).await;
        let state = &item.activity.state;
        assert_eq!(store.states(&[state.id]).await.unwrap(), [Some(state.clone())]);
        let found = store.activities(&[state.id]).await.unwrap().remove(0).unwrap();
        assert_eq!((&found.state, &found.body), (state, &item.activity.body));
        let prior = item.prior.as_ref().map(|before| before.visibility);
        let own = Entry { prior, arrived: Some(position), ..Entry::of(state, EntryReason::Authored, false) };
        assert_eq!(own.pulled, state.pulled);
        for order in [Order::Received, Order::Published] {
            assert_eq!(fresh::all(&*store, ada, from, order).await, std::slice::from_ref(&own));
        }
        let arrivals = store.arrivals(ada, START, END, 9).await.unwrap();
        assert_eq!(arrivals, [Arrival::Entry(own.clone())]);
        assert_eq!(store.own_arrivals(&[ada], START, END, 9).await.unwrap(), [[own]]);

        store.deliver(position, vec![(bob, Entry::of(state, EntryReason::Followed, false))]).await.unwrap();
        assert!(
            !fresh::all(&*store, bob, EntryReasons::ALL, Order::Received).await[0].pulled,
            "a followed entry is not pulled"
        );
        store.acknowledge(&[position], &[]).await.unwrap();
    }
}

/// `pulled` does not decide which of two rows wins.
pub(crate) async fn the_later_row_wins_pulled_or_not(store: Engine) {
    let base = fresh::entry(fresh::NOON, 0, &[EntryReason::Authored]);
    let row = |version, pulled, prior| Entry { version: Version(version), pulled, prior, ..base.clone() };
    let writes = [
        (4, row(1, true, Some(Visibility::Public))),
        (2, row(2, true, None)),
        (3, row(2, false, None)),
        (3, row(2, false, Some(Visibility::Direct))),
    ];
    for order in fresh::every_order(&writes) {
        let owner = fresh::uid(&*store).await;
        for (at, entry) in &order {
            store.deliver(Position(*at), vec![(owner, entry.clone())]).await.unwrap();
        }
        let latest = Entry { arrived: Some(Position(3)), ..writes[3].1.clone() };
        assert_eq!(
            fresh::all(&*store, owner, EntryReasons::ALL, Order::Received).await,
            [latest],
            "{order:?}"
        );
    }
}

/// An actor may be a recipient of an activity that it performed: `pulled` is visible in any order of the rows.
pub(crate) async fn pulled_is_visible_among_several_reasons(store: Engine) {
    let own = Entry { pulled: true, ..fresh::entry(fresh::NOON, 0, &[EntryReason::Authored]) };
    let addressed =
        Entry { pulled: false, reasons: fresh::reasons(&[EntryReason::Addressed]), ..own.clone() };
    for order in [[&own, &addressed], [&addressed, &own]] {
        let owner = fresh::uid(&*store).await;
        for entry in order {
            store.deliver(Position(5), vec![(owner, entry.clone())]).await.unwrap();
        }
        let arrived = Some(Position(5));
        let both = Entry { reasons: own.reasons.union(addressed.reasons), arrived, ..own.clone() };
        let found = fresh::all(&*store, owner, EntryReasons::ALL, Order::Received).await;
        assert_eq!(found, std::slice::from_ref(&both));
        assert_eq!(store.arrivals(owner, START, END, 9).await.unwrap(), [Arrival::Entry(both)]);
        assert!(!fresh::all(&*store, owner, addressed.reasons, Order::Received).await[0].pulled);
        let alone = Entry { arrived, ..own.clone() };
        assert_eq!(store.own_arrivals(&[owner], START, END, 9).await.unwrap(), [[alone]]);
    }
}

pub(crate) async fn slices_read_together_equal_single_slices(store: Engine) {
    let query =
        (0..4_usize, any_reasons(), any_order(), any_filter(), prop::option::of(any_sort_key()), 0..9_usize);
    let case = (prop::collection::vec(any_deliveries(), 3), prop::collection::vec(query, 0..8));
    check(24, &case, async |(collections, queries)| {
        let mut owners = Vec::new();
        for deliveries in &collections {
            owners.push(fresh::uid(&*store).await);
            deliver(&*store, owners[owners.len() - 1], deliveries).await;
        }
        owners.push(Uid(i64::MAX));
        let slices: Vec<Slice<'_>> = queries
            .iter()
            .map(|(owner, reasons, order, filter, after, limit)| Slice {
                owner: owners[*owner],
                reasons: *reasons,
                order: *order,
                filter,
                after: *after,
                limit: *limit,
            })
            .collect();
        let found_together = store.slices(&slices).await.unwrap();
        assert_eq!(found_together.len(), slices.len());
        for (found, slice) in found_together.into_iter().zip(&slices) {
            assert_eq!(found, store.slice(slice).await.unwrap(), "{slice:?}");
        }
    });
}

pub(crate) async fn own_arrivals_have_authored_entries_only(store: Engine) {
    let (ada, bob) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    let mut entries: Vec<Entry> =
        (0..40).map(|n| fresh::entry(fresh::NOON + n, 0, &[EntryReason::ALL[(n % 3) as usize]])).collect();
    entries.sort_by_key(|entry| entry.id);
    for (number, entry) in entries.iter().enumerate() {
        let at = Position(number as u64 / 8 + 1);
        store.deliver(at, vec![(ada, entry.clone()), (bob, entry.clone())]).await.unwrap();
        store.note_changes(at, &[ada]).await.unwrap();
    }
    let all: Vec<Entry> = store
        .arrivals(bob, START, END, 1_000)
        .await
        .unwrap()
        .into_iter()
        .filter_map(|arrival| match arrival {
            Arrival::Entry(entry) if entry.reasons.contains(EntryReason::Authored) => Some(entry),
            _ => None,
        })
        .collect();
    assert_eq!(all.len(), 14);
    let inside = |number: usize| ArrivalOffset {
        position: all[number].arrived.unwrap(),
        inside: Some(all[number].id),
    };
    for (after, floor, limit, expected) in [
        (START, END, 14, &all[..]),
        (START, END, 100, &all[..]),
        (START, END, 5, &all[..5]),
        (START, END, 0, &all[..0]),
        (inside(3), END, 4, &all[4..8]),
        (inside(13), END, 4, &all[..0]),
        (ArrivalOffset::after(END), END, 4, &all[..0]),
    ] {
        let found = store.own_arrivals(&[ada, Uid(i64::MAX), bob], after, floor, limit).await.unwrap();
        assert_eq!(found, [expected, &[], expected], "{after:?} {limit}");
    }
    assert!(store.own_arrivals(&[], START, END, 9).await.unwrap().is_empty());
}

pub(crate) async fn own_arrivals_match_the_reference_model(store: Engine) {
    let case = (
        prop::collection::vec(any_deliveries(), 3),
        0..8_u64,
        prop::option::of(any::<prop::sample::Index>()),
        0..8_u64,
        1..6_usize,
    );
    check(32, &case, async |(collections, position, inside, floor, limit)| {
        let mut owners = Vec::new();
        let mut all = Vec::new();
        for deliveries in &collections {
            owners.push(fresh::uid(&*store).await);
            deliver(&*store, owners[owners.len() - 1], deliveries).await;
            let mut own: Vec<Delivery> = deliveries.clone();
            own.retain(|delivery| delivery.entry.reasons.contains(EntryReason::Authored));
            for delivery in &mut own {
                delivery.entry.reasons = fresh::reasons(&[EntryReason::Authored]);
            }
            all.push(Collection::of(&own).arrivals());
        }
        let ids: Vec<_> = all.iter().flatten().map(|entry| entry.id).collect();
        let inside = inside.filter(|_| !ids.is_empty()).map(|index| *index.get(&ids));
        let after = ArrivalOffset { position: Position(position), inside };
        for own in &mut all {
            own.retain(|entry| {
                let arrived = entry.arrived.unwrap();
                arrived <= Position(floor) && after.is_before(arrived, entry.id)
            });
            own.truncate(limit);
        }
        let found = store.own_arrivals(&owners, after, Position(floor), limit).await.unwrap();
        assert_eq!(found, all);
    });
}

pub(crate) async fn followed_entries_are_found_by_authored_entries(store: Engine) {
    let (ada, bob, owner) = (fresh::uid(&*store).await, fresh::uid(&*store).await, fresh::uid(&*store).await);
    let state = |actor, received: i64, pulled| -> State {
        let item = fresh::acceptance(actor, "1", fresh::NOON + received);
        State { pulled, ..item.activity.state }
    };
    let states = [state(ada, 1, true), state(bob, 1, false), state(ada, 3, true), state(bob, 4, true)];
    let own: Vec<Entry> = states.iter().map(|state| Entry::of(state, EntryReason::Authored, false)).collect();
    let pushed = Entry::of(&states[0], EntryReason::Followed, false);
    let retracted = Entry {
        version: Version(9),
        prior: Some(Visibility::Public),
        ..Entry::of(&states[1], EntryReason::Followed, true)
    };
    let addressed = Entry::of(&states[2], EntryReason::Addressed, false);
    for (at, to, entry) in [
        (5, owner, &pushed),
        (5, owner, &Entry { reasons: addressed.reasons, ..pushed.clone() }),
        (6, owner, &retracted),
        (7, owner, &addressed),
        (8, owner, &own[2]),
        (9, bob, &Entry::of(&states[3], EntryReason::Followed, false)),
    ] {
        store.deliver(Position(at), vec![(to, entry.clone())]).await.unwrap();
    }
    let arrived = |entry: &Entry, at| Some(Entry { arrived: Some(Position(at)), ..entry.clone() });
    let (pushed, retracted) = (arrived(&pushed, 5), arrived(&retracted, 6));
    let never =
        Entry { facet: fresh::facet(&fresh::number().to_string(), "photo", "post"), ..own[0].clone() };
    // Only the keys of the requested entries are used.
    let later =
        Entry { version: Version(99), actor: Uid(1), retracted: true, arrived: None, ..own[1].clone() };
    let requested = [own[3].clone(), own[0].clone(), later, own[2].clone(), never, own[0].clone()];
    let found = store.followed_entries(owner, &requested).await.unwrap();
    assert_eq!(found, [None, pushed.clone(), retracted, None, None, pushed]);
    assert_eq!(store.followed_entries(owner, &[]).await.unwrap(), []);
    let everything = Slice {
        owner,
        reasons: fresh::reasons(&[EntryReason::Followed]),
        order: Order::Received,
        filter: &Filter::default(),
        after: None,
        limit: 9,
    };
    let known = store.slice(&everything).await.unwrap();
    let found = store.followed_entries(owner, &known).await.unwrap();
    assert_eq!(found, known.into_iter().map(Some).collect::<Vec<_>>());
}

pub(crate) async fn a_removed_entry_stays_only_if_it_was_delivered_again(store: Engine) {
    let reader = fresh::uid(&*store).await;
    let entry = |at: i64| fresh::entry(fresh::NOON + at, fresh::NOON - at, &[EntryReason::Followed]);
    let (first, second, third) = (entry(1), entry(2), entry(3));
    let all = vec![(reader, first.clone()), (reader, second.clone()), (reader, third.clone())];
    store.deliver(Position(10), all).await.unwrap();
    let own = [first.clone(), second.clone(), third.clone()];
    let found = store.followed_entries(reader, &own).await.unwrap();
    let found: Vec<Entry> = found.into_iter().flatten().collect();
    assert_eq!(found.len(), 3);
    // One is delivered again at a later position, one in a later version.
    store.deliver(Position(20), vec![(reader, second.clone())]).await.unwrap();
    let later = Entry { version: Version(third.version.0 + 1), ..third.clone() };
    store.deliver(Position(20), vec![(reader, later.clone())]).await.unwrap();
    store.remove_followed(reader, &found).await.unwrap();
    store.remove_followed(reader, &found).await.unwrap();
    for order in [Order::Received, Order::Published] {
        let left = fresh::all(&*store, reader, EntryReasons::ALL, order).await;
        let mut left: Vec<_> = left.iter().map(|entry| (entry.id, entry.version, entry.arrived)).collect();
        left.sort();
        let mut expected = vec![
            (second.id, second.version, Some(Position(20))),
            (later.id, later.version, Some(Position(20))),
        ];
        expected.sort();
        assert_eq!(left, expected, "{order:?}");
    }
    // A removed entry can be delivered again, in the same version.
    store.deliver(Position(30), vec![(reader, first.clone())]).await.unwrap();
    let back = store.followed_entries(reader, &own).await.unwrap();
    assert_eq!(back[0].as_ref().and_then(|entry| entry.arrived), Some(Position(30)));
}

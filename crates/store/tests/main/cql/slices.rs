//! Slices and arrivals of many accounts, read together: equal to single reads, and with few statements.

use super::super::conformance::fresh;
use super::cost::Dice;
use super::divided_buckets::divide;
use super::{open, shared};
use model::{
    ArrivalOffset, Entry, EntryReason, EntryReasons, Filter, Millis, Order, Position, Range, Uid, Version,
};
use store::cql::CqlStore;
use store::{Arrival, Feeds, Slice};

const DAY: i64 = 86_400_000;
/// The number of positions in a segment of the log.
const SEGMENT: u64 = 1 << 15;
/// The maximum number of pulled actors, and the items of a page plus the one that shows whether there is another
/// page.
const PULLED: usize = 200;
const PAGE: usize = 21;

fn days(dice: &mut Dice, max: u64) -> i64 {
    dice.roll(max).cast_signed() * DAY
}

/// An account number without an account.
fn owner() -> Uid {
    Uid((fresh::number() & u64::MAX >> 1).cast_signed())
}

fn authored() -> EntryReasons {
    fresh::reasons(&[EntryReason::Authored])
}

/// An entry of the last years; half of them are authored.
fn any_entry(dice: &mut Dice) -> Entry {
    let received = fresh::NOON - days(dice, 1_100);
    let reason =
        [EntryReason::Authored, EntryReason::Authored, EntryReason::Addressed, EntryReason::Followed]
            [dice.roll(4) as usize];
    let service = ["flickr", "last.fm", "digg"][dice.roll(3) as usize];
    Entry {
        facet: fresh::facet(service, "photo", "post"),
        version: Version(1 + dice.roll(5).cast_signed()),
        retracted: dice.roll(5) == 0,
        pulled: reason == EntryReason::Authored && dice.roll(2) == 0,
        ..fresh::entry(received, received - days(dice, 400), &[reason])
    }
}

/// Accounts with different histories: with no entries, few, very many lately, and divided buckets.
async fn filled(early: &CqlStore, dice: &mut Dice) -> (Vec<Uid>, Vec<Entry>) {
    let owners: Vec<Uid> = (0..9).map(|_| owner()).collect();
    let mut entries = Vec::new();
    for round in 0..2 {
        let late = open().await;
        for step in 0..6 {
            let store = if step % 2 == 0 { early } else { &*late };
            let mut deliveries = Vec::new();
            for (number, owner) in owners.iter().enumerate().skip(1) {
                let many = if number == 8 && step == 5 { 30 } else { dice.roll(4) };
                deliveries.extend((0..many).map(|_| (*owner, any_entry(dice))));
            }
            // Repeated deliveries have another version or position.
            let again: Vec<_> = deliveries.iter().filter(|_| dice.roll(4) == 0).cloned().collect();
            entries.extend(deliveries.iter().map(|(_, entry)| entry.clone()));
            let at = (step * 2 + round) * SEGMENT / 3;
            store.deliver(Position(1 + at), deliveries).await.unwrap();
            let again =
                again.into_iter().map(|(owner, entry)| (owner, Entry { version: Version(4), ..entry }));
            store.deliver(Position(2 + at), again.collect()).await.unwrap();
        }
        for (owner, level) in [(owners[6], 1), (owners[7], 2)] {
            divide(owner, level + round as i8).await;
        }
    }
    (owners, entries)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slices_read_together_equal_single_slices() {
    let Some(store) = shared().await else { return };
    let mut dice = Dice(fresh::number());
    let (owners, entries) = filled(&store, &mut dice).await;
    let everything = Filter::default();
    let rare = Filter { services: fresh::words(&["digg"]), ..Filter::default() };
    let time =
        Range { since: Some(Millis(fresh::NOON - 700 * DAY)), before: Some(Millis(fresh::NOON - DAY)) };
    let within = Filter { received: time, published: time, ..Filter::default() };
    for order in [Order::Received, Order::Published] {
        for limit in [0, 1, 3, PAGE, 101] {
            let sort_key = entries[dice.roll(entries.len() as u64) as usize].sort_key(order);
            let mut slices = Vec::new();
            for (filter, reasons) in [
                (&everything, authored()),
                (&within, authored()),
                (&rare, authored()),
                (&everything, EntryReasons::ALL),
            ] {
                for after in [None, Some(sort_key)] {
                    let slice = |owner: &Uid| Slice { owner: *owner, reasons, order, filter, after, limit };
                    slices.extend(owners.iter().map(slice));
                }
            }
            slices.push(slices[1].clone());
            let found = store.slices(&slices).await.unwrap();
            assert_eq!(found.len(), slices.len());
            for (slice, found) in slices.iter().zip(found) {
                assert_eq!(found, store.slice(slice).await.unwrap(), "{slice:?}");
            }
        }
    }
    assert!(store.slices(&[]).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn own_arrivals_read_together_equal_single_reads() {
    let Some(store) = shared().await else { return };
    let mut dice = Dice(fresh::number());
    let (mut owners, entries) = filled(&store, &mut dice).await;
    // More arrivals than are read together.
    let busy = owners[5];
    let followed = (0..70).map(|n| (busy, fresh::entry(fresh::NOON - n, 0, &[EntryReason::Followed])));
    store.deliver(Position(SEGMENT + 3), followed.collect()).await.unwrap();
    owners.push(owners[2]);
    for _ in 0..25 {
        let position = Position(dice.roll(5 * SEGMENT));
        let inside = (dice.roll(2) == 0).then(|| entries[dice.roll(entries.len() as u64) as usize].id);
        let after = ArrivalOffset { position, inside };
        let floor = Position(position.0 + [0, 9, SEGMENT / 2, SEGMENT, 4 * SEGMENT][dice.roll(5) as usize]);
        let limit = [1, 2, 7, 500][dice.roll(4) as usize];
        let found = store.own_arrivals(&owners, after, floor, limit).await.unwrap();
        assert_eq!(found.len(), owners.len());
        for (owner, found) in owners.iter().zip(found) {
            let all = store.arrivals(*owner, after, floor, 1_000).await.unwrap();
            let own = all.into_iter().filter_map(|arrival| match arrival {
                Arrival::Entry(entry) if entry.reasons == authored() => Some(entry),
                _ => None,
            });
            assert_eq!(found, own.take(limit).collect::<Vec<_>>(), "{after:?} {floor:?} {limit}");
        }
    }
}

async fn statements<T>(store: &CqlStore, call: impl Future<Output = store::Result<T>>) -> (T, u64) {
    let (before, _) = store.counted();
    let done = call.await.unwrap();
    (done, store.counted().0 - before)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_many_accounts_takes_few_statements() {
    let Some(filler) = shared().await else { return };
    let owners: Vec<Uid> = (0..PULLED).map(|_| owner()).collect();
    let past = [1, 2, 400];
    let entries = |owner: &Uid| {
        let owner = *owner;
        past.map(|days| (owner, fresh::entry(fresh::NOON - days * DAY, 0, &[EntryReason::Authored])))
    };
    filler.deliver(Position(7), owners.iter().flat_map(entries).collect()).await.unwrap();

    let cold = open().await;
    let (filter, reasons, order) = (Filter::default(), authored(), Order::Received);
    let slice = |limit| {
        let filter = &filter;
        move |owner: &Uid| Slice { owner: *owner, reasons, order, filter, after: None, limit }
    };
    // Two years per account.
    let page: Vec<Slice<'_>> = owners.iter().map(slice(PAGE)).collect();
    let (found, count) = statements(&cold, cold.slices(&page)).await;
    assert!(found.iter().all(|entries| entries.len() == past.len()));
    assert!(count <= 12, "{count}");
    let newest: Vec<Slice<'_>> = owners.iter().map(slice(1)).collect();
    let (_, count) = statements(&cold, cold.slices(&newest)).await;
    assert!(count <= 4, "{count}");

    let poll =
        |after, floor| cold.own_arrivals(&owners, ArrivalOffset::after(Position(after)), Position(floor), 50);
    for (after, floor) in [(7, 20), (SEGMENT - 1, SEGMENT + 1)] {
        let (found, count) = statements(&cold, poll(after, floor)).await;
        assert!(found.iter().all(Vec::is_empty));
        assert!(count <= 4, "{count}");
    }
    let delivery = (owners[3], fresh::entry(fresh::NOON, 0, &[EntryReason::Authored]));
    cold.deliver(Position(30), vec![delivery]).await.unwrap();
    let (found, count) = statements(&cold, poll(20, 40)).await;
    assert_eq!(found.iter().filter(|entries| !entries.is_empty()).count(), 1);
    assert!(count <= 4, "{count}");
}

//! Retention: expired entries and bodies leave the files, claims and states stay.

use super::super::conformance::fresh;
use super::super::scratch::Scratch;
use super::quick;
use model::{EntryReason, Filter, Millis, Order, Position, Uid};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::sqlite::{Options, SqliteStore};
use store::{Acceptance, Activities, Feeds, Log, Slice, Store};

const DAY: i64 = 24 * 60 * 60 * 1_000;
const RETENTION: Duration = Duration::from_hours(24);
/// The time of an expiry.
const NOW: i64 = fresh::NOON + 10 * DAY;
const ACTIVITIES: i64 = 1_500;

fn open(scratch: &Scratch) -> SqliteStore {
    let options = Options { retention: Some(RETENTION), ..quick() };
    SqliteStore::open(&scratch.file("store.db"), options).unwrap()
}

/// A text that is in no other activity. Some are longer than a page.
fn text(kind: &str, number: i64) -> String {
    let length = if number % 7 == 0 { 9_000 } else { 40 };
    format!("{kind}-{number}-{}", "x".repeat(length))
}

fn with_title(mut acceptance: Acceptance, title: String) -> Acceptance {
    acceptance.activity.body.title = title;
    acceptance
}

/// The numbers of the activities whose text of this kind is in a file of the store.
fn found(scratch: &Scratch, kind: &str) -> Vec<i64> {
    let mut found = Vec::new();
    for file in ["store.db", "store.db-wal"] {
        let bytes = std::fs::read(scratch.file(file)).unwrap_or_default();
        let prefix = format!("{kind}-");
        for at in memchr(&bytes, prefix.as_bytes()) {
            let digits = bytes[at + prefix.len()..].iter().take_while(|byte| byte.is_ascii_digit());
            found.extend(String::from_utf8(digits.copied().collect()).unwrap().parse::<i64>());
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn memchr<'a>(bytes: &'a [u8], text: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    bytes.windows(text.len()).enumerate().filter(move |(_, window)| *window == text).map(|(at, _)| at)
}

async fn page(store: &SqliteStore, owner: Uid, reason: EntryReason) -> Vec<i64> {
    let filter = Filter::default();
    let reasons = fresh::reasons(&[reason]);
    let slice = Slice { owner, reasons, order: Order::Received, filter: &filter, after: None, limit: 10_000 };
    store.slice(&slice).await.unwrap().iter().map(|entry| entry.received.0).collect()
}

/// Old and new activities alternate, some have a second version, and every one is in two collections.
async fn fill(store: &SqliteStore, actor: Uid, reader: Uid) -> Vec<Acceptance> {
    let mut all = Vec::new();
    for number in 0..ACTIVITIES {
        let received = if number % 2 == 0 { NOW - 3 * DAY + number } else { NOW - DAY / 2 + number };
        let first = fresh::acceptance(actor, &format!("source-{number}"), received);
        let first = with_title(first, text("first", number));
        let mut position = fresh::accept(store, &first).await;
        let mut last = first;
        if number % 3 == 0 {
            last = fresh::next(&last, &text("second", number), false);
            store.acknowledge(&[position], &[]).await.unwrap();
            position = fresh::accept(store, &last).await;
        }
        let followed = model::Entry::of(&last.activity.state, EntryReason::Followed, false);
        store.deliver(position, vec![(reader, followed)]).await.unwrap();
        store.acknowledge(&[position], &[]).await.unwrap();
        all.push(last);
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expired_texts_leave_the_files() {
    let scratch = Scratch::new();
    let store = open(&scratch);
    let (actor, reader) = (fresh::uid(&store).await, fresh::uid(&store).await);
    let all = fill(&store, actor, reader).await;
    let size = || std::fs::metadata(scratch.file("store.db")).unwrap().len();
    let is_new = |number: &i64| number % 2 == 1;
    assert!(found(&scratch, "first").len() > 1_000, "the search works");

    store.forget_expired(Millis(NOW)).await.unwrap();
    assert_eq!(std::fs::metadata(scratch.file("store.db-wal")).unwrap().len(), 0);
    let expected: Vec<i64> = (0..ACTIVITIES).filter(is_new).collect();
    let (second, first): (Vec<i64>, Vec<i64>) = expected.iter().partition(|number| *number % 3 == 0);
    assert_eq!(found(&scratch, "first"), first);
    assert_eq!(found(&scratch, "second"), second);

    // The newer half is unchanged.
    let mut received: Vec<i64> = expected.iter().map(|number| NOW - DAY / 2 + number).collect();
    received.reverse();
    assert_eq!(page(&store, actor, EntryReason::Authored).await, received);
    assert_eq!(page(&store, reader, EntryReason::Followed).await, received);
    let ids: Vec<_> = all.iter().map(|one| one.activity.state.id).collect();
    let bodies = store.activities(&ids).await.unwrap();
    for (number, (body, accepted)) in (0..).zip(bodies.iter().zip(&all)) {
        assert_eq!(body.as_ref(), Some(&accepted.activity).filter(|_| is_new(&number)));
    }
    // Claims and states stay.
    let states = store.states(&ids).await.unwrap();
    for (state, accepted) in states.into_iter().zip(&all) {
        assert_eq!(state.as_ref(), Some(&accepted.activity.state));
        let claim = store.claim(&accepted.source).await.unwrap().unwrap();
        assert_eq!(claim.version, accepted.activity.state.version);
    }
    assert_eq!(store.integrity_check().await.unwrap(), [""; 0]);

    // Free pages are used again.
    let before = size();
    fill(&store, fresh::uid(&store).await, reader).await;
    store.forget_expired(Millis(NOW)).await.unwrap();
    assert!(size() < before + before / 2 + before / 10, "{} after {before}", size());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_version_of_an_expired_activity_expires_again() {
    let scratch = Scratch::new();
    let store = open(&scratch);
    let actor = fresh::uid(&store).await;
    let first = with_title(fresh::acceptance(actor, "1", NOW - 2 * DAY), text("first", 1));
    let position = fresh::accept(&store, &first).await;
    store.acknowledge(&[position], &[]).await.unwrap();
    store.forget_expired(Millis(NOW)).await.unwrap();
    let id = first.activity.state.id;
    let second = fresh::next(&first, &text("second", 1), false);
    let position = fresh::accept(&store, &second).await;
    store.acknowledge(&[position], &[]).await.unwrap();
    assert_eq!(store.states(&[id]).await.unwrap(), [Some(second.activity.state.clone())]);
    store.forget_expired(Millis(NOW)).await.unwrap();
    assert!(found(&scratch, "second").is_empty());
    assert_eq!(store.activities(&[id]).await.unwrap(), [None]);
    assert_eq!(store.states(&[id]).await.unwrap(), [Some(second.activity.state.clone())]);
    assert!(page(&store, actor, EntryReason::Authored).await.is_empty());
    // An arrival without an entry is no arrival.
    let floor = store.floor().await.unwrap();
    let after = model::ArrivalOffset::after(Position(0));
    assert_eq!(store.arrivals(actor, after, floor, 10).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_retention_nothing_expires() {
    let scratch = Scratch::new();
    let store = super::open(&scratch);
    let actor = fresh::uid(&store).await;
    let old = fresh::acceptance(actor, "1", fresh::NOON - 1_000 * DAY);
    fresh::accept(&store, &old).await;
    store.forget_expired(Millis(NOW)).await.unwrap();
    let found = store.activities(&[old.activity.state.id]).await.unwrap();
    assert_eq!(found, [Some(old.activity)]);
    assert_eq!(page(&store, actor, EntryReason::Authored).await.len(), 1);
}

/// Readers and writers go on while much expires.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expiry_under_load_truncates_the_log() {
    let scratch = Scratch::new();
    let store = open(&scratch);
    let (actor, reader) = (fresh::uid(&store).await, fresh::uid(&store).await);
    fill(&store, actor, reader).await;
    let stop = Arc::new(AtomicBool::new(false));
    let (writing, stopped) = (store.clone(), Arc::clone(&stop));
    let writer = tokio::spawn(async move {
        let mut written = 0;
        while !stopped.load(Ordering::Relaxed) {
            let live = fresh::acceptance(actor, &format!("live-{written}"), NOW);
            fresh::accept(&writing, &live).await;
            page(&writing, actor, EntryReason::Authored).await;
            written += 1;
        }
        written
    });
    store.forget_expired(Millis(NOW)).await.unwrap();
    let expired = found(&scratch, "first").into_iter().filter(|number| number % 2 == 0).count();
    stop.store(true, Ordering::Relaxed);
    assert_eq!(expired, 0);
    assert!(writer.await.unwrap() > 0);
}

//! Sources, due times and leases.

use super::reference::check;
use super::{Engine, fresh};
use model::{Millis, SourceId, Version};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;
use store::{Source, Store};

const MINUTE: i64 = 60_000;

/// Every test has its own shards, because concurrent tests may share an engine.
const EXAMPLES: u16 = 1;
const PAGED: u16 = 2;
const RANDOM: [u16; 2] = [3, 4];

/// The current time. An engine may never scan the distant past again. So no test looks ahead by more than [`AHEAD`],
/// and the next one begins at the same time or later.
fn current_time() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

const AHEAD: i64 = 14 * MINUTE;

pub(crate) fn id() -> SourceId {
    let number = fresh::number().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    SourceId((u128::from(number) << 64 | 7).to_be_bytes())
}

/// A source whose state follows from the version.
fn source(id: SourceId, shard: u16, version: i64, due: Option<i64>) -> Source {
    let state = version.to_be_bytes().to_vec();
    Source { id, version: Version(version), shard, due: due.map(Millis), state }
}

/// The due sources of a shard. Each is unscheduled when it is returned, so that all of them are returned.
async fn due(store: &dyn Store, shard: u16, now: i64, limit: usize) -> Vec<SourceId> {
    let mut seen = Vec::new();
    for _ in 0..10_000 {
        let given = store.due_sources(shard, Millis(now), limit).await.unwrap();
        assert!(given.len() <= limit);
        if given.is_empty() {
            return seen;
        }
        for id in given {
            let found = store.source(id).await.unwrap().expect("a due source exists");
            if found.shard == shard && found.due.is_some_and(|due| due.0 <= now) {
                seen.push(id);
                let done = Source { version: Version(found.version.0 + 1), due: None, ..found };
                fresh::put(store, &done).await;
            }
        }
    }
    panic!("due sources do not end");
}

pub(crate) async fn all_sources_are_listed(store: Engine) {
    let mut made: Vec<Source> = (1..=7).map(|version| source(id(), EXAMPLES, version, None)).collect();
    for source in &made {
        fresh::put(&*store, source).await;
    }
    // Concurrent tests may share an engine.
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store.list_sources(after, 3).await.unwrap();
        assert!(page.len() <= 3);
        after = page.last().map(|last| last.id);
        let is_last = page.len() < 3;
        found.extend(page.into_iter().filter(|source| made.iter().any(|made| made.id == source.id)));
        if is_last {
            break;
        }
    }
    found.sort_by_key(|source| source.id.0);
    made.sort_by_key(|source| source.id.0);
    assert_eq!(found, made, "each source once");
}

pub(crate) async fn a_source_is_stored(store: Engine) {
    let (first, second) = (id(), id());
    assert_eq!(store.source(first).await.unwrap(), None);
    for state in [Vec::new(), vec![0], vec![255; 60_000]] {
        let (id, version) = (id(), Version(fresh::NOON));
        let stored = Source { id, version, shard: store::SHARDS - 1, due: None, state };
        fresh::put(&*store, &stored).await;
        fresh::put(&*store, &stored).await;
        assert_eq!(store.source(id).await.unwrap(), Some(stored));
    }
    assert_eq!(store.source(second).await.unwrap(), None);
}

pub(crate) async fn a_source_is_replaced_by_compare_and_set(store: Engine) {
    let id = id();
    let replace = async |before: Option<i64>, version| {
        store.replace_source(before.map(Version), &source(id, 0, version, None)).await.unwrap()
    };
    assert!(!replace(Some(1), 2).await, "nothing is stored");
    assert!(replace(None, 1).await);
    assert!(!replace(None, 2).await, "a version is stored");
    assert!(replace(Some(1), 3).await);
    assert!(!replace(Some(1), 4).await, "the version was replaced");
    assert!(!replace(Some(2), 4).await, "the version never existed");
    assert_eq!(store.source(id).await.unwrap(), Some(source(id, 0, 3, None)));
}

pub(crate) async fn a_source_is_returned_when_due(store: Engine) {
    let now = current_time();
    let (early, late, never) = (id(), id(), id());
    fresh::put(&*store, &source(late, EXAMPLES, 1, Some(now + 4 * MINUTE))).await;
    fresh::put(&*store, &source(early, EXAMPLES, 1, Some(now + MINUTE))).await;
    fresh::put(&*store, &source(never, EXAMPLES, 1, None)).await;
    let given = async |time: i64| {
        let given = store.due_sources(EXAMPLES, Millis(time), 10_000).await.unwrap();
        given.into_iter().filter(|id| [early, late, never].contains(id)).collect::<Vec<_>>()
    };
    assert_eq!(given(now + MINUTE - 1).await, []);
    for _ in 0..2 {
        assert_eq!(given(now + MINUTE).await, [early], "returned until its due time changes");
    }
    assert_eq!(given(now + 5 * MINUTE).await, [early, late], "the longest overdue first");
    fresh::put(&*store, &source(early, EXAMPLES, 2, Some(now + 7 * MINUTE))).await;
    fresh::put(&*store, &source(early, EXAMPLES, 1, Some(now))).await;
    assert_eq!(given(now + 5 * MINUTE).await, [late]);
    assert_eq!(given(now + 7 * MINUTE).await, [late, early]);
    fresh::put(&*store, &source(late, EXAMPLES, 2, None)).await;
    // Back to an earlier due time.
    fresh::put(&*store, &source(early, EXAMPLES, 3, Some(now + MINUTE))).await;
    assert_eq!(given(now + 9 * MINUTE).await, [early]);
    fresh::put(&*store, &source(early, EXAMPLES, 4, None)).await;
    assert_eq!(given(now + AHEAD).await, []);
    assert_eq!(store.due_sources(EXAMPLES, Millis(now + AHEAD), 0).await.unwrap(), []);
}

pub(crate) async fn due_sources_are_limited_and_ordered(store: Engine) {
    let now = current_time();
    // Many in one minute, and some before and after it.
    let times = [3, 3, 3, 3, 3, 3, 3, 3, 1, 5, 2, 4];
    let mut expected = Vec::new();
    for (number, minutes) in (0..).zip(times) {
        let (id, due) = (id(), now + minutes * MINUTE + number * 10);
        fresh::put(&*store, &source(id, PAGED, 1, Some(due))).await;
        expected.push((due, id));
    }
    expected.sort();
    let found = due(&*store, PAGED, now + 6 * MINUTE, 3).await;
    let ours = found.into_iter().filter(|id| expected.iter().any(|(_, ours)| ours == id));
    assert!(ours.eq(expected.iter().map(|(_, id)| *id)), "the longest overdue first, each once");
}

/// A step of a test.
#[derive(Clone, Debug)]
enum Step {
    /// Puts a version of one of a few sources into a shard, due this many minutes after the start.
    Put { index: usize, shard: usize, version: i64, due: Option<i64> },
    /// Polls a shard this many minutes after the start.
    Poll { shard: usize, minutes: i64 },
}

fn any_step() -> impl Strategy<Value = Step> {
    let due = prop::option::weighted(0.8, -5..12_i64);
    prop_oneof![
        3 => (0..5_usize, 0..2_usize, 1..7_i64, due)
            .prop_map(|(index, shard, version, due)| Step::Put { index, shard, version, due }),
        1 => (0..2_usize, 0..12_i64).prop_map(|(shard, minutes)| Step::Poll { shard, minutes }),
    ]
}

pub(crate) async fn sources_match_the_reference_model(store: Engine) {
    check(64, &prop::collection::vec(any_step(), 1..25), async |steps| {
        let now = current_time();
        let ids: Vec<SourceId> = (0..5).map(|_| id()).collect();
        let mut model: BTreeMap<SourceId, Source> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Put { index, shard, version, due } => {
                    let due = due.map(|minutes| now + minutes * MINUTE);
                    let put = source(ids[index], RANDOM[shard], version, due);
                    fresh::put(&*store, &put).await;
                    if model.get(&put.id).is_none_or(|before| before.version < put.version) {
                        model.insert(put.id, put);
                    }
                }
                Step::Poll { shard, minutes } => {
                    let time = Millis(now + minutes * MINUTE);
                    let given = store.due_sources(RANDOM[shard], time, 3).await.unwrap();
                    assert!(given.len() <= 3);
                }
            }
        }
        for id in &ids {
            assert_eq!(store.source(*id).await.unwrap().as_ref(), model.get(id));
        }
        for shard in RANDOM {
            // A source whose due time was past when it was stored is found in a minute that was not scanned yet.
            store.due_sources(shard, Millis(now + AHEAD - MINUTE), 3).await.unwrap();
            let found = due(&*store, shard, now + AHEAD, 3).await;
            let ours: BTreeSet<SourceId> = found.iter().copied().filter(|id| ids.contains(id)).collect();
            let expected = model.values().filter(|source| source.shard == shard && source.due.is_some());
            assert_eq!(ours, expected.map(|source| source.id).collect(), "in shard {shard}");
        }
    });
}

pub(crate) async fn of_concurrent_callers_one_acquires_a_lease(store: Engine) {
    let name = format!("test {}", fresh::number());
    let calls: Vec<_> = (0..50)
        .map(|number| {
            let (store, name, holder) = (store.clone(), name.clone(), format!("holder {number}"));
            tokio::spawn(async move {
                let acquired = store.lease(&name, &holder, Millis(100), Millis(200)).await.unwrap();
                acquired.then_some(holder)
            })
        })
        .collect();
    let mut holders = Vec::new();
    for call in calls {
        holders.extend(call.await.unwrap());
    }
    assert_eq!(holders.len(), 1);
    assert!(store.lease(&name, &holders[0], Millis(100), Millis(200)).await.unwrap(), "repeating it is safe");
}

pub(crate) async fn a_lease_expires_or_is_released(store: Engine) {
    let name = format!("test {}", fresh::number());
    let lease = async |holder: &str, now, until| {
        store.lease(&name, holder, Millis(now), Millis(until)).await.unwrap()
    };
    assert!(lease("ada", 100, 200).await);
    assert!(!lease("bob", 199, 300).await);
    assert!(lease("ada", 150, 250).await, "renewed");
    assert!(lease("ada", 160, 170).await, "a renewal does not shorten it");
    assert!(!lease("bob", 249, 300).await);
    assert!(lease("bob", 250, 300).await, "it has expired");
    assert!(!lease("ada", 260, 400).await);
    store.release(&name, "ada").await.unwrap();
    assert!(!lease("ada", 270, 400).await, "only the holder can release it");
    store.release(&name, "bob").await.unwrap();
    store.release(&name, "bob").await.unwrap();
    assert!(lease("ada", 270, 400).await);
    let other = format!("test {}", fresh::number());
    assert!(store.lease(&other, "bob", Millis(270), Millis(400)).await.unwrap(), "leases are independent");
    store.release(&format!("test {}", fresh::number()), "bob").await.unwrap();
}

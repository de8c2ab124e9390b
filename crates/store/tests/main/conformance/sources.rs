//! Sources, when they come due, and leases.

use super::naive::hold;
use super::{Engine, fresh};
use model::{Millis, SourceId, Version};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;
use store::{Source, Store};

const MINUTE: i64 = 60_000;

/// Every test has shards of its own, because an engine may be shared by those that run at the same time.
const EXAMPLES: u16 = 1;
const PAGED: u16 = 2;
const RANDOM: [u16; 2] = [3, 4];

/// About now. What is long past an engine may have looked through for the last time; so no test looks ahead by more than
/// [`AHEAD`], and the next one begins where it began or later.
fn present() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

const AHEAD: i64 = 14 * MINUTE;

pub(crate) fn id() -> SourceId {
    let number = fresh::number().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    SourceId((u128::from(number) << 64 | 7).to_be_bytes())
}

/// What is told of it follows from the version.
fn source(id: SourceId, shard: u16, version: i64, due: Option<i64>) -> Source {
    let state = version.to_be_bytes().to_vec();
    Source { id, version: Version(version), shard, due: due.map(Millis), state }
}

/// What is due in a shard, each seen to and put off for good, so that every one is given until all were.
async fn due(store: &dyn Store, shard: u16, now: i64, limit: usize) -> Vec<SourceId> {
    let mut seen = Vec::new();
    for _ in 0..10_000 {
        let given = store.due_sources(shard, Millis(now), limit).await.unwrap();
        assert!(given.len() <= limit);
        if given.is_empty() {
            return seen;
        }
        for id in given {
            let found = store.source(id).await.unwrap().expect("it was given");
            if found.shard == shard && found.due.is_some_and(|due| due.0 <= now) {
                seen.push(id);
                let done = Source { version: Version(found.version.0 + 1), due: None, ..found };
                fresh::put(store, &done).await;
            }
        }
    }
    panic!("there is no end to them");
}

pub(crate) async fn all_sources_are_listed(store: Engine) {
    let mut made: Vec<Source> = (1..=7).map(|version| source(id(), EXAMPLES, version, None)).collect();
    for one in &made {
        fresh::put(&*store, one).await;
    }
    // An engine may be shared by tests that run at the same time.
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store.list_sources(after, 3).await.unwrap();
        assert!(page.len() <= 3);
        after = page.last().map(|last| last.id);
        let is_last = page.len() < 3;
        found.extend(page.into_iter().filter(|one| made.iter().any(|made| made.id == one.id)));
        if is_last {
            break;
        }
    }
    found.sort_by_key(|one| one.id.0);
    made.sort_by_key(|one| one.id.0);
    assert_eq!(found, made, "each once");
}

pub(crate) async fn a_source_is_kept(store: Engine) {
    let (one, other) = (id(), id());
    assert_eq!(store.source(one).await.unwrap(), None);
    for state in [Vec::new(), vec![0], vec![255; 60_000]] {
        let (id, version) = (id(), Version(fresh::NOON));
        let kept = Source { id, version, shard: store::SHARDS - 1, due: None, state };
        fresh::put(&*store, &kept).await;
        fresh::put(&*store, &kept).await;
        assert_eq!(store.source(id).await.unwrap(), Some(kept));
    }
    assert_eq!(store.source(other).await.unwrap(), None);
}

pub(crate) async fn a_source_replaces_the_version_that_it_was_made_of(store: Engine) {
    let id = id();
    let replace = async |before: Option<i64>, version| {
        store.replace_source(before.map(Version), &source(id, 0, version, None)).await.unwrap()
    };
    assert!(!replace(Some(1), 2).await, "there is none yet");
    assert!(replace(None, 1).await);
    assert!(!replace(None, 2).await, "there is one already");
    assert!(replace(Some(1), 3).await);
    assert!(!replace(Some(1), 4).await, "it was replaced");
    assert!(!replace(Some(2), 4).await, "it never was");
    assert_eq!(store.source(id).await.unwrap(), Some(source(id, 0, 3, None)));
}

pub(crate) async fn a_source_is_given_when_its_time_has_come(store: Engine) {
    let now = present();
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
        assert_eq!(given(now + MINUTE).await, [early], "until its time is moved");
    }
    assert_eq!(given(now + 5 * MINUTE).await, [early, late], "the longest waiting first");
    fresh::put(&*store, &source(early, EXAMPLES, 2, Some(now + 7 * MINUTE))).await;
    fresh::put(&*store, &source(early, EXAMPLES, 1, Some(now))).await;
    assert_eq!(given(now + 5 * MINUTE).await, [late]);
    assert_eq!(given(now + 7 * MINUTE).await, [late, early]);
    fresh::put(&*store, &source(late, EXAMPLES, 2, None)).await;
    // Back to a time that it had before.
    fresh::put(&*store, &source(early, EXAMPLES, 3, Some(now + MINUTE))).await;
    assert_eq!(given(now + 9 * MINUTE).await, [early]);
    fresh::put(&*store, &source(early, EXAMPLES, 4, None)).await;
    assert_eq!(given(now + AHEAD).await, []);
    assert_eq!(store.due_sources(EXAMPLES, Millis(now + AHEAD), 0).await.unwrap(), []);
}

pub(crate) async fn what_is_due_comes_in_portions(store: Engine) {
    let now = present();
    // Many in one minute, and some around it.
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
    assert!(ours.eq(expected.iter().map(|(_, id)| *id)), "the longest waiting first, each once");
}

/// What a test does with sources.
#[derive(Clone, Debug)]
enum Step {
    /// One of a few: in which shard, which version, due so many minutes from the beginning.
    WireWriter { which: usize, shard: usize, version: i64, due: Option<i64> },
    /// Somebody asks that many minutes from the beginning.
    Ask { shard: usize, minutes: i64 },
}

fn any_step() -> impl Strategy<Value = Step> {
    let due = prop::option::weighted(0.8, -5..12_i64);
    prop_oneof![
        3 => (0..5_usize, 0..2_usize, 1..7_i64, due)
            .prop_map(|(which, shard, version, due)| Step::WireWriter { which, shard, version, due }),
        1 => (0..2_usize, 0..12_i64).prop_map(|(shard, minutes)| Step::Ask { shard, minutes }),
    ]
}

pub(crate) async fn sources_are_what_a_naive_model_gives(store: Engine) {
    hold(64, &prop::collection::vec(any_step(), 1..25), async |steps| {
        let now = present();
        let ids: Vec<SourceId> = (0..5).map(|_| id()).collect();
        let mut model: BTreeMap<SourceId, Source> = BTreeMap::new();
        for step in steps {
            match step {
                Step::WireWriter { which, shard, version, due } => {
                    let due = due.map(|minutes| now + minutes * MINUTE);
                    let put = source(ids[which], RANDOM[shard], version, due);
                    fresh::put(&*store, &put).await;
                    if model.get(&put.id).is_none_or(|before| before.version < put.version) {
                        model.insert(put.id, put);
                    }
                }
                Step::Ask { shard, minutes } => {
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
            // What was past already when it was put is found in a minute in which nobody has asked yet.
            store.due_sources(shard, Millis(now + AHEAD - MINUTE), 3).await.unwrap();
            let found = due(&*store, shard, now + AHEAD, 3).await;
            let ours: BTreeSet<SourceId> = found.iter().copied().filter(|id| ids.contains(id)).collect();
            let expected = model.values().filter(|source| source.shard == shard && source.due.is_some());
            assert_eq!(ours, expected.map(|source| source.id).collect(), "in shard {shard}");
        }
    });
}

pub(crate) async fn of_many_takers_of_a_lease_one_has_it(store: Engine) {
    let name = format!("test {}", fresh::number());
    let calls: Vec<_> = (0..50)
        .map(|number| {
            let (store, name, holder) = (store.clone(), name.clone(), format!("holder {number}"));
            tokio::spawn(async move {
                let taken = store.lease(&name, &holder, Millis(100), Millis(200)).await.unwrap();
                taken.then_some(holder)
            })
        })
        .collect();
    let mut holders = Vec::new();
    for call in calls {
        holders.extend(call.await.unwrap());
    }
    assert_eq!(holders.len(), 1);
    assert!(store.lease(&name, &holders[0], Millis(100), Millis(200)).await.unwrap(), "to repeat it is safe");
}

pub(crate) async fn a_lease_ends(store: Engine) {
    let name = format!("test {}", fresh::number());
    let lease = async |holder: &str, now, until| {
        store.lease(&name, holder, Millis(now), Millis(until)).await.unwrap()
    };
    assert!(lease("ada", 100, 200).await);
    assert!(!lease("bob", 199, 300).await);
    assert!(lease("ada", 150, 250).await, "prolonged");
    assert!(lease("ada", 160, 170).await, "it does not become shorter");
    assert!(!lease("bob", 249, 300).await);
    assert!(lease("bob", 250, 300).await, "it has ended");
    assert!(!lease("ada", 260, 400).await);
    store.release(&name, "ada").await.unwrap();
    assert!(!lease("ada", 270, 400).await, "nobody gives back what is another's");
    store.release(&name, "bob").await.unwrap();
    store.release(&name, "bob").await.unwrap();
    assert!(lease("ada", 270, 400).await);
    let other = format!("test {}", fresh::number());
    assert!(store.lease(&other, "bob", Millis(270), Millis(400)).await.unwrap(), "each by itself");
    store.release(&format!("test {}", fresh::number()), "bob").await.unwrap();
}

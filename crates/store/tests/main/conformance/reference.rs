//! The reference model: collections as sorted lists, with which engines are compared. Also random test cases.

use super::fresh;
use model::{
    ActivityId, ArrivalOffset, Entry, EntryReason, EntryReasons, Facet, Filter, Millis, Order, Position,
    Range, SortKey, Uid, Version, Visibility,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{Slice, Store};

/// A delivery of an activity. Whether it is retracted follows from version and position, its visibility from the
/// version, because equal versions mean equal content.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    pub(super) at: Position,
    pub(super) entry: Entry,
}

/// The rows of a collection: the latest per activity and reason.
#[derive(Default)]
pub(super) struct Collection(BTreeMap<(ActivityId, EntryReason), Entry>);

impl Collection {
    pub(super) fn of(deliveries: &[Delivery]) -> Collection {
        let mut rows = BTreeMap::new();
        for Delivery { at, entry } in deliveries {
            for reason in entry.reasons.iter() {
                let row = Entry { reasons: fresh::reasons(&[reason]), arrived: Some(*at), ..entry.clone() };
                let latest = rows.entry((entry.id, reason)).or_insert_with(|| row.clone());
                if rank(&row) > rank(latest) {
                    *latest = row;
                }
            }
        }
        Collection(rows)
    }

    /// All entries with these reasons, newest first.
    pub(super) fn entries(&self, reasons: EntryReasons, order: Order) -> Vec<Entry> {
        let mut by_activity: BTreeMap<ActivityId, Vec<&Entry>> = BTreeMap::new();
        for ((id, _), row) in self.0.iter().filter(|((_, reason), _)| reasons.contains(*reason)) {
            by_activity.entry(*id).or_default().push(row);
        }
        let mut entries: Vec<Entry> = by_activity.values().map(|rows| merge(rows)).collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.sort_key(order)));
        entries
    }

    /// All entries by position and identifier.
    pub(super) fn arrivals(&self) -> Vec<Entry> {
        let mut by_position: BTreeMap<_, Vec<&Entry>> = BTreeMap::new();
        for row in self.0.values() {
            by_position.entry((row.arrived, row.id)).or_default().push(row);
        }
        by_position.values().map(|rows| merge(rows)).collect()
    }
}

/// Of two writes of a row the one with the larger rank wins.
fn rank(row: &Entry) -> (Version, Option<Position>, Option<std::cmp::Reverse<Visibility>>) {
    (row.version, row.arrived, row.prior.map(std::cmp::Reverse))
}

fn merge(rows: &[&Entry]) -> Entry {
    let retracted = rows.iter().all(|row| row.retracted);
    let reasons = rows
        .iter()
        .filter(|row| row.retracted == retracted)
        .fold(EntryReasons::default(), |all, row| all.union(row.reasons));
    let latest = rows.iter().max_by_key(|row| (row.version, row.arrived)).unwrap();
    let visibility =
        rows.iter().filter(|row| row.retracted == retracted).map(|row| row.visibility).min().unwrap();
    let prior = rows.iter().fold(None, |widest, row| Visibility::wider(widest, row.prior));
    Entry { reasons, retracted, visibility, prior, ..(*latest).clone() }
}

/// Reads a slice page by page, and checks that only the last page is short.
pub(super) async fn read_all(store: &dyn Store, slice: Slice<'_>) -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    let mut after = slice.after;
    loop {
        let page = store.slice(&Slice { after, ..slice.clone() }).await.unwrap();
        assert!(page.len() <= slice.limit);
        let full = page.len() == slice.limit;
        after = page.last().map(|last| last.sort_key(slice.order)).or(after);
        all.extend(page);
        if !full {
            return all;
        }
    }
}

/// Reads arrivals page by page.
pub(super) async fn read_arrivals(
    store: &dyn Store,
    owner: Uid,
    mut after: ArrivalOffset,
    floor: Position,
    limit: usize,
) -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    loop {
        let page = super::fresh::arrivals(store, owner, after, floor, limit).await;
        assert!(page.len() <= limit);
        let full = page.len() == limit;
        if let Some(last) = page.last() {
            after = ArrivalOffset { position: last.arrived.unwrap(), inside: Some(last.id) };
        }
        all.extend(page);
        if !full {
            return all;
        }
    }
}

pub(super) fn any_reasons() -> impl Strategy<Value = EntryReasons> {
    proptest::sample::subsequence(EntryReason::ALL.to_vec(), 1..=3)
        .prop_map(|reasons| reasons.into_iter().collect())
}

fn any_facet() -> impl Strategy<Value = Arc<Facet>> {
    let word = |words: &'static [&'static str]| proptest::sample::select(words);
    (word(&["flickr", "del.icio.us", "škoda"]), word(&["photo", "song"]), word(&["post", "play"]))
        .prop_map(|(service, kind, verb)| fresh::facet(service, kind, verb))
}

/// Deliveries of a dozen activities with few different times and positions, so that there are ties of every kind.
pub(super) fn any_deliveries() -> impl Strategy<Value = Vec<Delivery>> {
    let activity = (0..6_i64, 0..6_i64, any_facet(), any::<[u8; 10]>());
    let delivery = (any::<prop::sample::Index>(), any_reasons(), 1..4_i64, 1..7_u64);
    (prop::collection::vec(activity, 1..14), prop::collection::vec(delivery, 0..60)).prop_map(
        |(activities, deliveries)| {
            let make = |(index, reasons, version, at): &(prop::sample::Index, EntryReasons, i64, u64)| {
                let index = index.index(activities.len());
                let (received, published, facet, mut random) = activities[index].clone();
                // Small cases often repeat the same random bytes.
                random[7] = u8::try_from(index).unwrap();
                let received = Millis(fresh::NOON + received);
                let visibility = [Visibility::Public, Visibility::Followers, Visibility::Direct];
                let content = i64::from(random[9]) + version;
                let entry = Entry {
                    id: ActivityId::new(received, random),
                    reasons: *reasons,
                    facet,
                    received,
                    published: Millis(fresh::NOON + published),
                    actor: Uid(i64::from(random[8])),
                    version: Version(*version),
                    visibility: visibility[usize::try_from(content % 3).unwrap()],
                    retracted: (content.unsigned_abs() + at).is_multiple_of(3),
                    prior: visibility
                        .get(usize::try_from((content + at.cast_signed()) % 5).unwrap())
                        .copied(),
                    arrived: None,
                    pulled: false,
                };
                Delivery { at: Position(*at), entry }
            };
            deliveries.iter().map(make).collect()
        },
    )
}

fn any_range() -> impl Strategy<Value = Range> {
    let bound = || proptest::option::weighted(0.3, (-1..8_i64).prop_map(|time| Millis(fresh::NOON + time)));
    (bound(), bound()).prop_map(|(since, before)| Range { since, before })
}

pub(super) fn any_filter() -> impl Strategy<Value = Filter> {
    let words = |words: &'static [&'static str]| {
        proptest::sample::subsequence(words, 0..=words.len()).prop_map(|words| fresh::words(&words))
    };
    let services = words(&["flickr", "škoda", "never"]);
    (services, words(&["photo", "hat"]), words(&["post", "play"]), any_range(), any_range()).prop_map(
        |(services, kinds, verbs, received, published)| Filter {
            services,
            kinds,
            verbs,
            received,
            published,
        },
    )
}

pub(super) fn any_order() -> impl Strategy<Value = Order> {
    proptest::sample::select(vec![Order::Received, Order::Published])
}

/// A sort key like those of the deliveries, or close to one.
pub(super) fn any_sort_key() -> impl Strategy<Value = SortKey> {
    (0..7_i64, any::<[u8; 10]>()).prop_map(|(time, random)| {
        let time = Millis(fresh::NOON + time);
        SortKey { time, id: ActivityId::new(time, random) }
    })
}

/// Checks a property with random cases, and reports the smallest one that violates it.
pub(super) fn check<S: Strategy>(cases: u32, strategy: &S, property: impl AsyncFn(S::Value)) {
    let runtime = tokio::runtime::Handle::current();
    // A cluster with three disks runs fewer cases.
    let fewer = std::env::var("TOFROM_TEST_FEWER_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let cases = (cases / fewer).max(1);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2_000, ..Config::default() };
    tokio::task::block_in_place(|| {
        let result = TestRunner::new(config).run(strategy, |case| {
            runtime.block_on(property(case));
            Ok(())
        });
        if let Err(TestError::Fail(error, case)) = &result {
            panic!("{error}\nfor {case:#?}");
        }
        result.unwrap();
    });
}

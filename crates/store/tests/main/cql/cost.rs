//! The cost of collections of any size: partitions stay bounded, and a page costs no more than in a small collection.
//!
//! `TOFROM_TEST_ENTRIES` sets the number of entries of an account, and `--nocapture` shows the figures:
//!
//! ```sh
//! TOFROM_TEST_ENTRIES=1000000 cargo test --release -p tofrom-store --test main cql::cost -- --nocapture
//! ```

#![allow(clippy::print_stdout, reason = "prints measurements")]

use super::super::conformance::fresh;
use super::{KEYSPACE, open, session, shared};
use futures::{StreamExt, stream};
use model::{
    ActivityId, ArrivalOffset, Entry, EntryReason, EntryReasons, Filter, Millis, Order, Position, Uid,
    Version,
};
use scylla::client::session::Session;
use scylla::deserialize::row::DeserializeRow;
use std::cmp::Reverse;
use std::time::Duration;
use store::cql::CqlStore;
use store::{Feeds, Slice, StoreError};

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;
const YEARS: u64 = 5 * 364 * DAY;

/// The size of a small collection, for comparison, and the default size of a large one: enough to divide buckets, and
/// no more, because every entry is three to five rows on three disks. A run per change has a sixth of it.
const FEW: u64 = 1_000;
const MANY: u64 = 36_000;
/// One entry in this many is a song.
const RARE: u64 = 1_000;
/// Concurrent deliveries.
const CONCURRENCY: usize = 128;
/// Attempts per delivery: on a shared machine the nodes may make no progress for a minute.
const ATTEMPTS: u32 = 100;

/// The maximum number of rows of a partition.
const MAX_PARTITION: i64 = 50_000;
/// Items of a page, plus the one that shows whether there is another page.
const PAGE: usize = 21;
/// Additional statements for a page of a large collection: divided buckets are merged with the wider ones, four for
/// each of three reasons.
const EXTRA_STATEMENTS: u64 = 12;
/// Rows per item of a page with a rare filter, and per reason that is read by facet.
const ROWS_PER_ITEM: u64 = 4;
const BLOCK: u64 = 100;

/// Pseudo-random numbers.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % sides
    }
}

/// An account with entries.
struct Filled {
    store: CqlStore,
    owner: Uid,
    entries: Vec<Entry>,
}

/// The cost of a call.
#[derive(Clone, Copy)]
struct Cost {
    statements: u64,
    rows: u64,
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} statements, {} rows", self.statements, self.rows)
    }
}

impl Filled {
    /// Delivers `number` entries, received in order over `over` milliseconds, each published within a day before. One
    /// in twenty is addressed, one in twenty authored, the others followed.
    async fn new(number: u64, over: u64) -> Filled {
        let store = std::sync::Arc::into_inner(open().await).unwrap();
        let owner = fresh::uid(&store).await;
        let mut dice = Dice(fresh::number());
        let made = (0..number).map(|index| {
            let received = fresh::NOON + (index * over / number) as i64;
            let entry = entry(&mut dice, received, index.is_multiple_of(RARE));
            Entry { arrived: Some(Position(index + 1)), ..entry }
        });
        let entries: Vec<Entry> = made.collect();
        let each = entries.iter().map(|entry| deliver(&store, owner, entry));
        stream::iter(each).buffer_unordered(CONCURRENCY).collect::<()>().await;
        Filled { store, owner, entries }
    }

    async fn measured<T>(&self, doing: impl Future<Output = store::Result<T>>) -> (T, Cost) {
        let before = self.store.counted();
        let done = doing.await.unwrap();
        let after = self.store.counted();
        (done, Cost { statements: after.0 - before.0, rows: after.1 - before.1 })
    }

    /// Reads a page, checks it, and returns its cost.
    async fn page(&self, filter: &Filter, reasons: EntryReasons, order: Order, from: usize) -> Cost {
        self.slice(filter, reasons, order, from, PAGE).await
    }

    async fn slice(
        &self,
        filter: &Filter,
        reasons: EntryReasons,
        order: Order,
        from: usize,
        limit: usize,
    ) -> Cost {
        let is_expected = |entry: &&Entry| {
            filter.matches(entry) && entry.reasons.iter().all(|reason| reasons.contains(reason))
        };
        let mut expected: Vec<&Entry> = self.entries.iter().filter(is_expected).collect();
        expected.sort_by_key(|entry| Reverse(entry.sort_key(order)));
        let after = from.checked_sub(1).map(|last| expected[last].sort_key(order));
        let slice = Slice { owner: self.owner, reasons, order, filter, after, limit };
        let (page, cost) = self.measured(self.store.slice(&slice)).await;
        assert!(page.iter().eq(expected.into_iter().skip(from).take(limit)), "unexpected page");
        cost
    }
}

/// Delivers an entry, and retries after a timeout, as a worker does.
async fn deliver(store: &CqlStore, owner: Uid, entry: &Entry) {
    for attempt in 1.. {
        match store.deliver(entry.arrived.unwrap(), vec![(owner, entry.clone())]).await {
            Err(StoreError::Unknown(_) | StoreError::Unavailable(_)) if attempt < ATTEMPTS => {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            done => return done.unwrap(),
        }
    }
}

fn entry(dice: &mut Dice, received: i64, rare: bool) -> Entry {
    let mut random = [0; 10];
    random[..4].copy_from_slice(&(dice.roll(1 << 31) as u32).to_be_bytes());
    random[4..8].copy_from_slice(&(dice.roll(1 << 31) as u32).to_be_bytes());
    let reason = match dice.roll(20) {
        0 => EntryReason::Addressed,
        1 => EntryReason::Authored,
        _ => EntryReason::Followed,
    };
    Entry {
        id: ActivityId::new(Millis(received), random),
        version: Version(received),
        facet: if rare { fresh::facet("last.fm", "song", "play") } else { fresh::photo() },
        ..fresh::entry(received, received - dice.roll(DAY) as i64, &[reason])
    }
}

fn number_of_entries() -> u64 {
    std::env::var("TOFROM_TEST_ENTRIES")
        .map_or(MANY, |text| text.parse().expect("TOFROM_TEST_ENTRIES must be a number"))
}

/// Direct access to the tables, to count rows.
struct Tables(Session);

impl Tables {
    async fn rows<T>(&self, select: &str, table: &str, partition: &str) -> Vec<T>
    where
        T: for<'a> DeserializeRow<'a, 'a>,
    {
        let text = format!("SELECT {select} FROM {}.{table} WHERE {partition}", *KEYSPACE);
        let rows = self.0.query_unpaged(text, &[]).await.unwrap().into_rows_result().unwrap();
        rows.rows().unwrap().map(Result::unwrap).collect()
    }

    async fn count(&self, table: &str, partition: &str) -> i64 {
        self.rows::<(i64,)>("COUNT(*)", table, partition).await[0].0
    }

    /// The size of each of the account's partitions in an order, with its reason.
    async fn partitions(&self, owner: Uid, order: Order) -> Vec<(i8, i64)> {
        let (number, by) = if order == Order::Received { (0, "received") } else { (1, "published") };
        let listed = format!("uid = {} AND ord = {number}", owner.0);
        let mut sizes = Vec::new();
        for (reason, bucket) in self.rows::<(i8, i64)>("reason, bucket", "directory", &listed).await {
            let table = format!("{}_{by}", if reason == 2 { "followed" } else { "own" });
            let partition = format!("uid = {} AND reason = {reason} AND bucket = {bucket}", owner.0);
            sizes.push((reason, self.count(&table, &partition).await));
        }
        sizes
    }

    /// The size of each of the account's partitions of arrivals.
    async fn partitions_of_arrivals(&self, owner: Uid) -> Vec<i64> {
        let listed = format!("uid = {} AND era = 0", owner.0);
        let mut sizes = Vec::new();
        for (segment,) in self.rows::<(i64,)>("segment", "segment", &listed).await {
            let partition = format!("uid = {} AND segment = {segment}", owner.0);
            sizes.push(self.count("arrival", &partition).await);
        }
        sizes
    }
}

/// Fills an account over that time, and checks that the cost of reading it is bounded.
async fn stays_bounded(over: u64) {
    if shared().await.is_none() {
        return;
    }
    let number = number_of_entries();
    let few = Filled::new(FEW, over).await;
    let started = std::time::Instant::now();
    let many = Filled::new(number, over).await;
    println!("{number} entries over {} h, filled in {:?}", over / HOUR, started.elapsed());
    let tables = Tables(session().await);
    let everything = Filter::default();
    let songs = Filter { services: fresh::words(&["last.fm"]), ..Filter::default() };
    let own: EntryReasons = [EntryReason::Authored, EntryReason::Addressed].into_iter().collect();
    for order in [Order::Received, Order::Published] {
        let sizes = tables.partitions(many.owner, order).await;
        let largest = sizes.iter().map(|(_, rows)| *rows).max().unwrap_or(0);
        println!("  by {order:?}: {} partitions, the largest with {largest} rows", sizes.len());
        assert!(largest <= MAX_PARTITION);
        for (what, from) in [("first page", 0), ("page in the middle", 1)] {
            let at = |filled: &Filled| filled.entries.len() / 2 * from;
            let little = few.page(&everything, EntryReasons::ALL, order, at(&few)).await;
            let much = many.page(&everything, EntryReasons::ALL, order, at(&many)).await;
            println!("    {what}: {much}; of {FEW} entries {little}");
            assert!(much.statements <= little.statements + EXTRA_STATEMENTS);
            assert!(much.rows <= little.rows + sizes.len() as u64 + EXTRA_STATEMENTS * PAGE as u64);
        }
        let rare = many.page(&songs, own, order, 0).await;
        println!("    rare, own and addressed: {rare}");
        let crossed = sizes.iter().filter(|(reason, _)| *reason < 2).count() as u64;
        assert!(rare.statements <= 4 + 2 + crossed);
        assert!(rare.rows <= ROWS_PER_ITEM * PAGE as u64 + 2 * BLOCK + sizes.len() as u64);
        println!("    rare, followed too: {}", many.page(&songs, EntryReasons::ALL, order, 0).await);
        let all = many.slice(&everything, EntryReasons::ALL, order, 0, many.entries.len()).await;
        println!("    everything: {all}");
    }
    let sizes = tables.partitions_of_arrivals(many.owner).await;
    let largest = sizes.iter().copied().max().unwrap_or(0);
    println!("  of arrivals: {} partitions, the largest with {largest} rows", sizes.len());
    assert!(largest <= MAX_PARTITION && sizes.iter().sum::<i64>() == number.cast_signed());
    let last = Position(number);
    let all = many.store.arrivals(many.owner, ArrivalOffset::default(), last, many.entries.len());
    assert_eq!(all.await.unwrap().len(), many.entries.len());
    let late = ArrivalOffset::after(Position(last.0 - 50));
    let (_, cost) = many.measured(many.store.arrivals(many.owner, late, last, 50)).await;
    println!("  a poll that finds 50: {cost}");
    let nothing = many.store.arrivals(many.owner, ArrivalOffset::after(last), Position(last.0 + 5), 50);
    let (_, cost) = many.measured(nothing).await;
    assert_eq!((cost.statements, cost.rows), (1, 0), "a poll that finds nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_stay_bounded_for_entries_of_one_hour() {
    stays_bounded(HOUR).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_stay_bounded_for_entries_of_years() {
    stays_bounded(YEARS).await;
}

//! Measures the overhead of a read: the figures in the documentation of [`super`]. Run with `cargo test --release -p
//! tofrom-store measure -- --ignored --nocapture`.

use super::{Options, SqliteStore};
use crate::{Accounts, Activities, Feeds, NewAccount, Slice};
use model::{
    Account, AccountName, ActivityId, Entry, EntryReasons, Facet, Filter, Kind, Millis, Order, Position, Uid,
    Verb, Version, Visibility,
};
use std::time::{Duration, Instant};

/// CPU time of this process, which the kernel counts in hundredths of a second.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after_name: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = after_name[11].parse::<u64>().unwrap() + after_name[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

/// Runs `call` from 16 tasks and prints the microseconds of CPU and of time per call.
async fn repeat<F>(
    label: &str,
    calls: u32,
    call: impl Fn(SqliteStore) -> F + Copy + Send + 'static,
    store: &SqliteStore,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let (cpu_before, start) = (cpu(), Instant::now());
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                for _ in 0..calls / 16 {
                    call(store.clone()).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let per_call = |total: Duration| total.as_secs_f64() * 1e6 / f64::from(calls);
    println!("{label}: {:.1} µs CPU, {:.1} µs", per_call(cpu() - cpu_before), per_call(start.elapsed()));
}

async fn account(store: &SqliteStore) -> Account {
    let new = NewAccount {
        name: AccountName::parse("measured").unwrap(),
        version: Version(1),
        given_name: Some("Ada".to_owned()),
        family_name: None,
        public: true,
        operator: false,
        password: None,
        created: Millis(1),
    };
    store.create_account(new).await.unwrap().unwrap()
}

fn entry(number: i64) -> Entry {
    let time = Millis(1_790_000_000_000 + number * 1_000);
    let kind = Kind::parse(&format!("kind{}", number % 10)).unwrap();
    Entry {
        id: ActivityId::new(time, [number as u8; 10]),
        reasons: EntryReasons::default().with(if number % 7 == 0 {
            model::EntryReason::Addressed
        } else {
            model::EntryReason::Followed
        }),
        facet: Facet { service: "flickr".to_owned(), kind, verb: Verb::parse("post").unwrap() }.into(),
        received: time,
        published: time,
        actor: Uid(7),
        version: Version(time.0),
        visibility: Visibility::Public,
        retracted: false,
        prior: None,
        arrived: None,
        pulled: false,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn measure() {
    let directory = std::env::temp_dir().join(format!("tofrom-measure-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let options = Options { synchronous_off: true, ..Options::default() };
    let store = SqliteStore::open(&directory.join("store.db"), options).unwrap();
    let owner = account(&store).await.uid;
    let before = cpu();
    for batch in 0..200 {
        let entries = (batch * 100..batch * 100 + 100).map(|number| (owner, entry(number)));
        store.deliver(Position(batch as u64 + 1), entries.collect()).await.unwrap();
    }
    println!("a row delivered: {:.1} µs CPU", (cpu() - before).as_secs_f64() * 1e6 / 20_000.0);

    async fn inline(store: SqliteStore) {
        assert!(store.accounts(&[Uid(1)]).await.unwrap()[0].is_some());
    }
    async fn blocking(store: SqliteStore) {
        let found = store.pool.blocking(|connection| super::accounts::by_number(connection, Uid(1))).await;
        assert!(found.unwrap().is_some());
    }
    async fn page(store: SqliteStore, order: Order) {
        let filter = Filter::default();
        let slice = Slice {
            owner: Uid(1),
            reasons: EntryReasons::ALL,
            order,
            filter: &filter,
            after: None,
            limit: 21,
        };
        assert_eq!(store.slice(&slice).await.unwrap().len(), 21);
    }
    async fn states(store: SqliteStore) {
        let ids: Vec<_> = (0..21).map(|number| entry(number).id).collect();
        store.states(&ids).await.unwrap();
    }
    for _ in 0..2 {
        repeat("accounts, on the calling thread", 100_000, inline, &store).await;
        repeat("accounts, on a blocking thread", 100_000, blocking, &store).await;
    }
    repeat("21 of 20 runs by received", 20_000, |store| page(store, Order::Received), &store).await;
    repeat("21 of 20 runs by published", 20_000, |store| page(store, Order::Published), &store).await;
    repeat("21 missing states", 20_000, states, &store).await;
    drop(store);
    std::fs::remove_dir_all(directory).unwrap();
}

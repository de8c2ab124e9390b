//! The engines, and the data that all measurements share.

use super::secure;
use aws_lc_rs::hmac;
use domain::following::FollowError;
use domain::ingest::{Draft, json, normalise};
use futures::{StreamExt, TryStreamExt, stream};
use model::{Account, AccountName, Clock, EdgeFilter, Millis, Quotas, Version};
use std::sync::Arc;
use std::time::Duration;
use store::cql::{CqlStore, Nodes, apply_schema};
use store::jetstream::{MessageKeys, Servers};
use store::{Accounts, NewAccount};

const KEYSPACE: &str = "tofrom_cost";
/// Concurrent writes: accounts, edges, activities of different actors.
const CONCURRENCY: usize = 64;

/// The addresses of the engines.
pub(crate) struct Cluster {
    pub(crate) nodes: Nodes,
    pub(crate) servers: Servers,
}

impl Cluster {
    /// The engines that the environment names, with their tables.
    pub(crate) async fn prepared() -> Cluster {
        let nodes =
            Nodes { nodes: listed("TOFROM_TEST_CQL"), keyspace: KEYSPACE.to_owned(), ..Nodes::default() };
        let servers = Servers {
            servers: listed("TOFROM_TEST_NATS"),
            monitor: listed("TOFROM_TEST_NATS_MONITOR"),
            stream: KEYSPACE.to_owned(),
            ack_wait: Duration::from_secs(30),
            max_bytes: 256 << 20,
            keys: MessageKeys::new(vec![hmac::Key::new(hmac::HMAC_SHA256, &[7; 32])]),
            ..Servers::default()
        };
        let (nodes, servers) = (secure::nodes(nodes), secure::servers(servers));
        apply_schema(&nodes, None, &mut |_| ()).await.unwrap();
        Cluster { nodes, servers }
    }

    /// A store with empty caches.
    pub(crate) async fn open(&self) -> Arc<CqlStore> {
        Arc::new(CqlStore::open(&self.nodes, &self.servers).await.unwrap())
    }
}

fn listed(name: &str) -> Vec<String> {
    let text = std::env::var(name).expect("not set: run eval \"$(scripts/engines variables)\"");
    text.split(',').map(str::to_owned).collect()
}

/// New accounts with that name prefix and a number.
pub(crate) async fn accounts(store: &CqlStore, name: &str, many: usize) -> Vec<Account> {
    let now = Clock::system().now();
    let made = (0..many).map(|number| async move {
        let new = NewAccount {
            name: AccountName::parse(&format!("{name}-{}-{number}", now.0)).unwrap(),
            version: Version(now.0),
            given_name: Some("Ada".to_owned()),
            family_name: None,
            public: true,
            operator: false,
            password: None,
            created: now,
        };
        store.create_account(new).await.map(Option::unwrap)
    });
    all(made).await
}

/// Makes an account follow another one.
pub(crate) async fn follow(
    store: &CqlStore,
    clock: &Clock,
    follower: &Account,
    followee: &Account,
) -> store::Result<()> {
    let (filter, quotas) = (EdgeFilter::default(), Quotas::default());
    match domain::following::follow(store, clock, follower, followee, &filter, &quotas).await {
        Ok(()) => Ok(()),
        Err(FollowError::Store(error)) => Err(error),
        Err(other) => panic!("{other}"),
    }
}

/// Runs all of these concurrently; returns the results in order.
pub(crate) async fn all<T>(tasks: impl Iterator<Item = impl Future<Output = store::Result<T>>>) -> Vec<T> {
    stream::iter(tasks).buffered(CONCURRENCY).try_collect().await.unwrap()
}

/// The result, and the number of statements that the store sent for it.
pub(crate) async fn counted<T>(store: &CqlStore, tasks: impl Future<Output = T>) -> (T, u64) {
    let before = store.counted().0;
    let done = tasks.await;
    (done, store.counted().0 - before)
}

/// A bookmark for these recipients, received at that time.
pub(crate) fn draft(number: usize, received: Millis, to: &[AccountName]) -> Draft {
    let text = serde_json::json!({
        "SourceId": format!("{}-{number}", received.0),
        "SourceService": {"Name": "delicious"},
        "Title": "Ada shared a bookmark",
        "Category": "BookmarkShared",
        "Bookmark": {"Title": "A page that is worth a look", "Url": "https://example.org/"},
    });
    let draft = normalise(&json::read(text.to_string().as_bytes()).unwrap(), received).unwrap();
    Draft { to: Some(to.to_vec()), received: Some(received), ..draft }
}

/// User and system time of a process with all its threads.
pub(crate) fn cpu_seconds(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    ticks / 100.0
}

//! Cassandra with JetStream: the conformance suite, and tests of this engine. `scripts/engines up` starts both and
//! prints their addresses; without addresses the tests are skipped.
//!
//! - `TOFROM_TEST_CQL`: the nodes of the database, `host:port`, separated by commas; keyspaces have three replicas,
//!   and one if there are fewer nodes
//! - `TOFROM_TEST_NATS` and `TOFROM_TEST_NATS_MONITOR`: the servers of the log and their monitoring endpoints,
//!   likewise
//! - `TOFROM_TEST_KEYSPACE`: the keyspace and the stream, `tofrom_test` by default
//! - `TOFROM_TEST_SECURE`: a folder with logins and certificates, for a secured cluster

mod audit;
mod cost;
mod divided_buckets;
mod edge_dormancy;
mod erasure;
mod expiry;
mod forged;
mod groups;
mod leases;
mod links;
mod polling;
mod schema_version;
mod slices;
mod unfinished;

use super::conformance::{Engine, fresh};
use super::secure;
use aws_lc_rs::hmac;
use scylla::client::session::Session;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use store::StoreError;
use store::cql::{CqlStore, Nodes, apply_schema};
use store::jetstream::{MessageKeys, Servers};
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

mod conformance {
    conformance_tests!(crate::main::cql::shared_store);
}

/// The runtime of the connections: that of the first test ends with the test.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
});
static STORE: OnceCell<Arc<CqlStore>> = OnceCell::const_new();
static KEYSPACE: LazyLock<String> =
    LazyLock::new(|| std::env::var("TOFROM_TEST_KEYSPACE").unwrap_or_else(|_| "tofrom_test".to_owned()));

async fn shared_store() -> Option<(Engine, ())> {
    shared().await.map(|store| (store as Engine, ()))
}

/// One store for all tests of the process.
#[allow(clippy::print_stdout, reason = "a test that did not run says so")]
pub(super) async fn shared() -> Option<Arc<CqlStore>> {
    if listed("TOFROM_TEST_CQL").is_none() || listed("TOFROM_TEST_NATS").is_none() {
        println!("skipped: TOFROM_TEST_CQL and TOFROM_TEST_NATS are not set");
        return None;
    }
    let opened = STORE.get_or_init(async || RUNTIME.spawn(open()).await.unwrap());
    Some(Arc::clone(opened.await))
}

fn listed(name: &str) -> Option<Vec<String>> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.split(',').map(str::to_owned).collect())
}

/// A session for direct access to the database.
async fn session() -> Session {
    secure::session(&addresses_of_engines().0).build().await.unwrap()
}

/// Opens a store. On a busy machine the driver may take all nodes for dead for a moment.
async fn open() -> Arc<CqlStore> {
    let (nodes, servers) = addresses_of_engines();
    for left in (0..6).rev() {
        match apply_schema(&nodes, None, &mut |_| ()).await {
            Err(StoreError::Unavailable(_)) if left > 0 => tokio::time::sleep(Duration::from_secs(5)).await,
            applied => {
                applied.unwrap();
                break;
            }
        }
    }
    delete_earlier_stream(&servers).await;
    Arc::new(CqlStore::open(&nodes, &servers).await.unwrap())
}

/// A store in another process; the first one has prepared the tables.
pub(super) async fn open_beside_others() -> Arc<CqlStore> {
    let (nodes, servers) = addresses_of_engines();
    Arc::new(CqlStore::open(&nodes, &servers).await.unwrap())
}

/// A store with a separate log.
async fn separate_log(name: &str) -> Option<(CqlStore, Servers)> {
    shared().await?;
    let (nodes, servers) = addresses_of_engines();
    let servers = Servers { stream: format!("{}_{name}_{}", *KEYSPACE, fresh::number()), ..servers };
    Some((CqlStore::open(&nodes, &servers).await.unwrap(), servers))
}

fn addresses_of_engines() -> (Nodes, Servers) {
    let servers = Servers {
        servers: listed("TOFROM_TEST_NATS").unwrap_or_default(),
        monitor: listed("TOFROM_TEST_NATS_MONITOR").unwrap_or_default(),
        stream: KEYSPACE.clone(),
        max_bytes: 16 << 20,
        keys: MessageKeys::new(vec![hmac::Key::new(hmac::HMAC_SHA256, &[7; 32])]),
        ..Servers::default()
    };
    let nodes = listed("TOFROM_TEST_CQL").unwrap_or_default();
    let replication = if nodes.len() < 3 { 1 } else { 3 };
    let nodes = Nodes { nodes, replication, keyspace: KEYSPACE.clone(), ..Nodes::default() };
    (secure::nodes(nodes), secure::servers(servers))
}

/// Deletes the stream of earlier runs: their unacknowledged tasks would hold the floor.
async fn delete_earlier_stream(servers: &Servers) {
    static ONCE: OnceCell<()> = OnceCell::const_new();
    let forget = async || {
        let client = secure::nats(servers).await;
        let _ = async_nats::jetstream::new(client).delete_stream(&servers.stream).await;
    };
    ONCE.get_or_init(forget).await;
}

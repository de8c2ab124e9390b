//! The service on a cluster. `scripts/engines up` starts the engines and prints their addresses. Without addresses
//! the tests are skipped.
//!
//! - `TOFROM_TEST_CQL`: the database's nodes, `host:port`, separated by commas; keyspaces have three replicas, and one
//!   if there are fewer nodes
//! - `TOFROM_TEST_NATS` and `TOFROM_TEST_NATS_MONITOR`: the log's servers and their monitors, likewise
//! - `TOFROM_TEST_KEYSPACE`: the keyspace, `tofrom_test` by default; streams are named after it
//! - `TOFROM_TEST_SECURE`: a folder with logins and certificates, for a secured cluster

mod delivery;
mod demo;
mod lost_log;
mod processes;
mod same_page;
mod traces;

use super::delivery::test_bed::with_retries;
use super::support::secure;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use seal::SecretKeys;
use std::sync::LazyLock;
use store::cql::{Nodes, apply_schema};
use store::jetstream::Servers;
use tofrom::config::message_keys;
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

/// Runtime of the connections.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap());

/// The addresses of the engines.
#[derive(Clone)]
pub(crate) struct Engines {
    pub(crate) nodes: Nodes,
    pub(crate) servers: Servers,
}

impl Engines {
    /// The same engines with a separate log.
    pub(crate) fn on_stream(&self, name: &str) -> Engines {
        let stream = format!("{}_{name}", self.nodes.keyspace);
        Engines { servers: Servers { stream, ..self.servers.clone() }, ..self.clone() }
    }
}

fn listed(name: &str) -> Option<Vec<String>> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.split(',').map(str::to_owned).collect())
}

/// The secret key of all processes and stores.
fn secret_key() -> String {
    BASE64_STANDARD.encode([7; 32])
}

pub(crate) fn engines() -> Option<Engines> {
    let keyspace = std::env::var("TOFROM_TEST_KEYSPACE").unwrap_or_else(|_| "tofrom_test".to_owned());
    let servers = Servers {
        servers: listed("TOFROM_TEST_NATS")?,
        monitor: listed("TOFROM_TEST_NATS_MONITOR").unwrap_or_default(),
        stream: keyspace.clone(),
        // The servers reserve this much space for each stream.
        max_bytes: 16 << 20,
        keys: message_keys(&SecretKeys::parse([secret_key()]).unwrap()),
        ..Servers::default()
    };
    let nodes = listed("TOFROM_TEST_CQL")?;
    let replication = if nodes.len() < 3 { 1 } else { 3 };
    let nodes = Nodes { nodes, replication, keyspace, ..Nodes::default() };
    Some(Engines { nodes: secure::nodes(nodes), servers: secure::servers(servers) })
}

/// Creates the tables of a keyspace, never two concurrently: Cassandra's nodes may then disagree about the schema for
/// minutes.
pub(crate) async fn make_tables(nodes: &Nodes) {
    static ALONE: Mutex<()> = Mutex::const_new(());
    let _alone = ALONE.lock().await;
    with_retries(async || apply_schema(nodes, None, &mut |_| ()).await).await;
}

/// The engines with their tables, if the environment names any.
#[allow(clippy::print_stdout, reason = "a skipped test prints the reason")]
fn prepared() -> Option<Engines> {
    static ENGINES: LazyLock<Option<Engines>> = LazyLock::new(|| {
        let engines = engines()?;
        RUNTIME.block_on(make_tables(&engines.nodes));
        Some(engines)
    });
    if ENGINES.is_none() {
        println!("skipped: TOFROM_TEST_CQL and TOFROM_TEST_NATS are not set");
    }
    ENGINES.clone()
}

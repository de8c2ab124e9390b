//! The demo on a cluster has the same data as the demo on one machine, even if it was killed while it was filled.

use super::super::filling::{assert_same, collections, filled_at, kill_until_ready, undisturbed};
use super::super::support::demo::Demo;
use super::super::support::folder::Folder;
use super::super::support::steal_adjusted_clock::StealAdjustedClock;
use super::processes::settings;
use super::{Engines, RUNTIME, engines, make_tables};
use std::path::PathBuf;
use std::time::Duration;
use store::cql::{CqlStore, Nodes};
use store::jetstream::Servers;

/// Time limit for a demo to become ready once its tables exist.
const READY: Duration = Duration::from_secs(60);

/// A separate keyspace, because the demo's accounts have the same names everywhere.
fn own_keyspace() -> Option<Engines> {
    let Engines { nodes, servers } = engines()?;
    let keyspace = format!("{}_demo", nodes.keyspace);
    let servers = Servers { stream: keyspace.clone(), ..servers };
    Some(Engines { nodes: Nodes { keyspace, ..nodes }, servers })
}

/// The demo's secrets live as long as the cluster: an earlier run may have filled it.
fn state_folder(Engines { nodes, .. }: &Engines) -> PathBuf {
    let name = format!("tofrom-test-{}-{}", nodes.keyspace, nodes.nodes.join("-").replace([':', '.'], "-"));
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
#[allow(clippy::print_stdout, reason = "a skipped test prints the reason")]
fn a_killed_fill_ends_with_the_data_of_one_machine() {
    let Some(engines) = own_keyspace() else {
        println!("skipped: TOFROM_TEST_CQL and TOFROM_TEST_NATS are not set");
        return;
    };
    let store = RUNTIME.block_on(async {
        make_tables(&engines.nodes).await;
        CqlStore::open(&engines.nodes, &engines.servers).await.unwrap()
    });
    let folder = Folder::new();
    let file = folder.path().join("cluster.toml");
    std::fs::write(&file, settings(&engines)).unwrap();
    let state = state_folder(&engines);
    let environment = [("XDG_STATE_HOME", state.to_str().unwrap())];
    let arguments = ["--config", file.to_str().unwrap()];
    let kills = kill_until_ready(Duration::from_millis(500), &arguments, &environment);
    println!("ready after {kills} kills");

    let started = StealAdjustedClock::now();
    let found = Demo::start_by(&arguments, "".as_ref(), &environment);
    assert!(started.elapsed() < READY, "{:?}", started.elapsed());
    let one_machine = Folder::new();
    let expected = undisturbed(&one_machine, &RUNTIME.block_on(filled_at(&store, "")));
    assert_same(&collections(&found), &collections(&expected));
}

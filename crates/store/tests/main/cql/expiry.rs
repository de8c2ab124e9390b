//! Retention: entries and bodies have a TTL, claims and states stay.

use super::super::conformance::fresh;
use super::{KEYSPACE, addresses_of_engines, session, shared};
use model::{ArrivalOffset, EntryReason, EntryReasons, Order, Position, Version};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::cql::{CqlStore, apply_schema, plan_schema};
use store::{Activities, Feeds};
use uuid::Uuid;

const RETENTION: Duration = Duration::from_hours(1);
const HOUR: i64 = 60 * 60 * 1_000;

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

async fn open(retention: Duration) -> Option<CqlStore> {
    shared().await?;
    let (nodes, servers) = addresses_of_engines();
    Some(CqlStore::open(&nodes, &servers).await.unwrap().with_retention(Some(retention)))
}

/// The remaining TTL of a body, if it has one.
async fn body_ttl(id: model::ActivityId) -> Option<i32> {
    let text = format!("SELECT ttl(body), ttl(state) FROM {}.activity WHERE aid = ?", *KEYSPACE);
    let id = Uuid::from_bytes(*id.as_bytes());
    let rows = session().await.query_unpaged(text, (id,)).await.unwrap().into_rows_result().unwrap();
    let (body, state) = rows.first_row::<(Option<i32>, Option<i32>)>().unwrap();
    assert_eq!(state, None, "a state never expires");
    body
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_version_does_not_restart_the_retention() {
    let Some(store) = open(RETENTION).await else { return };
    let actor = fresh::uid(&store).await;
    let first = fresh::acceptance(actor, "1", now() - HOUR / 2);
    fresh::accept(&store, &first).await;
    let id = first.activity.state.id;
    let expected = 1_700..=1_802;
    assert!(expected.contains(&body_ttl(id).await.unwrap()));
    let second = fresh::next(&first, "second", false);
    fresh::accept(&store, &second).await;
    assert!(expected.contains(&body_ttl(id).await.unwrap()));
    assert_eq!(store.activities(&[id]).await.unwrap(), [Some(second.activity)]);
    let own = fresh::all(&store, actor, EntryReasons::ALL, Order::Published).await;
    assert_eq!(own.iter().map(|entry| entry.id).collect::<Vec<_>>(), [id]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_activity_older_than_the_retention_keeps_its_claim_and_its_state() {
    let Some(store) = open(RETENTION).await else { return };
    let (actor, reader) = (fresh::uid(&store).await, fresh::uid(&store).await);
    let first = fresh::acceptance(actor, "1", now() - 2 * HOUR);
    let position = fresh::accept(&store, &first).await;
    let state = first.activity.state.clone();
    let followed = model::Entry::of(&state, EntryReason::Followed, false);
    store.deliver(position, vec![(reader, followed)]).await.unwrap();
    for owner in [actor, reader] {
        assert!(fresh::all(&store, owner, EntryReasons::ALL, Order::Received).await.is_empty());
        let after = ArrivalOffset::after(Position(position.0 - 1));
        assert_eq!(store.arrivals(owner, after, position, 10).await.unwrap(), []);
    }
    assert_eq!(store.activities(&[state.id]).await.unwrap(), [None]);
    assert_eq!(store.states(&[state.id]).await.unwrap(), [Some(state.clone())]);
    let claim = store.claim(&first.source).await.unwrap().unwrap();
    assert_eq!((claim.id, claim.version), (state.id, state.version));
    // A later version is stored likewise.
    let second = fresh::next(&first, "second", true);
    fresh::accept(&store, &second).await;
    assert_eq!(store.activities(&[state.id]).await.unwrap(), [None]);
    assert_eq!(store.states(&[state.id]).await.unwrap(), [Some(second.activity.state)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_and_bodies_expire() {
    let Some(store) = open(Duration::from_secs(3)).await else { return };
    let actor = fresh::uid(&store).await;
    let first = fresh::acceptance(actor, "1", now());
    let position = fresh::accept(&store, &first).await;
    let id = first.activity.state.id;
    assert_eq!(store.activities(&[id]).await.unwrap(), [Some(first.activity.clone())]);
    assert_eq!(fresh::all(&store, actor, EntryReasons::ALL, Order::Received).await.len(), 1);
    tokio::time::sleep(Duration::from_secs(7)).await;
    for order in [Order::Received, Order::Published] {
        assert!(fresh::all(&store, actor, EntryReasons::ALL, order).await.is_empty());
    }
    assert_eq!(store.activities(&[id]).await.unwrap(), [None]);
    assert_eq!(store.states(&[id]).await.unwrap(), [Some(first.activity.state)]);
    let after = ArrivalOffset::after(Position(position.0 - 1));
    assert_eq!(store.arrivals(actor, after, position, 10).await.unwrap(), []);
}

/// Of one version the later position counts, although the engine prefers the cell that expires later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_expiry_does_not_decide_between_two_positions() {
    let Some(long) = open(RETENTION * 2).await else { return };
    let short = open(RETENTION).await.unwrap();
    let received = now() - HOUR / 2;
    for writes in [[(&long, 5), (&short, 9)], [(&short, 9), (&long, 5)], [(&long, 9), (&short, 5)]] {
        let owner = fresh::uid(&long).await;
        let entry = fresh::entry(received, received - 7, &[EntryReason::Addressed]);
        for (store, position) in writes {
            store.deliver(Position(position), vec![(owner, entry.clone())]).await.unwrap();
        }
        for order in [Order::Received, Order::Published] {
            let found = fresh::all(&long, owner, EntryReasons::ALL, order).await;
            assert_eq!(found.iter().map(|entry| entry.arrived).collect::<Vec<_>>(), [Some(Position(9))]);
        }
        // A later version replaces both.
        let next = model::Entry { version: Version(entry.version.0 + 1), ..entry };
        short.deliver(Position(7), vec![(owner, next)]).await.unwrap();
        let found = fresh::all(&long, owner, EntryReasons::ALL, Order::Received).await;
        assert_eq!(found.iter().map(|entry| entry.arrived).collect::<Vec<_>>(), [Some(Position(7))]);
    }
}

/// Applying the schema changes existing tables, and is planned before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_compaction_follows_the_retention() {
    if shared().await.is_none() {
        return;
    }
    let (nodes, _) = addresses_of_engines();
    let nodes = store::cql::Nodes { keyspace: format!("{}_compaction", *KEYSPACE), ..nodes };
    let alterations = async |retention| {
        let plan = plan_schema(&nodes, retention).await.unwrap();
        let alters = |statement: &String| statement.starts_with("ALTER") && !statement.contains(" ADD ");
        plan.into_iter().filter(alters).count()
    };
    apply_schema(&nodes, None, &mut |_| ()).await.unwrap();
    let month = Some(Duration::from_hours(30 * 24));
    assert_eq!((alterations(None).await, alterations(month).await), (0, 7));
    let mut run = Vec::new();
    apply_schema(&nodes, month, &mut |statement| run.push(statement.to_owned())).await.unwrap();
    assert_eq!(run.len(), 7);
    assert_eq!((alterations(month).await, alterations(None).await), (0, 6));
    let drop_keyspaces = [nodes.keyspace.clone(), format!("{}_ident", nodes.keyspace)];
    let session = session().await;
    for keyspace in drop_keyspaces {
        session.query_unpaged(format!("DROP KEYSPACE {keyspace}"), &[]).await.unwrap();
    }
}

/// Entries of the proof below.
const PROOF_ENTRIES: usize = 100_000;
const PROOF_BATCH: usize = 250;
const PROOF_RETENTION: Duration = Duration::from_mins(5);

/// Bytes of the SSTables of the entries, on all nodes of `scripts/engines`.
fn bytes_on_disk(keyspace: &str) -> u64 {
    fn size(path: &std::path::Path) -> u64 {
        let Ok(files) = std::fs::read_dir(path) else { return 0 };
        let size = |entry: std::fs::DirEntry| match entry.file_type().unwrap().is_dir() {
            true => size(&entry.path()),
            false => entry.metadata().map_or(0, |found| found.len()),
        };
        files.flatten().map(size).sum()
    }
    let engines = std::path::PathBuf::from(std::env::var("TOFROM_ENGINES_DIR").unwrap());
    let folder = |number: u8| engines.join(format!("cassandra{number}/data/data/{keyspace}"));
    let tables = (1..=3).flat_map(|number| std::fs::read_dir(folder(number)).unwrap().flatten());
    let entries = tables.filter(|table| table.file_name().to_string_lossy().starts_with("followed_"));
    entries.map(|table| size(&table.path())).sum()
}

/// Restarts the database: a starting node writes its memory to SSTables, and drops those that have expired.
pub(super) fn restart() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/engines");
    for command in ["kill", "start"] {
        let nodes = ["cassandra1", "cassandra2", "cassandra3"];
        assert!(std::process::Command::new(script).arg(command).args(nodes).status().unwrap().success());
    }
}

/// `TOFROM_ENGINES_DIR=… cargo test -p tofrom-store --test main entries_leave_the_disk -- --ignored --nocapture`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes a quarter of an hour and restarts the engines; results are in docs/scale.md"]
#[allow(clippy::print_stdout, reason = "it prints its figures")]
async fn entries_leave_the_disk() {
    use store::Copying;
    let (nodes, servers) = addresses_of_engines();
    let keyspace = format!("{}_expiry_{}", *KEYSPACE, now());
    let nodes = store::cql::Nodes { keyspace: keyspace.clone(), ..nodes };
    let servers = store::jetstream::Servers { stream: keyspace.clone(), ..servers };
    apply_schema(&nodes, Some(PROOF_RETENTION), &mut |_| ()).await.unwrap();
    let store = CqlStore::open(&nodes, &servers).await.unwrap().with_retention(Some(PROOF_RETENTION));
    let owners: Vec<model::Uid> = (1..=50).map(model::Uid).collect();
    for owner in &owners {
        for _ in 0..PROOF_ENTRIES / owners.len() / PROOF_BATCH {
            let received = now();
            let entry = |_| fresh::entry(received, received - 7, &[EntryReason::Followed]);
            let entries: Vec<_> = (0..PROOF_BATCH).map(entry).collect();
            // A busy machine may not answer in time.
            while let Err(error) = store.copy_entries(*owner, entries.clone()).await {
                println!("{error}");
            }
        }
    }
    let written = std::time::Instant::now();
    assert!(!fresh::all(&store, owners[49], EntryReasons::ALL, Order::Received).await.is_empty());
    drop(store);
    restart();
    println!("{PROOF_ENTRIES} entries: {} bytes in SSTables of three nodes", bytes_on_disk(&keyspace));
    // As long as the retention again until the grace period is over.
    let gone = (2 * PROOF_RETENTION + Duration::from_secs(10)).saturating_sub(written.elapsed());
    tokio::time::sleep(gone).await;
    restart();
    let started = std::time::Instant::now();
    while bytes_on_disk(&keyspace) > 0 && started.elapsed() < Duration::from_mins(2) {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    println!("after the retention and the grace period: {} bytes", bytes_on_disk(&keyspace));
    let session = session().await;
    for keyspace in [keyspace.clone(), format!("{keyspace}_ident")] {
        session.query_unpaged(format!("DROP KEYSPACE {keyspace}"), &[]).await.unwrap();
    }
}

//! Erased texts leave the disks of a cluster.

use super::super::conformance::fresh;
use super::expiry::restart;
use super::{KEYSPACE, addresses_of_engines, session};
use model::{Account, Version};
use std::path::{Path, PathBuf};
use store::cql::{CqlStore, apply_schema};
use store::{Accounts, Erasures};

const ACTIVITIES: i64 = 200;

/// A text of one activity.
fn text(number: i64) -> String {
    format!("erased-text-{number:05}-of-an-account-that-is-removed")
}

/// The number of texts in the SSTables of all nodes of `scripts/engines`.
fn texts_on_disk(keyspace: &str) -> usize {
    fn files(path: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => files(&entry.path(), found),
                false => found.push(entry.path()),
            }
        }
    }
    let engines = PathBuf::from(std::env::var("TOFROM_ENGINES_DIR").unwrap());
    let mut all = Vec::new();
    for (number, suffix) in (1..=3).flat_map(|number| ["", "_ident"].map(|suffix| (number, suffix))) {
        files(&engines.join(format!("cassandra{number}/data/data/{keyspace}{suffix}")), &mut all);
    }
    let bytes: Vec<u8> = all.iter().flat_map(|file| std::fs::read(file).unwrap_or_default()).collect();
    (0..ACTIVITIES)
        .filter(|number| bytes.windows(41).any(|window| text(*number).as_bytes().starts_with(window)))
        .count()
}

/// `TOFROM_ENGINES_DIR=… cargo test -p tofrom-store --test main erased_texts_leave_the_disk -- --ignored --nocapture`
///
/// The tables are not compressed, so that texts can be searched for, and have no grace period, so that a compaction
/// removes deleted texts immediately.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "restarts the engines"]
#[allow(clippy::print_stdout, reason = "it prints its figures")]
async fn erased_texts_leave_the_disk() {
    let (nodes, servers) = addresses_of_engines();
    let keyspace = format!("{}_erasure", *KEYSPACE);
    let nodes = store::cql::Nodes { keyspace: keyspace.clone(), ..nodes };
    let servers = store::jetstream::Servers { stream: keyspace.clone(), ..servers };
    apply_schema(&nodes, None, &mut |_| ()).await.unwrap();
    let session = session().await;
    for table in ["activity", "intent"].map(|table| format!("{keyspace}.{table}")) {
        let options = "compression = {'enabled': 'false'} AND gc_grace_seconds = 0 AND \
                       compaction = {'class': 'SizeTieredCompactionStrategy', 'min_threshold': '2'}";
        session.query_unpaged(format!("ALTER TABLE {table} WITH {options}"), &[]).await.unwrap();
    }
    let store = CqlStore::open(&nodes, &servers).await.unwrap();
    let account = fresh::account(&store).await;
    for number in 0..ACTIVITIES {
        let mut item = fresh::acceptance(account.uid, &number.to_string(), fresh::NOON + number);
        (item.activity.body.title, item.activity.body.source_id) = (text(number), number.to_string());
        fresh::accept(&store, &item).await;
    }
    restart();
    let before = texts_on_disk(&keyspace);
    println!("{before} of {ACTIVITIES} texts in SSTables");
    assert!(before > 0);
    let store = CqlStore::open(&nodes, &servers).await.unwrap();
    let removed = Account { removed: true, version: Version(account.version.0 + 1), ..account.clone() };
    assert!(store.replace_account(account.version, &removed).await.unwrap());
    store.erase_account(&removed).await.unwrap();
    restart();
    let started = std::time::Instant::now();
    while texts_on_disk(&keyspace) > 0 && started.elapsed() < std::time::Duration::from_mins(3) {
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    }
    let after = texts_on_disk(&keyspace);
    println!("{after} texts after erasure and compaction");
    assert_eq!(after, 0);
    for keyspace in [keyspace.clone(), format!("{keyspace}_ident")] {
        session.query_unpaged(format!("DROP KEYSPACE {keyspace}"), &[]).await.unwrap();
    }
}

//! Several handles and several processes on one file.

use super::super::conformance::fresh;
use super::super::scratch::Scratch;
use super::{open, quick};
use model::{Entry, EntryReason, EntryReasons, Order, Position, Uid};
use std::collections::BTreeSet;
use std::process::Command;
use store::sqlite::SqliteStore;
use store::{Accounts, Feeds, Log};

const FILE: &str = "TOFROM_TEST_STORE";
const ACTOR: &str = "TOFROM_TEST_ACTOR";
const TASKS_PER_PROCESS: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_store_sees_a_write_immediately() {
    let scratch = Scratch::new();
    let (one, other) = (open(&scratch), open(&scratch));
    let owner = fresh::uid(&one).await;
    for number in 0..50_u64 {
        let (writes, reads) = if number % 2 == 0 { (&one, &other) } else { (&other, &one) };
        // Each facet is new to both: the facet cache of one store must not be wrong for the other.
        let entry = Entry {
            facet: fresh::facet(&format!("service {number}"), "photo", "post"),
            ..fresh::entry(fresh::NOON, fresh::NOON, &[EntryReason::Followed])
        };
        writes.deliver(Position(number + 1), vec![(owner, entry.clone())]).await.unwrap();
        let seen = fresh::all(reads, owner, EntryReasons::ALL, Order::Received).await;
        assert_eq!(seen.len() as u64, number + 1);
        assert!(seen.iter().any(|seen| seen.id == entry.id && seen.facet == entry.facet));
        let made = fresh::account(writes).await;
        assert!(reads.account_by_name(&made.name).await.unwrap() == Some(made));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_share_the_file_and_its_log() {
    let scratch = Scratch::new();
    let store = open(&scratch);
    let actor = fresh::uid(&store).await;
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "main::sqlite::processes::in_another_process", "--ignored"])
        .env(FILE, scratch.file("store.db"))
        .env(ACTOR, actor.0.to_string())
        .spawn()
        .unwrap();
    append(&store, actor, "parent").await;
    let ended = tokio::task::spawn_blocking(move || child.wait().unwrap()).await.unwrap();
    assert!(ended.success());
    let tasks = store.pending(10 * TASKS_PER_PROCESS).await.unwrap();
    let positions: BTreeSet<Position> = tasks.iter().map(|task| task.position).collect();
    assert_eq!(positions.len(), 2 * TASKS_PER_PROCESS, "no position twice, no task lost");
    assert_eq!(store.floor().await.unwrap().0 + 1, tasks[0].position.0);
    assert_eq!(
        fresh::all(&store, actor, EntryReasons::ALL, Order::Published).await.len(),
        2 * TASKS_PER_PROCESS
    );
}

/// The other half of the test above.
#[tokio::test]
#[ignore = "started by another test"]
async fn in_another_process() {
    let path = std::env::var_os(FILE).unwrap();
    let actor = Uid(std::env::var(ACTOR).unwrap().parse().unwrap());
    let store = SqliteStore::open(path.as_ref(), quick()).unwrap();
    append(&store, actor, "child").await;
}

async fn append(store: &SqliteStore, actor: Uid, prefix: &str) {
    for number in 0..TASKS_PER_PROCESS {
        let mut item = fresh::acceptance(actor, &format!("{prefix} {number}"), fresh::NOON);
        item.activity.state.facet = fresh::facet(&format!("service {number}"), "photo", "post");
        fresh::accept(store, &item).await;
    }
}

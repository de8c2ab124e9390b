//! Failures: the error of the caller, and no effect on other callers.

use super::super::conformance::fresh;
use super::super::scratch::Scratch;
use super::{open, quick};
use rusqlite::Connection;
use std::time::Duration;
use store::sqlite::{Options, SqliteStore};
use store::{Accounts, Activities, Store, StoreError};

/// Makes inserting an account with this given name fail with SQLite's `raise({how})`.
fn trap(scratch: &Scratch, given_name: &str, how: &str) {
    let trap = format!(
        "CREATE TRIGGER trap_{how} BEFORE INSERT ON account WHEN new.given_name = '{given_name}'
         BEGIN SELECT raise({how}, 'trapped'); END"
    );
    Connection::open(scratch.file("store.db")).unwrap().execute_batch(&trap).unwrap();
}

async fn create(store: &SqliteStore, given_name: &str) -> Result<bool, StoreError> {
    let mut new = fresh::new_account(fresh::name());
    new.given_name = Some(given_name.to_owned());
    store.create_account(new).await.map(|made| made.is_some())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_write_does_not_affect_others() {
    let scratch = Scratch::new();
    let store = open(&scratch);
    trap(&scratch, "bad", "ABORT");
    let calls: Vec<_> = (0..100)
        .map(|number| {
            let store = store.clone();
            let name = if number % 3 == 0 { "bad" } else { "good" };
            (name, tokio::spawn(async move { create(&store, name).await }))
        })
        .collect();
    for (name, call) in calls {
        let made = call.await.unwrap();
        assert_eq!(matches!(made, Ok(true)), name == "good", "{name}: {made:?}");
    }
    assert_eq!(store.list_accounts(None, 1_000).await.unwrap().len(), 66);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_successful_write_is_not_rolled_back() {
    let scratch = Scratch::new();
    let store = open(&scratch);
    // This rolls back the whole transaction, with all its other writes.
    trap(&scratch, "worse", "ROLLBACK");
    let calls: Vec<_> = (0..100)
        .map(|number| {
            let store = store.clone();
            let name = if number % 10 == 0 { "worse" } else { "good" };
            tokio::spawn(async move { create(&store, name).await })
        })
        .collect();
    let mut succeeded = 0;
    for call in calls {
        match call.await.unwrap() {
            Ok(made) => succeeded += usize::from(made),
            Err(StoreError::Unavailable(_) | StoreError::Corrupt(_)) => (),
            Err(other) => panic!("the outcome is known, nothing was written: {other}"),
        }
    }
    assert_eq!(store.list_accounts(None, 1_000).await.unwrap().len(), succeeded);
    assert!(create(&store, "good").await.unwrap(), "later writes succeed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_file_is_unavailable_to_writers_only() {
    let scratch = Scratch::new();
    let options = Options { busy_timeout: Duration::from_millis(50), ..quick() };
    let store = SqliteStore::open(&scratch.file("store.db"), options).unwrap();
    let account = fresh::account(&store).await;
    let other = Connection::open(scratch.file("store.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(create(&store, "x").await, Err(StoreError::Unavailable(_))));
    assert!(store.account_by_name(&account.name).await.unwrap().is_some());
    store.ping().await.unwrap();
    other.execute_batch("ROLLBACK").unwrap();
    assert!(create(&store, "x").await.unwrap());
}

#[tokio::test]
async fn invalid_rows_are_reported_without_a_panic() {
    let scratch = Scratch::new();
    let store = open(&scratch);
    let actor = fresh::uid(&store).await;
    let item = fresh::acceptance(actor, "1", fresh::NOON);
    fresh::accept(&store, &item).await;
    let id = item.activity.state.id;
    let direct = Connection::open(scratch.file("store.db")).unwrap();
    direct.execute_batch("UPDATE body SET content = x'7b'").unwrap();
    assert!(matches!(store.activities(&[id]).await, Err(StoreError::Corrupt(_))));
    for damage in ["flags = 3", "addressed = x'00'"] {
        direct.execute_batch(&format!("UPDATE activity SET {damage}")).unwrap();
        assert!(matches!(store.states(&[id]).await, Err(StoreError::Corrupt(_))), "{damage}");
    }
    direct.execute_batch("UPDATE activity SET flags = 0, addressed = x''").unwrap();
    assert_eq!(store.states(&[id]).await.unwrap(), [Some(item.activity.state)], "the connection still works");
}

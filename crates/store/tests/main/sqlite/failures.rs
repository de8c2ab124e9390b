//! What callers are told when something fails, and that it stays with whom it concerns.

use super::super::conformance::fresh;
use super::super::scratch::Scratch;
use super::{open, quick};
use rusqlite::Connection;
use std::time::Duration;
use store::sqlite::{Options, SqliteStore};
use store::{Accounts, Activities, Store, StoreError};

/// Makes writing an account of that given name fail in SQLite's way `how`.
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
async fn a_write_that_fails_spoils_no_other() {
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
async fn who_is_told_of_success_was_not_taken_back() {
    let scratch = Scratch::new();
    let store = open(&scratch);
    // This takes the whole transaction back, with whatever else was in it.
    trap(&scratch, "worse", "ROLLBACK");
    let calls: Vec<_> = (0..100)
        .map(|number| {
            let store = store.clone();
            let name = if number % 10 == 0 { "worse" } else { "good" };
            tokio::spawn(async move { create(&store, name).await })
        })
        .collect();
    let mut told = 0;
    for call in calls {
        match call.await.unwrap() {
            Ok(made) => told += usize::from(made),
            Err(StoreError::Unavailable(_) | StoreError::Corrupt(_)) => (),
            Err(other) => panic!("it is known that nothing was written: {other}"),
        }
    }
    assert_eq!(store.list_accounts(None, 1_000).await.unwrap().len(), told);
    assert!(create(&store, "good").await.unwrap(), "and it goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_locked_is_unavailable_to_writers_only() {
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
async fn what_is_stored_wrongly_is_told_and_panics_nobody() {
    let scratch = Scratch::new();
    let store = open(&scratch);
    let actor = fresh::uid(&store).await;
    let item = fresh::acceptance(actor, "1", fresh::NOON);
    fresh::accept(&store, &item).await;
    let id = item.activity.state.id;
    let vandal = Connection::open(scratch.file("store.db")).unwrap();
    vandal.execute_batch("UPDATE body SET json = x'7b'").unwrap();
    assert!(matches!(store.activities(&[id]).await, Err(StoreError::Corrupt(_))));
    for damage in ["flags = 3", "addressed = x'00'"] {
        vandal.execute_batch(&format!("UPDATE activity SET {damage}")).unwrap();
        assert!(matches!(store.states(&[id]).await, Err(StoreError::Corrupt(_))), "{damage}");
    }
    vandal.execute_batch("UPDATE activity SET flags = 0, addressed = x''").unwrap();
    assert_eq!(store.states(&[id]).await.unwrap(), [Some(item.activity.state)], "and the connection goes on");
}

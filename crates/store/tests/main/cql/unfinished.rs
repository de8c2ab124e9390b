//! Unfinished writes are finished by the process that finds them.

use super::super::conformance::fresh;
use super::{KEYSPACE, session, shared_store};
use model::{Account, Dormancy, Millis, Position, Uid, Version};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claimed_name_without_an_account_gets_it() {
    let Some((store, ())) = shared_store().await else { return };
    let made = fresh::account(&*store).await;
    let name = fresh::name();
    let uid = Uid(i64::try_from(fresh::number() >> 1).unwrap());
    let session = session().await;
    let table = format!("{}_ident.username", *KEYSPACE);
    let (first,): (Vec<u8>,) = session
        .query_unpaged(format!("SELECT first FROM {table} WHERE name = ?"), (made.name.as_str(),))
        .await
        .unwrap()
        .into_rows_result()
        .unwrap()
        .single_row()
        .unwrap();
    let claim = format!("INSERT INTO {table} (name, uid, first, op) VALUES (?, ?, ?, uuid()) IF NOT EXISTS");
    session.query_unpaged(claim, (name.as_str(), uid.0, first)).await.unwrap();

    let expected = Some(Account { uid, ..made });
    assert!(store.accounts(&[uid]).await.unwrap() == [None]);
    assert!(store.account_by_name(&name).await.unwrap() == expected);
    assert!(store.accounts(&[uid]).await.unwrap() == [expected]);
    assert_eq!(store.create_account(fresh::new_account(name)).await.unwrap(), None);
}

/// Versions of a dormancy have no time, and a sweep goes by the minute.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_intent_of_a_reactivation_is_in_the_minute_of_the_call() {
    let Some((store, ())) = shared_store().await else { return };
    let uid = fresh::uid(&*store).await;
    let (since, minute) = (Position(5), 29_000_000);
    store.put_dormancy(uid, Version(1), Dormancy::Dormant { since }).await.unwrap();
    store.reactivate(uid, Version(1), since, Millis(minute * 60_000)).await.unwrap().expect("it was dormant");
    let session = session().await;
    let mut stored = 0;
    for shard in 0..4 {
        let text = format!(
            "SELECT id FROM {}.intent WHERE minute = {minute} AND shard = {shard} AND id = 'b:{}:2'",
            *KEYSPACE, uid.0
        );
        stored += session.query_unpaged(text, &[]).await.unwrap().into_rows_result().unwrap().rows_num();
    }
    assert_eq!(stored, 1);
}

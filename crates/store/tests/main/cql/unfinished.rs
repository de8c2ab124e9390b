//! What somebody began and did not finish, finished by whoever finds it.

use super::super::conformance::fresh;
use super::{KEYSPACE, listed, shared_store};
use model::{Account, Uid};
use scylla::client::session_builder::SessionBuilder;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_whose_account_was_never_written_gets_it() {
    let Some((store, ())) = shared_store().await else { return };
    let made = fresh::account(&*store).await;
    let name = fresh::name();
    let uid = Uid(i64::try_from(fresh::number() >> 1).unwrap());
    let nodes = listed("TOFROM_TEST_CQL").unwrap();
    let session = SessionBuilder::new().known_nodes(nodes).build().await.unwrap();
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

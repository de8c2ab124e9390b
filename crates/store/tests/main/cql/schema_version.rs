//! Which programs start on which schema.

use super::{KEYSPACE, addresses_of_engines, session, shared};
use scylla::client::session::Session;
use store::cql::{CqlStore, Nodes, PROGRAM_VERSION, SchemaVersion, apply_schema, stored_schema};

/// Changes the schema; what exists or is gone already is fine.
async fn change(session: &Session, statement: &str) {
    session.query_unpaged(statement, &[]).await.unwrap();
    session.await_schema_agreement().await.unwrap();
}

async fn declare(session: &Session, keyspace: &str, version: u32, oldest_reader: u32) {
    let table = format!("{keyspace}_ident.schema_version_{version}");
    let comment = format!("comment = 'oldest_reader={oldest_reader}'");
    change(session, &format!("CREATE TABLE IF NOT EXISTS {table} (unused int PRIMARY KEY) WITH {comment}"))
        .await;
}

/// Why a store does not open in a keyspace that has nothing but this declaration.
async fn refusal(session: &Session, declared: Option<(u32, u32)>) -> String {
    let keyspace = format!("{}_refused", *KEYSPACE);
    let replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}";
    change(session, &format!("DROP KEYSPACE IF EXISTS {keyspace}_ident")).await;
    change(session, &format!("CREATE KEYSPACE {keyspace}_ident WITH replication = {replication}")).await;
    if let Some((version, oldest_reader)) = declared {
        declare(session, &keyspace, version, oldest_reader).await;
    }
    let (nodes, servers) = addresses_of_engines();
    let refused = CqlStore::open(&Nodes { keyspace: keyspace.clone(), ..nodes }, &servers).await;
    change(session, &format!("DROP KEYSPACE {keyspace}_ident")).await;
    refused.err().unwrap().to_string()
}

#[tokio::test]
async fn a_missing_older_or_excluding_schema_is_refused() {
    if shared().await.is_none() {
        return;
    }
    let session = session().await;
    assert!(refusal(&session, None).await.contains("no complete schema: run tofrom schema apply"));

    let older = refusal(&session, Some((PROGRAM_VERSION - 1, 0))).await;
    let expected = format!("version {}, and this program needs {PROGRAM_VERSION}: run", PROGRAM_VERSION - 1);
    assert!(older.contains(&expected), "{older}");

    let newer = PROGRAM_VERSION + 1;
    let excluding = refusal(&session, Some((newer, newer))).await;
    let expected =
        format!("version {newer}, for programs from {newer}, and this program has {PROGRAM_VERSION}");
    assert!(excluding.contains(&expected), "{excluding}");
}

#[tokio::test]
async fn a_newer_schema_that_allows_this_program_opens_and_stays_newer() {
    if shared().await.is_none() {
        return;
    }
    let (session, newer) = (session().await, PROGRAM_VERSION + 1);
    let (nodes, servers) = addresses_of_engines();
    declare(&session, &KEYSPACE, newer, PROGRAM_VERSION).await;
    let opened = CqlStore::open(&nodes, &servers).await;
    // An older program applies its schema again.
    let mut statements = Vec::new();
    apply_schema(&nodes, None, &mut |statement| statements.push(statement.to_owned())).await.unwrap();
    let stored = stored_schema(&nodes).await;
    change(&session, &format!("DROP TABLE {}_ident.schema_version_{newer}", *KEYSPACE)).await;
    if let Err(error) = opened {
        panic!("{error}");
    }
    assert_eq!(stored.unwrap(), Some(SchemaVersion { version: newer, oldest_reader: PROGRAM_VERSION }));
    assert!(statements.is_empty(), "{statements:?}");
}

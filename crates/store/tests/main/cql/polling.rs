//! How sources whose time has come are found: over long stretches of time, by processes that come and go, among rows that
//! somebody left behind.

use super::super::conformance::{fresh, sources};
use super::{KEYSPACE, open, session, shared};
use model::{Millis, SourceId, Version};
use scylla::client::session::Session;
use store::cql::CqlStore;
use store::{Connection, Source, Sources};

const MINUTE: i64 = 60_000;

/// No other test uses these shards, and each of these tests begins where the last one that used its shard ended.
const STRETCHES: u16 = 61;
const LEFT_BEHIND: u16 = 62;
const BEFORE: u16 = 63;

/// Statements of a call that finds nothing, in a minute in which somebody has asked before.
const NOTHING_FOUND: u64 = 2;

/// The first minute in which there may be something, and the minute that is the present one then.
async fn mark(session: &Session, shard: u16) -> (i64, i64) {
    for shard in [i16::try_from(shard).unwrap(), -1] {
        let text = format!("SELECT minute FROM {}.poll_mark WHERE shard = {shard}", *KEYSPACE);
        let rows = session.query_unpaged(text, &[]).await.unwrap().into_rows_result().unwrap();
        if let Some((minute,)) = rows.maybe_first_row::<(i64,)>().unwrap() {
            return (minute, minute + 15);
        }
    }
    panic!("polling has no beginning");
}

fn source(shard: u16, version: i64, minute: i64) -> Source {
    let due = Some(Millis(minute * MINUTE + 7));
    Source { id: sources::id(), version: Version(version), shard, due, state: Vec::new() }
}

async fn due(store: &CqlStore, shard: u16, minute: i64, limit: usize) -> Vec<SourceId> {
    store.due_sources(shard, Millis((minute + 1) * MINUTE - 1), limit).await.unwrap()
}

async fn put_off(store: &CqlStore, source: &Source) {
    let off = Source { version: Version(source.version.0 + 1), due: None, ..source.clone() };
    fresh::put(store, &off).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_came_due_in_a_long_stop_is_found_by_whoever_goes_on() {
    if shared().await.is_none() {
        return;
    }
    let (mut store, session) = (open().await, session().await);
    let (_, present) = mark(&session, STRETCHES).await;
    let made: Vec<Source> =
        [3, 3, 590, 700, 1_400].map(|minute| source(STRETCHES, 1, present + minute)).to_vec();
    for one in made.iter().rev() {
        fresh::put(&*store, one).await;
    }
    let now = present + 1_500;
    let (mut found, mut calls) = (Vec::new(), 0);
    while found.len() < made.len() {
        for id in due(&store, STRETCHES, now, 1).await {
            let one = made.iter().find(|one| one.id == id).unwrap();
            put_off(&store, one).await;
            found.push(one.due);
        }
        calls += 1;
        assert!(calls < 30, "the walk does not get on: {found:?}");
        // Another process goes on in the middle of it.
        if calls == 3 {
            store = open().await;
        }
    }
    assert!(found.is_sorted(), "the longest waiting first: {found:?}");
    for _ in 0..4 {
        assert_eq!(due(&store, STRETCHES, now, 10).await, []);
    }
    assert_eq!(mark(&session, STRETCHES).await.1, now, "what is empty is not walked over again");

    let before = store.counted().0;
    assert_eq!(due(&store, STRETCHES, now, 10).await, []);
    assert_eq!(store.counted().0 - before, NOTHING_FOUND);
    assert_eq!(due(&store, STRETCHES, now + 1, 10).await, []);
    let each_minute = store.counted().0 - before - NOTHING_FOUND;
    assert!(each_minute <= 18, "{each_minute} statements");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_were_left_behind_are_taken_out() {
    let Some(store) = shared().await else { return };
    let session = session().await;
    let (_, present) = mark(&session, LEFT_BEHIND).await;
    let (moved, unfinished) = (source(LEFT_BEHIND, 5, present + 200), sources::id());
    fresh::put(&*store, &moved).await;
    for (id, version) in [(moved.id, 4_i64), (unfinished, 9)] {
        let text = format!(
            "INSERT INTO {}.poll_slot (minute, shard, at_ms, id, ver) VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?",
            *KEYSPACE
        );
        let minute = present + 1;
        let shard = i16::try_from(LEFT_BEHIND).unwrap();
        let row = (minute, shard, minute * MINUTE, id.0.to_vec(), version, version);
        session.query_unpaged(text, row).await.unwrap();
    }
    let young = due(&store, LEFT_BEHIND, present + 2, 10).await;
    assert!(young.len() == 2 && young.contains(&moved.id), "whoever is given it looks");
    assert_eq!(due(&store, LEFT_BEHIND, present + 20, 10).await, [], "the state tells");
    assert_eq!(due(&store, LEFT_BEHIND, present + 30, 10).await, []);
    assert_eq!(mark(&session, LEFT_BEHIND).await.0, present + 1, "one state may still come");
    for later in [70, 71, 72] {
        assert_eq!(due(&store, LEFT_BEHIND, present + later, 10).await, []);
    }
    assert_eq!(mark(&session, LEFT_BEHIND).await.1, present + 72);
    assert_eq!(due(&store, LEFT_BEHIND, present + 201, 10).await, [moved.id], "its own row is there");
    put_off(&store, &moved).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_time_before_the_mark_is_found_all_the_same() {
    let Some(store) = shared().await else { return };
    let (_, present) = mark(&session().await, BEFORE).await;
    assert_eq!(due(&store, BEFORE, present + 50, 10).await, []);
    let late = source(BEFORE, 1, present - 500);
    fresh::put(&*store, &late).await;
    assert_eq!(store.source(late.id).await.unwrap(), Some(late.clone()));
    assert_eq!(due(&store, BEFORE, present + 50, 10).await, [late.id]);
    put_off(&store, &late).await;
    assert_eq!(due(&store, BEFORE, present + 51, 10).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listed_connection_that_says_otherwise_is_struck_out() {
    let Some(store) = shared().await else { return };
    let session = session().await;
    let (owner, here, there) = (fresh::uid(&*store).await, sources::id(), sources::id());
    let connection = |version, source| {
        let (name, state) = ("photos".to_owned(), Vec::new());
        Connection { owner, name, version: Version(version), source, removed: false, state }
    };
    fresh::put(&*store, &connection(5, there)).await;
    let listed = async || {
        let text = format!("SELECT uid FROM {}.connection_to WHERE source = ?", *KEYSPACE);
        let rows = session.query_unpaged(text, (here.0.to_vec(),)).await.unwrap().into_rows_result().unwrap();
        rows.rows_num()
    };
    // The first by somebody who was overtaken, the second by somebody who has not written the connection yet.
    for (version, left) in [(4_i64, 0), (8, 1)] {
        let text = format!(
            "INSERT INTO {}.connection_to (source, uid, name) VALUES (?, ?, 'photos') USING TIMESTAMP ?",
            *KEYSPACE
        );
        session.query_unpaged(text, (here.0.to_vec(), owner.0, version)).await.unwrap();
        assert_eq!(listed().await, 1);
        assert_eq!(store.connections_to(here, None, 10).await.unwrap(), []);
        assert_eq!(listed().await, left);
    }
    fresh::put(&*store, &connection(8, here)).await;
    assert_eq!(store.connections_to(here, None, 10).await.unwrap(), [connection(8, here)]);
    assert_eq!(store.connections_to(there, None, 10).await.unwrap(), []);
}

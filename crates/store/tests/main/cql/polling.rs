//! Finding due sources: after long pauses, by several processes, and with orphaned rows.

use super::super::conformance::{fresh, sources};
use super::{KEYSPACE, open, session, shared};
use model::{Millis, SourceId, Version};
use scylla::client::session::Session;
use store::cql::CqlStore;
use store::{Connection, Source, Sources};

const MINUTE: i64 = 60_000;

/// Shards that only these tests use. Each test begins where the last one with its shard ended.
const LONG_PAUSE: u16 = 61;
const ORPHANS: u16 = 62;
const PAST_DUE: u16 = 63;

/// Statements of a call that finds nothing, if the minute was scanned before.
const NOTHING_FOUND: u64 = 2;

/// The start minute of a shard, and the minute that is the current one then.
async fn start_minute(session: &Session, shard: u16) -> (i64, i64) {
    for shard in [i16::try_from(shard).unwrap(), -1] {
        let text = format!("SELECT minute FROM {}.poll_progress WHERE shard = {shard}", *KEYSPACE);
        let rows = session.query_unpaged(text, &[]).await.unwrap().into_rows_result().unwrap();
        if let Some((minute,)) = rows.maybe_first_row::<(i64,)>().unwrap() {
            return (minute, minute + 15);
        }
    }
    panic!("no start minute");
}

fn source(shard: u16, version: i64, minute: i64) -> Source {
    let due = Some(Millis(minute * MINUTE + 7));
    Source { id: sources::id(), version: Version(version), shard, due, state: Vec::new() }
}

async fn due(store: &CqlStore, shard: u16, minute: i64, limit: usize) -> Vec<SourceId> {
    store.due_sources(shard, Millis((minute + 1) * MINUTE - 1), limit).await.unwrap()
}

async fn unschedule(store: &CqlStore, source: &Source) {
    let off = Source { version: Version(source.version.0 + 1), due: None, ..source.clone() };
    fresh::put(store, &off).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sources_due_during_a_long_pause_are_found_by_any_process() {
    if shared().await.is_none() {
        return;
    }
    let (mut store, session) = (open().await, session().await);
    let (_, current) = start_minute(&session, LONG_PAUSE).await;
    let made: Vec<Source> =
        [3, 3, 590, 700, 1_400].map(|minute| source(LONG_PAUSE, 1, current + minute)).to_vec();
    for source in made.iter().rev() {
        fresh::put(&*store, source).await;
    }
    let now = current + 1_500;
    let (mut found, mut calls) = (Vec::new(), 0);
    while found.len() < made.len() {
        for id in due(&store, LONG_PAUSE, now, 1).await {
            let source = made.iter().find(|source| source.id == id).unwrap();
            unschedule(&store, source).await;
            found.push(source.due);
        }
        calls += 1;
        assert!(calls < 30, "the scan makes no progress: {found:?}");
        // Another process continues in the middle.
        if calls == 3 {
            store = open().await;
        }
    }
    assert!(found.is_sorted(), "not the longest overdue first: {found:?}");
    for _ in 0..4 {
        assert_eq!(due(&store, LONG_PAUSE, now, 10).await, []);
    }
    assert_eq!(start_minute(&session, LONG_PAUSE).await.1, now, "empty minutes are not scanned again");

    let before = store.counted().0;
    assert_eq!(due(&store, LONG_PAUSE, now, 10).await, []);
    assert_eq!(store.counted().0 - before, NOTHING_FOUND);
    assert_eq!(due(&store, LONG_PAUSE, now + 1, 10).await, []);
    let each_minute = store.counted().0 - before - NOTHING_FOUND;
    assert!(each_minute <= 18, "{each_minute} statements");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orphaned_rows_are_deleted() {
    let Some(store) = shared().await else { return };
    let session = session().await;
    let (_, current) = start_minute(&session, ORPHANS).await;
    let (moved, unfinished) = (source(ORPHANS, 5, current + 200), sources::id());
    fresh::put(&*store, &moved).await;
    for (id, version) in [(moved.id, 4_i64), (unfinished, 9)] {
        let text = format!(
            "INSERT INTO {}.poll_slot (minute, shard, at_ms, id, ver) VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?",
            *KEYSPACE
        );
        let minute = current + 1;
        let shard = i16::try_from(ORPHANS).unwrap();
        let row = (minute, shard, minute * MINUTE, id.0.to_vec(), version, version);
        session.query_unpaged(text, row).await.unwrap();
    }
    let young = due(&store, ORPHANS, current + 2, 10).await;
    assert!(young.len() == 2 && young.contains(&moved.id), "recent rows are returned without a check");
    assert_eq!(due(&store, ORPHANS, current + 20, 10).await, [], "older rows are checked against the state");
    assert_eq!(due(&store, ORPHANS, current + 30, 10).await, []);
    assert_eq!(
        start_minute(&session, ORPHANS).await.0,
        current + 1,
        "the state of one row may still be written"
    );
    for later in [70, 71, 72] {
        assert_eq!(due(&store, ORPHANS, current + later, 10).await, []);
    }
    assert_eq!(start_minute(&session, ORPHANS).await.1, current + 72);
    assert_eq!(due(&store, ORPHANS, current + 201, 10).await, [moved.id], "its own row still exists");
    unschedule(&store, &moved).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_due_time_before_the_start_minute_is_found() {
    let Some(store) = shared().await else { return };
    let (_, current) = start_minute(&session().await, PAST_DUE).await;
    assert_eq!(due(&store, PAST_DUE, current + 50, 10).await, []);
    let late = source(PAST_DUE, 1, current - 500);
    fresh::put(&*store, &late).await;
    assert_eq!(store.source(late.id).await.unwrap(), Some(late.clone()));
    assert_eq!(due(&store, PAST_DUE, current + 50, 10).await, [late.id]);
    unschedule(&store, &late).await;
    assert_eq!(due(&store, PAST_DUE, current + 51, 10).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listed_connection_to_another_source_is_unlisted() {
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
    // The first row is older than the connection, the second one belongs to a connection that is not written yet.
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

//! The file: what it may be, who may read it, copies, damage.

use super::super::conformance::{fresh, sources};
use super::super::scratch::Scratch;
use super::{open, quick};
use model::{Box, Millis, Place, Position, Purpose, Reading, Ticket, Uid, Version, Visibility};
use rusqlite::Connection;
use std::io::{Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::sqlite::{Options, SqliteStore};
use store::{
    Accounts, Activities, Connection as Connected, Credentials, Feeds, Follower, Grants, Graph, Log, Nonce,
    Source, Sources, Store, StoreError, Ways,
};

fn refusal(scratch: &Scratch) -> String {
    match SqliteStore::open(&scratch.file("store.db"), quick()) {
        Err(StoreError::Corrupt(why)) => why,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was opened"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_is_there_after_reopening() {
    let scratch = Scratch::new();
    let store = SqliteStore::open(&scratch.file("store.db"), Options::default()).unwrap();
    let calls: Vec<_> = (0..200)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { fresh::account(&store).await })
        })
        .collect();
    let mut made = Vec::new();
    for call in calls {
        made.push(call.await.unwrap());
    }
    drop(store);
    assert!(!scratch.file("store.db-wal").exists(), "closing leaves one file");
    let store = open(&scratch);
    for account in made {
        assert!(store.account_by_name(&account.name).await.unwrap() == Some(account));
    }
}

#[tokio::test]
async fn sources_connections_and_leases_are_there_after_reopening() {
    let scratch = Scratch::new();
    let (id, owner, version, state) = (sources::id(), Uid(1), Version(1), vec![1, 2]);
    let source = Source { id, version, shard: 5, due: Some(Millis(10)), state: state.clone() };
    let name = "photos".to_owned();
    let connection = Connected { owner, name, version, source: id, removed: false, state };
    let store = open(&scratch);
    fresh::put(&store, &source).await;
    fresh::put(&store, &connection).await;
    assert!(store.lease("shard 5", "ada", Millis(10), Millis(20)).await.unwrap());
    drop(store);
    let store = open(&scratch);
    assert_eq!(store.source(id).await.unwrap(), Some(source));
    assert_eq!(store.due_sources(5, Millis(10), 10).await.unwrap(), [id]);
    assert_eq!(store.connections_to(id, None, 10).await.unwrap(), [connection]);
    assert!(!store.lease("shard 5", "bob", Millis(19), Millis(30)).await.unwrap());
}

#[tokio::test]
async fn an_opened_store_has_the_newest_schema_and_opens_again() {
    let scratch = Scratch::new();
    let uid = fresh::uid(&open(&scratch)).await;
    let store = open(&scratch);
    assert!(store.accounts(&[uid]).await.unwrap()[0].is_some());
    assert_eq!(store.integrity_check().await.unwrap(), [""; 0]);
}

#[test]
fn a_newer_schema_is_refused() {
    let scratch = Scratch::new();
    drop(open(&scratch));
    Connection::open(scratch.file("store.db")).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let why = refusal(&scratch);
    assert!(why.contains("version 99") && why.contains("newer"), "{why}");
}

#[test]
fn another_programs_database_is_refused_and_left_alone() {
    let scratch = Scratch::new();
    let other = Connection::open(scratch.file("store.db")).unwrap();
    other.execute_batch("CREATE TABLE theirs (x); PRAGMA user_version = 1;").unwrap();
    assert!(refusal(&scratch).contains("another program's"));
    let tables: i64 = other.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    let journal: String = other.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!((tables, journal.as_str()), (1, "delete"));
}

#[test]
fn what_is_no_database_is_refused() {
    let scratch = Scratch::new();
    std::fs::write(scratch.file("store.db"), "a letter to my aunt, which is long enough".repeat(50)).unwrap();
    refusal(&scratch);
}

#[test]
fn many_may_open_a_new_file_at_once() {
    let scratch = Scratch::new();
    std::thread::scope(|scope| {
        let opening: Vec<_> = (0..8).map(|_| scope.spawn(|| open(&scratch))).collect();
        for one in opening {
            one.join().unwrap();
        }
    });
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_may_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    let store = open(&scratch);
    fresh::account(&store).await;
    store.backup(&scratch.file("copy.db"), |_, _| ()).await.unwrap();
    for name in ["store.db", "store.db-wal", "store.db-shm", "store.db-nonces", "copy.db"] {
        let mode = std::fs::metadata(scratch.file(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

async fn accept_20(store: &SqliteStore, actor: Uid, part: i64) {
    let batch = (0..20).map(|n| fresh::acceptance(actor, &format!("{part}-{n}"), fresh::NOON + part));
    store.accept(batch.collect()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_during_writes_is_whole() {
    let scratch = Scratch::new();
    let store = open(&scratch);
    let actor = fresh::uid(&store).await;
    for part in 0..50 {
        accept_20(&store, actor, part).await;
    }
    let writing = {
        let store = store.clone();
        tokio::spawn(async move {
            for part in 50..150 {
                accept_20(&store, actor, part).await;
            }
        })
    };
    let reports = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&reports);
    let copy = scratch.file("copy.db");
    let progress = move |done, total| {
        assert!(done <= total && total > 0);
        counted.fetch_add(1, Ordering::Relaxed);
    };
    store.backup(&copy, progress).await.unwrap();
    writing.await.unwrap();
    assert!(reports.load(Ordering::Relaxed) > 0);
    assert!(!scratch.file("copy.db.unfinished").exists());

    let again = store.backup(&copy, |_, _| ()).await;
    assert!(matches!(again, Err(StoreError::Unavailable(_))), "a backup is never overwritten: {again:?}");

    let restored = SqliteStore::open(&copy, quick()).unwrap();
    assert_eq!(restored.integrity_check().await.unwrap(), [""; 0]);
    restored.ping().await.unwrap();
    for n in 0..20 {
        let source = fresh::source(actor, &format!("49-{n}"));
        assert!(restored.claim(&source).await.unwrap().is_some(), "what was there when the backup began");
    }
}

#[tokio::test]
async fn damage_is_reported() {
    let scratch = Scratch::new();
    let store = open(&scratch);
    let actor = fresh::uid(&store).await;
    let batch = (0..500).map(|n| fresh::acceptance(actor, &n.to_string(), fresh::NOON + n));
    store.accept(batch.collect()).await.unwrap();
    drop(store);
    let path = scratch.file("store.db");
    let pages = std::fs::metadata(&path).unwrap().len() / 4096;
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    for page in pages / 2..pages {
        file.seek(SeekFrom::Start(page * 4096 + 100)).unwrap();
        file.write_all(&[0x5a; 900]).unwrap();
    }
    drop(file);
    assert!(!open(&scratch).integrity_check().await.unwrap().is_empty());
}

#[tokio::test]
async fn dangling_references_are_reported() {
    let scratch = Scratch::new();
    let store = open(&scratch);
    let actor = fresh::uid(&store).await;
    fresh::accept(&store, &fresh::acceptance(actor, "1", fresh::NOON)).await;
    let vandal = Connection::open(scratch.file("store.db")).unwrap();
    vandal.execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM body;").unwrap();
    assert_eq!(store.integrity_check().await.unwrap(), ["a row of activity refers to no row of body"]);
}

/// A file as the first version left it is brought along, with what is in it and what waits in its log.
#[tokio::test]
async fn a_file_of_the_first_schema_is_migrated() {
    let scratch = Scratch::new();
    let old = Connection::open(scratch.file("store.db")).unwrap();
    old.execute_batch(include_str!("../../../src/sqlite/schema/1.sql")).unwrap();
    let id = fresh::id(fresh::NOON);
    old.execute_batch(
        "PRAGMA application_id = 0x746f6672; PRAGMA user_version = 1;
         INSERT INTO account (uid, name, ver, public, operator, created_ms, removed) VALUES (7, 'ada', 1, 0, 0, 0, 0);
         INSERT INTO follower (followee, follower) VALUES (7, 8);
         INSERT INTO facet (id, service, kind, verb) VALUES (1, 'flickr', 'photo', 'post');
         INSERT INTO body (id, json) VALUES (1, x'7b7d');",
    )
    .unwrap();
    let state = "INSERT INTO activity VALUES (?1, 1, 7, 1, 0, 0, 0, 0, x'', 1)";
    old.execute(state, [id.as_bytes()]).unwrap();
    for seq in [4, 9] {
        old.execute("INSERT INTO log VALUES (?2, ?1, 1, x'')", rusqlite::params![id.as_bytes(), seq])
            .unwrap();
    }
    old.execute("DELETE FROM log WHERE seq = 9", []).unwrap();
    drop(old);
    let store = open(&scratch);
    assert!(store.accounts(&[Uid(7)]).await.unwrap()[0].is_some());
    let waiting = store.pending(9).await.unwrap();
    assert_eq!(waiting.iter().map(|task| task.position.0).collect::<Vec<_>>(), [4]);
    assert_eq!(store.floor().await.unwrap().0, 3);
    store.acknowledge(&[waiting[0].position], &[]).await.unwrap();
    assert_eq!(store.floor().await.unwrap().0, 9, "no number is given again");
    let follower = Follower { uid: Uid(8), version: Version(0), since: Position(0), sleep: None };
    assert_eq!(store.followers(Uid(7), None, 9).await.unwrap(), [follower]);
}

/// What there was before sessions, applications and accounts had more to them.
#[tokio::test]
async fn a_file_of_the_third_schema_is_migrated() {
    let scratch = Scratch::new();
    let old = Connection::open(scratch.file("store.db")).unwrap();
    old.execute_batch(include_str!("../../../src/sqlite/schema/1.sql")).unwrap();
    old.execute_batch(include_str!("../../../src/sqlite/schema/2.sql")).unwrap();
    old.execute_batch(include_str!("../../../src/sqlite/schema/3.sql")).unwrap();
    old.execute_batch(
        "PRAGMA application_id = 0x746f6672; PRAGMA user_version = 3;
         INSERT INTO account (uid, name, ver, public, operator, created_ms, removed) VALUES (7, 'ada', 1, 0, 0, 0, 0);
         INSERT INTO application VALUES ('app', x'00', 'App', 'oob', NULL, 5, NULL);
         INSERT INTO session VALUES (zeroblob(32), 7, zeroblob(32), 5, 9);",
    )
    .unwrap();
    drop(old);
    let store = open(&scratch);
    assert!(store.accounts(&[Uid(7)]).await.unwrap()[0].as_ref().unwrap().may_act());
    assert_eq!(store.application("app").await.unwrap().unwrap().owner, None);
    let sessions = store.sessions_of(Uid(7)).await.unwrap();
    assert_eq!((sessions[0].used, sessions[0].device.as_str()), (Millis(5), ""));
}

/// What there was before anything was pulled and anybody slept.
#[tokio::test]
async fn a_file_of_the_fifth_schema_is_migrated() {
    let scratch = Scratch::new();
    let old = Connection::open(scratch.file("store.db")).unwrap();
    for step in [
        include_str!("../../../src/sqlite/schema/1.sql"),
        include_str!("../../../src/sqlite/schema/2.sql"),
        include_str!("../../../src/sqlite/schema/3.sql"),
        include_str!("../../../src/sqlite/schema/4.sql"),
        include_str!("../../../src/sqlite/schema/5.sql"),
    ] {
        old.execute_batch(step).unwrap();
    }
    // Flags: who could see what was before, and gone.
    old.execute_batch(
        "PRAGMA application_id = 0x746f6672; PRAGMA user_version = 5;
         INSERT INTO following VALUES (8, 7, 44, 1, 0, NULL, NULL), (9, 7, 45, 1, 0, NULL, NULL);
         INSERT INTO follower (followee, follower, seq) VALUES (7, 8, 3), (7, 9, 4);
         INSERT INTO facet (id, service, kind, verb) VALUES (1, 'flickr', 'photo', 'post');
         INSERT INTO run_of VALUES (7, 4, 5, 5), (7, 6, 5, 5);",
    )
    .unwrap();
    let id = fresh::id(5);
    for run in [4, 6] {
        let entry = "INSERT INTO entry VALUES (7, ?2, 5, ?1, 5, 7, 1, 8 * 3 + 4, 6)";
        old.execute(entry, rusqlite::params![id.as_bytes(), run]).unwrap();
    }
    drop(old);
    let store = open(&scratch);
    let follower = |uid, version, since| Follower {
        uid: Uid(uid),
        version: Version(version),
        since: Position(since),
        sleep: None,
    };
    assert_eq!(store.followers(Uid(7), None, 9).await.unwrap(), [follower(8, 44, 3), follower(9, 45, 4)]);
    let after = Place::whole(Position(0));
    let own = store.own_arrivals(&[Uid(7)], after, Position(9), 9).await.unwrap().remove(0);
    assert_eq!(own.len(), 1);
    assert_eq!((own[0].id, own[0].boxes, own[0].pulled), (id, fresh::boxes(&[Box::From]), false));
    assert_eq!((own[0].gone, own[0].formerly), (true, Some(Visibility::Public)));
    assert_eq!(store.reading(Uid(8)).await.unwrap(), Reading::default());
    assert_eq!(store.integrity_check().await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn what_has_ended_is_forgotten() {
    let scratch = Scratch::new();
    let store = open(&scratch);
    for number in 0..20_000_u64 {
        let mut hash = [0; 16];
        hash[..8].copy_from_slice(&number.to_be_bytes());
        let nonce = Nonce { hash, until: Millis(if number < 100 { 2_000 } else { 1_000 }) };
        assert!(store.claim_nonce(&nonce).await.unwrap());
    }
    for (byte, end) in [(1, 1_000), (2, 2_000)] {
        let (hash, end) = ([byte; 32], Millis(end));
        let ticket =
            Ticket { hash, purpose: Purpose::Invitation, by: None, created: Millis(0), expires: end };
        store.add_ticket(&ticket).await.unwrap();
    }
    store.forget_expired(Millis(1_500)).await.unwrap();
    assert_eq!(store.ticket(&[1; 32]).await.unwrap(), None);
    assert!(store.ticket(&[2; 32]).await.unwrap().is_some());
    let file = Connection::open(scratch.file("store.db-nonces")).unwrap();
    let left: i64 = file.query_row("SELECT count(*) FROM nonce", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 100);
}

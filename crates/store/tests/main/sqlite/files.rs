//! The file: schema versions, permissions, backups, corruption.

use super::super::conformance::{fresh, sources};
use super::super::scratch::Scratch;
use super::{open, quick};
use model::{Millis, Purpose, Ticket, Uid, Version};
use rusqlite::Connection;
use std::io::{Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::sqlite::{Options, SqliteStore};
use store::{
    Accounts, Activities, Connection as SourceConnection, Grants, Leases, Nonce, Source, Sources, Store,
    StoreError, Tickets,
};

fn refusal(scratch: &Scratch) -> String {
    match SqliteStore::open(&scratch.file("store.db"), quick()) {
        Err(StoreError::Corrupt(detail)) => detail,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was opened"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_writes_survive_reopening() {
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
async fn sources_connections_and_leases_survive_reopening() {
    let scratch = Scratch::new();
    let (id, owner, version, state) = (sources::id(), Uid(1), Version(1), vec![1, 2]);
    let source = Source { id, version, shard: 5, due: Some(Millis(10)), state: state.clone() };
    let name = "photos".to_owned();
    let connection = SourceConnection { owner, name, version, source: id, removed: false, state };
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
async fn a_store_can_be_opened_again() {
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
    assert!(refusal(&scratch).contains("another program"));
    let tables: i64 = other.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    let journal: String = other.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!((tables, journal.as_str()), (1, "delete"));
}

#[test]
fn a_file_that_is_not_a_database_is_refused() {
    let scratch = Scratch::new();
    std::fs::write(scratch.file("store.db"), "a letter to my aunt, which is long enough".repeat(50)).unwrap();
    refusal(&scratch);
}

#[test]
fn a_new_file_can_be_opened_concurrently() {
    let scratch = Scratch::new();
    std::thread::scope(|scope| {
        let opening: Vec<_> = (0..8).map(|_| scope.spawn(|| open(&scratch))).collect();
        for thread in opening {
            thread.join().unwrap();
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
async fn a_backup_during_writes_is_complete() {
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
        assert!(
            restored.claim(&source).await.unwrap().is_some(),
            "an activity accepted before the backup began"
        );
    }
}

#[tokio::test]
async fn corruption_is_reported() {
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
    let direct = Connection::open(scratch.file("store.db")).unwrap();
    direct.execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM body;").unwrap();
    assert_eq!(store.integrity_check().await.unwrap(), ["a row of activity refers to a missing row of body"]);
}

#[tokio::test]
async fn expired_rows_are_deleted() {
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

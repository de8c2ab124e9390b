//! `kill -9` while a demo is filled: after a restart it has the same data as one that was not killed.

use super::program::succeed;
use super::support::demo::{BINARY, Demo};
use super::support::folder::Folder;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use store::Store;
use store::sqlite::SqliteStore;

/// The fact that dates everything in a demo's store.
const FILLED: &str = "demo-filled";
/// Minimum number of activities in all collections together, so that the comparison is not empty.
const MIN_ACTIVITIES: usize = 1_000;

/// Starts the demo with these arguments repeatedly, each time for a little longer, and kills it, until it is ready.
/// Returns the number of kills.
pub(crate) fn kill_until_ready(first: Duration, arguments: &[&str], settings: &[(&str, &str)]) -> usize {
    let mut pause = first;
    for kills in 0.. {
        let mut demo = Command::new(BINARY)
            .args(["demo", "--listen", "127.0.0.1:0", "--json"])
            .args(arguments)
            .env("TOFROM_LOG", "error")
            .envs(settings.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = demo.stdout.take().unwrap();
        let (sender, receiver) = channel();
        let reader = std::thread::spawn(move || {
            let mut line = String::new();
            BufReader::new(output).read_line(&mut line).unwrap();
            let _ = sender.send(line);
        });
        let line = receiver.recv_timeout(pause);
        demo.kill().unwrap();
        demo.wait().unwrap();
        reader.join().unwrap();
        match line {
            Ok(line) => {
                assert!(line.starts_with('{'), "{line:?}");
                return kills;
            }
            Err(RecvTimeoutError::Timeout) => pause = pause * 5 / 4,
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("the loop ends when the demo is ready")
}

/// The time when that store was first filled; an empty store is filled as of that time.
pub(crate) async fn filled_at(store: &dyn Store, at: &str) -> String {
    store.set_once(FILLED, at).await.unwrap()
}

fn filled_in_folder(folder: &Path, at: &str) -> String {
    let store = SqliteStore::open(&folder.join("tofrom.db"), Default::default()).unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(filled_at(&store, at))
}

/// A demo that was filled without interruption, as of that time.
pub(crate) fn undisturbed(folder: &Folder, at: &str) -> Demo {
    assert_eq!(filled_in_folder(folder.path(), at), at);
    Demo::start(folder.path(), &[])
}

/// Every collection in both orders, page by page, without the base address.
pub(crate) fn collections(demo: &Demo) -> Vec<(String, Vec<Value>)> {
    let base = demo.ready["base_url"].as_str().unwrap();
    let accounts = demo.ready["accounts"].as_array().unwrap().iter();
    let names = accounts.map(|account| account["name"].as_str().unwrap());
    let queries = names.flat_map(|name| {
        ["from", "to", "tofrom"].into_iter().flat_map(move |collection| {
            ["", "&orderby=pubDate"].map(|order| (name, collection, format!("count=100{order}")))
        })
    });
    let read = |(name, collection, query): (&str, &str, String)| {
        let mut page = demo.read(name, name, collection, &query);
        let mut all = page.activities();
        while let Some(next) = page.link("next") {
            page =
                demo.client.follow(&next, &[("ServicePSK", demo.key(name)), ("Accept", "application/json")]);
            all.extend(page.activities());
        }
        let bare = |one: Value| serde_json::from_str(&one.to_string().replace(base, "")).unwrap();
        (format!("{name}/{collection}?{query}"), all.into_iter().map(bare).collect())
    };
    queries.map(read).collect()
}

/// Fails with the first collection that differs.
pub(crate) fn assert_same(found: &[(String, Vec<Value>)], expected: &[(String, Vec<Value>)]) {
    assert!(expected.iter().map(|(_, all)| all.len()).sum::<usize>() > MIN_ACTIVITIES);
    assert_eq!(found.len(), expected.len());
    for ((name, found), (of, expected)) in found.iter().zip(expected) {
        assert_eq!((name, found.len()), (of, expected.len()));
        for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert_eq!(found, expected, "{name}, number {number}");
        }
    }
}

#[test]
fn a_killed_fill_ends_with_the_same_data() {
    let (killed, whole) = (Folder::new(), Folder::new());
    let arguments = ["--data", killed.path().to_str().unwrap()];
    let kills = kill_until_ready(Duration::from_millis(40), &arguments, &[]);
    assert!(kills > 3, "ready after only {kills} kills");
    let expected = undisturbed(&whole, &filled_in_folder(killed.path(), ""));
    let found = Demo::start(killed.path(), &[]);
    assert_same(&collections(&found), &collections(&expected));
    for name in ["alice", "bob"] {
        let exported = |folder: &Folder| succeed(folder, &["export", name], "");
        assert_eq!(exported(&killed), exported(&whole), "published times and recipients agree too");
        let keys = |folder: &Folder| succeed(folder, &["key", "list", name], "").lines().count();
        assert_eq!(keys(&killed), keys(&whole));
    }
}

#[test]
fn an_emptied_store_is_refilled_with_the_same_secrets() {
    let folder = Folder::new();
    let started = |data: &Path| {
        let demo = Demo::start(data, &["--admin", "127.0.0.1:0"]);
        (demo.ready["accounts"].clone(), demo.alice("count=1").ids())
    };
    let (accounts, newest) = started(folder.path());
    assert_eq!(started(folder.path()), (accounts.clone(), newest.clone()), "the accounts are the same");
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let path = file.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with("tofrom.db") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let (again, later) = started(folder.path());
    assert_eq!(again, accounts);
    assert_ne!(later, newest, "the activities are as recent as in a new demo");
}

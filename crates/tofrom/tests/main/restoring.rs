//! The restore drill: after a loss, a backup gives every page of every account again, and no reader misses anything.

use super::program::{succeed, tofrom};
use super::support::client::Answer;
use super::support::demo::Demo;
use super::support::folder::Folder;
use super::support::steal_adjusted_clock::becomes;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const FORMATS: [&str; 3] = ["application/json", "application/xml", "application/atom+xml"];

fn accounts(demo: &Demo) -> Vec<String> {
    let accounts = demo.ready["accounts"].as_array().unwrap();
    accounts.iter().map(|account| account["name"].as_str().unwrap().to_owned()).collect()
}

/// Every page of every account in three formats, without what belongs to one run: the port, cursors, the time of the read.
fn every_page(demo: &Demo) -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    for account in accounts(demo) {
        for collection in ["tofrom", "to", "from"] {
            for format in FORMATS {
                let headers = [("ServicePSK", demo.key(&account)), ("Accept", format)];
                let mut next =
                    Some(format!("{}/200909/activity/{account}/{collection}?count=100", demo.client.base));
                for number in 0.. {
                    let Some(address) = next else { break };
                    let page = demo.client.follow(&address, &headers);
                    assert_eq!(page.status, 200, "{}", page.text());
                    pages.insert(
                        format!("{account} {collection} {format} {number}"),
                        masked(demo, page.text()),
                    );
                    next = page.link("next");
                }
            }
        }
    }
    pages
}

fn masked(demo: &Demo, text: &str) -> String {
    let text = text.replace(&demo.client.base, "BASE");
    let mut parts = text.split("cursor=");
    let mut masked = parts.next().unwrap().to_owned();
    for part in parts {
        let end =
            part.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_')).unwrap_or(part.len());
        masked.push_str(&part[end..]);
    }
    masked
}

fn put(demo: &Demo, account: &str, id: &str) -> Answer {
    let bookmark = json!({ "Title": "t", "Url": "https://example.org/" });
    let body = json!({ "Category": "BookmarkShared", "Title": id, "Bookmark": bookmark }).to_string();
    let target = format!("/200909/activity/{account}/from/Delicious/{id}");
    let headers = [("ServicePSK", demo.key(account)), ("Content-Type", "application/json")];
    demo.client.send("PUT", &target, &headers, body.as_bytes())
}

/// The `updates` link of a collection, without the base address.
fn sync(demo: &Demo, account: &str) -> String {
    let page = demo.read(account, account, "tofrom", "");
    page.link("updates").unwrap().strip_prefix(&demo.client.base).unwrap().to_owned()
}

fn poll(demo: &Demo, account: &str, target: &str) -> Answer {
    demo.client.get(target, &[("ServicePSK", demo.key(account)), ("Accept", "application/json")])
}

/// The first event of a stream that resumes after this cursor.
fn first_event(demo: &Demo, account: &str, target: &str) -> String {
    let cursor = target.split("cursor=").nth(1).unwrap().split('&').next().unwrap();
    let mut stream = demo.client.connect();
    let request = format!(
        "GET /200909/activity/{account}/tofrom HTTP/1.1\r\nHost: x\r\nServicePSK: {}\r\nAccept: text/event-stream\r\n\
         Last-Event-ID: {cursor}\r\n\r\n",
        demo.key(account)
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream.flush().unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    lines.find(|line| line.starts_with("event:")).unwrap()
}

fn restored(folder: &Folder, backup: &Path) -> Value {
    serde_json::from_str(&succeed(folder, &["restore", backup.to_str().unwrap(), "--json"], "")).unwrap()
}

#[test]
fn a_restored_backup_has_every_page_and_no_reader_misses_anything() {
    let (folder, backups) = (Folder::new(), Folder::new());
    let start = || Demo::start(folder.path(), &["--admin", "127.0.0.1:0"]);
    let demo = start();
    let before = every_page(&demo);
    let early = sync(&demo, "alice");
    let backup = backups.path().join("backup.db");
    succeed(&folder, &["backup", backup.to_str().unwrap()], "");

    // After the backup the service goes on, until it is lost.
    for number in 0..30 {
        assert_eq!(put(&demo, "alice", &format!("lost-{number}")).status, 201);
    }
    let late = sync(&demo, "alice");
    assert_eq!(poll(&demo, "alice", &late).ids().len(), 0);
    let refused = tofrom(&folder, &["restore", backup.to_str().unwrap()], "");
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(1) && message.contains("in use"), "{message}");
    drop(demo);

    for time in 0..2 {
        let result = restored(&folder, &backup);
        assert!(PathBuf::from(result["previous"].as_str().unwrap()).exists(), "{result}");
        let demo = start();
        let after = every_page(&demo);
        assert_eq!(
            before.keys().collect::<Vec<_>>(),
            after.keys().collect::<Vec<_>>(),
            "restored {time} times before"
        );
        for (page, text) in &before {
            assert_eq!(text, &after[page], "{page}");
        }
        // A token from before the backup continues; one from after it must not.
        assert_eq!(poll(&demo, "alice", &early).ids().len(), 0);
        let expired = poll(&demo, "alice", &late);
        assert_eq!(expired.status, 410, "{}", expired.text());
        assert!(expired.json()["type"].as_str().unwrap().ends_with("/cursor-expired"));
        assert_eq!(first_event(&demo, "alice", &late), "event: incomplete");
        let fresh = sync(&demo, "alice");
        assert_eq!(put(&demo, "alice", "new").status, 201);
        for token in [&early, &fresh] {
            becomes(Duration::from_secs(5), 1, || poll(&demo, "alice", token).ids().len());
        }
        assert_eq!(poll(&demo, "alice", &late).status, 410);
        drop(demo);
    }
}

#[test]
fn a_damaged_backup_is_refused_and_the_store_stays() {
    let folder = Folder::new();
    succeed(&folder, &["account", "add", "alice", "--no-password"], "");
    let backup = folder.path().join("backup.db");
    succeed(&folder, &["backup", backup.to_str().unwrap()], "");
    let mut bytes = std::fs::read(&backup).unwrap();
    let end = bytes.len();
    bytes[4_096..end].fill(7);
    let damaged = folder.path().join("damaged.db");
    std::fs::write(&damaged, bytes).unwrap();
    let other = folder.path().join("other.db");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    for (file, complaint) in
        [("damaged.db", ""), ("other.db", "another program"), ("none.db", "not a file"), ("tofrom.lock", "")]
    {
        let file = folder.path().join(file);
        let refused = tofrom(&folder, &["restore", file.to_str().unwrap()], "");
        let message = String::from_utf8(refused.stderr).unwrap();
        assert!(refused.status.code() == Some(1) && message.contains(complaint), "{file:?}: {message}");
    }
    assert!(succeed(&folder, &["account", "list"], "").contains("alice"));
    let files: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(!files.iter().any(|name| name.to_string_lossy().contains("restor")), "{files:?}");
}

/// A damaged store is a reason to restore.
#[test]
fn a_backup_replaces_a_damaged_store_and_an_absent_one() {
    let folder = Folder::new();
    succeed(&folder, &["account", "add", "alice", "--no-password"], "");
    let backup = folder.path().join("backup.db");
    succeed(&folder, &["backup", backup.to_str().unwrap()], "");
    std::fs::write(folder.path().join("tofrom.db"), "not a database, but something long enough".repeat(100))
        .unwrap();
    assert!(!tofrom(&folder, &["account", "list"], "").status.success());
    assert!(restored(&folder, &backup)["previous"].is_string());
    assert!(succeed(&folder, &["account", "list"], "").contains("alice"));
    let empty = Folder::new();
    assert!(restored(&empty, &backup)["previous"].is_null());
    assert!(succeed(&empty, &["account", "list"], "").contains("alice"));
}

#[test]
fn only_the_newest_backups_of_a_folder_are_kept() {
    let (folder, backups) = (Folder::new(), Folder::new());
    succeed(&folder, &["account", "add", "alice", "--no-password"], "");
    let names = || {
        let entries = std::fs::read_dir(backups.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    };
    let old = ["tofrom-20250101T000000Z.db", "tofrom-20250102T000000Z.db", "tofrom-mine.db"];
    old.iter().for_each(|name| std::fs::write(backups.path().join(name), "").unwrap());
    succeed(&folder, &["backup", backups.path().to_str().unwrap(), "--keep", "2"], "");
    let left = names();
    assert_eq!((left.len(), left[0].as_str(), left[2].as_str()), (3, old[1], old[2]), "{left:?}");
    let refused = tofrom(&folder, &["backup", "one.db", "--keep", "2"], "");
    assert_eq!(refused.status.code(), Some(2), "a single file is not rotated");
}

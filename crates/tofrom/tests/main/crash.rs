//! `kill -9` during an import: every acknowledged line is stored once, and the store is consistent.

use super::program::succeed;
use super::support::chance::Chance;
use super::support::demo::BINARY;
use super::support::folder::Folder;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

const KILLS: usize = 20;
const LINES: usize = 4_000;

#[test]
fn every_acknowledged_line_is_stored_once() {
    let folder = Folder::new();
    succeed(&folder, &["account", "add", "alice", "--no-password"], "");
    let lines: Vec<String> = (0..LINES)
        .map(|n| {
            format!(
                r#"{{"SourceId":"{n}","SourceService":{{"Name":"Flickr"}},"Category":"PhotoPosted","Title":"Photo {n}","Photo":{{"Title":"{n}"}}}}"#
            )
        })
        .collect();
    let file = folder.path().join("lines.ndjson");
    std::fs::write(&file, lines.join("\n")).unwrap();
    let mut acknowledged: HashMap<usize, String> = HashMap::new();
    let mut chance = Chance::new(9);
    let mut killed = 0;
    while killed < KILLS {
        let mut import = Command::new(BINARY)
            .args(["import", "alice", "-", "--json", "--data"])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Slow enough to be killed in the middle, and from the start each time.
        let mut input = import.stdin.take().unwrap();
        let sent: Vec<String> = lines.iter().take(200 + chance.below(LINES - 200)).cloned().collect();
        let feeding = std::thread::spawn(move || sent.iter().try_for_each(|line| writeln!(input, "{line}")));
        let until = 1 + chance.below(150);
        for (number, line) in BufReader::new(import.stdout.take().unwrap()).lines().take(until).enumerate() {
            let Ok(result) = serde_json::from_str::<serde_json::Value>(&line.unwrap()) else { break };
            let id = result["ActivityIdentifier"].as_str().unwrap().to_owned();
            let before = acknowledged.insert(number, id.clone());
            assert!(before.is_none_or(|before| before == id), "line {number} became a different activity");
        }
        import.kill().unwrap();
        import.wait().unwrap();
        let _ = feeding.join().unwrap();
        killed += 1;
    }
    let exported = succeed(&folder, &["export", "alice"], "");
    let mut times: HashMap<String, usize> = HashMap::new();
    for line in exported.lines() {
        let activity: serde_json::Value = serde_json::from_str(line).unwrap();
        *times.entry(activity["SourceId"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    assert!(times.values().all(|times| *times == 1), "an activity is stored twice");
    let lost: Vec<_> =
        acknowledged.keys().filter(|number| !times.contains_key(&number.to_string())).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    assert!(acknowledged.len() > 50, "{} acknowledged over {KILLS} kills", acknowledged.len());
    check_store(&folder);
}

/// The store in this folder is consistent.
pub(crate) fn check_store(folder: &Folder) {
    let store =
        store::sqlite::SqliteStore::open(&folder.path().join("tofrom.db"), Default::default()).unwrap();
    let found = tokio::runtime::Runtime::new().unwrap().block_on(store.integrity_check()).unwrap();
    assert!(found.is_empty(), "{found:?}");
}

//! Erasure: nothing that a removed account wrote is left in the files.

use super::oauth::service::{Service, password_of};
use super::program::tofrom;
use super::support::folder::Folder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// A text that is nowhere else.
fn text(kind: &str, number: usize) -> String {
    format!(
        "{kind}{}",
        "abcdefghij".repeat(2).chars().cycle().skip(number % 10).take(24 + number).collect::<String>()
    )
}

/// How many of the texts each file has.
fn found(folder: &Path, texts: &[String]) -> BTreeMap<String, usize> {
    let files =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).filter(|path| path.is_file());
    let count = |path: &Path| {
        let bytes = std::fs::read(path).unwrap();
        texts.iter().filter(|text| bytes.windows(text.len()).any(|window| window == text.as_bytes())).count()
    };
    let counted = files.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), count(&path)));
    counted.filter(|(_, count)| *count > 0).collect()
}

/// Imports activities of `name`, or new versions of them, with texts that begin with `prefix`.
fn import(service: &Service, name: &str, prefix: &str) -> Vec<String> {
    let line = |number: usize| {
        let (title, about) =
            (text(&format!("{prefix}title"), number), text(&format!("{prefix}about"), number));
        let line = json!({
            "SourceId": text(&format!("source-of-{name}-"), number),
            "SourceService": { "Name": "Delicious" },
            "Category": "BookmarkShared",
            "Title": title,
            "Bookmark": { "Title": "x", "Description": about, "Url": "https://example.org/" },
        });
        (line.to_string(), [title, about])
    };
    let (lines, texts): (Vec<_>, Vec<_>) = (0..40).map(line).unzip();
    service.run(&["import", name, "-"], &lines.join("\n"));
    texts.into_iter().flatten().collect()
}

#[test]
fn a_removed_account_leaves_no_text_beside_a_running_service() {
    let service = Service::start(Folder::new(), "", "info");
    service.add_account(
        "alice",
        &["--given-name", "Wilhelmina-Henriette", "--family-name", "Oberhauser-Unique"],
    );
    service.add_account("bob", &[]);
    let mut texts = import(&service, "alice", "first");
    // New versions: the old texts must go too.
    texts.extend(import(&service, "alice", "second"));
    let kept = import(&service, "bob", "kept");
    texts.extend(["Wilhelmina-Henriette", "Oberhauser-Unique"].map(str::to_owned));
    service.run(&["key", "add", "alice", "--name", "the key of her telephone"], "");
    texts.push("the key of her telephone".to_owned());
    let folder = service.file("tofrom.db").parent().unwrap().to_owned();
    assert!(!found(&folder, &texts).is_empty());

    let run = |arguments: &[&str]| {
        let output = std::process::Command::new(super::support::demo::BINARY)
            .args(arguments)
            .args(["--data", folder.to_str().unwrap()])
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(run(&["erase", "alice", "--prove"]).0, Some(1), "she is not removed");
    assert_eq!(run(&["erase", "nobody", "--prove"]).0, Some(1));
    assert_eq!(run(&["erase", "alice", "--prove", "--remove"]), (Some(0), String::new()));
    assert_eq!(found(&folder, &texts), BTreeMap::new());
    assert_eq!(run(&["erase", "alice", "--prove"]).0, Some(0), "again");
    assert!(!found(&folder, &kept).is_empty());
    let exported = service.run(&["export", "bob"], "");
    assert_eq!(exported.lines().count(), 40);

    let audit = service.run(&["audit"], "");
    let records: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let erased = records
        .iter()
        .find(|record| record["event"] == "account-erased" && record["about"] == "40 activities");
    assert!(erased.is_some_and(|record| record["target"] == "alice"), "{audit}");
    let added = records.iter().filter(|record| record["event"] == "account-added");
    assert_eq!(
        added.map(|record| record["erased"] == true).collect::<Vec<_>>(),
        [false, true],
        "newest first"
    );
    service.run(&["audit", "--verify"], "");

    let (folder, _) = service.stop();
    let again = tofrom(&folder, &["account", "add", "alice", "--password-stdin"], &password_of("alice"));
    assert_eq!(again.status.code(), Some(1), "the name is not given again");
}

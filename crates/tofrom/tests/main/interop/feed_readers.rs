//! feedparser and feed-rs find every field of RFC 4287 that is present, with the values of JSON.

use super::super::support::folder::Folder;
use super::{Page, SET_UP, full_name, object, pages, text_at};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// The Python with feedparser, as installed by scripts/setup.
pub(super) fn python() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = cache.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"));
    let python = cache.join("tofrom/python/bin/python");
    assert!(python.is_file(), "{} is missing: {SET_UP}", python.display());
    python
}

/// One page of each collection with a different title, and all of alice's.
fn all_pages() -> Vec<Page> {
    let pages: Vec<Page> = ["alice/tofrom", "alice/from", "alice/to", "bob/from"]
        .into_iter()
        .flat_map(|one| pages("alice", one))
        .collect();
    assert!(pages.len() > 8, "too few pages in the demo: {}", pages.len());
    pages
}

#[test]
fn feedparser_finds_every_field() {
    let pages = all_pages();
    let folder = Folder::new();
    let files: Vec<PathBuf> =
        (0..pages.len()).map(|number| folder.path().join(format!("{number}.atom"))).collect();
    for (page, file) in pages.iter().zip(&files) {
        std::fs::write(file, &page.atom.body).unwrap();
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/read_atom.py");
    let run = Command::new(python()).arg("-B").arg(script).args(&files).output().unwrap();
    assert!(run.status.success(), "{}\n{SET_UP}", String::from_utf8_lossy(&run.stderr));
    let feeds: Vec<Value> = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(feeds.len(), pages.len());
    for (feed, page) in feeds.iter().zip(&pages) {
        assert_eq!(feed["bozo"], false, "{}", feed["why"]);
        assert_eq!(feed["version"], "atom10");
        assert!(
            feed["id"].as_str().unwrap().starts_with("tag:") && !feed["title"].as_str().unwrap().is_empty()
        );
        let activities = page.json.activities();
        let entries = feed["entries"].as_array().unwrap();
        assert_eq!(entries.len(), activities.len());
        let newest = entries.iter().map(|entry| entry["updated"].as_str().unwrap()).max();
        assert_eq!(feed["updated"].as_str(), newest);
        for rel in ["self", "first", "next", "updates"] {
            let found = feed["links"].as_array().unwrap().iter().find(|link| link["rel"] == rel);
            assert_eq!(
                found.map(|link| link["href"].as_str().unwrap()),
                page.atom.link(rel).as_deref(),
                "{rel}"
            );
        }
        entries.iter().zip(&activities).for_each(|(entry, activity)| assert_entry(entry, activity));
    }
}

fn assert_entry(entry: &Value, activity: &Value) {
    let id = text_at(activity, &["ActivityIdentifier"]).unwrap();
    assert!(entry["id"].as_str().unwrap().ends_with(&format!(",2009:activity/{id}")), "{entry}");
    assert_eq!(entry["title"].as_str(), text_at(activity, &["Title"]));
    assert_eq!(entry["title_type"], "text/plain");
    for date in ["updated", "published"] {
        let text = entry[date].as_str().unwrap();
        assert_eq!(model::Millis::parse(text).unwrap().zulu(), text);
        assert_eq!(entry[format!("{date}_parsed")], true, "{text}");
    }
    // Search all links: the reader's shortcut wants another type than the contract's text/xhtml. This reader also
    // counts the object's links as the entry's.
    let links = entry["links"].as_array().unwrap();
    let alternate = |kind: &str| links.iter().find(|link| link["rel"] == "alternate" && link["type"] == kind);
    assert_eq!(alternate("text/xhtml").unwrap()["href"].as_str(), text_at(activity, &["ActivityUrl"]));
    let page = alternate("text/html").and_then(|link| link["href"].as_str());
    assert_eq!(page, text_at(object(activity), &["Url"]));
    assert_eq!(entry["author"]["name"], full_name(activity));
    assert_eq!(entry["author"]["href"].as_str(), text_at(activity, &["SourceUser", "ProfileUrl"]));
    let categories = entry["categories"].as_array().unwrap();
    assert_eq!(categories.len(), 1);
    assert_eq!(categories[0]["term"].as_str(), text_at(activity, &["Category"]));
    assert_label(categories[0]["label"].as_str(), activity);
    assert!(categories[0]["scheme"].as_str().unwrap().ends_with("/docs/categories"));
    let summary = entry["summary"].as_str().map(unescaped);
    assert_eq!(summary.as_deref(), text_at(object(activity), &["Description"]));
    assert!(summary.is_none() || entry["summary_type"].is_string());
}

/// The label is the category with a space in it.
fn assert_label(label: Option<&str>, activity: &Value) {
    let label = label.unwrap();
    assert!(
        label.contains(' ') && Some(label.replace(' ', "").as_str()) == text_at(activity, &["Category"]),
        "{label}"
    );
}

fn unescaped(html: &str) -> String {
    html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

#[test]
fn feed_rs_finds_every_field() {
    for page in all_pages() {
        let feed = feed_rs::parser::parse(&page.atom.body[..]).unwrap();
        assert_eq!(feed.feed_type, feed_rs::model::FeedType::Atom);
        assert!(feed.id.starts_with("tag:") && feed.title.is_some_and(|title| !title.content.is_empty()));
        let activities = page.json.activities();
        assert_eq!(feed.entries.len(), activities.len());
        let newest = feed.entries.iter().map(|entry| entry.updated.unwrap()).max();
        assert_eq!(feed.updated, newest);
        for rel in ["self", "first", "next", "updates"] {
            let found = feed.links.iter().find(|link| link.rel.as_deref() == Some(rel));
            assert_eq!(found.map(|link| link.href.clone()), page.atom.link(rel), "{rel}");
        }
        for (entry, activity) in feed.entries.iter().zip(&activities) {
            let id = text_at(activity, &["ActivityIdentifier"]).unwrap();
            assert!(entry.id.ends_with(&format!(",2009:activity/{id}")), "{}", entry.id);
            assert_eq!(entry.title.as_ref().map(|title| &*title.content), text_at(activity, &["Title"]));
            assert!(entry.updated.is_some() && entry.published.is_some());
            let alternate = entry.links.iter().find(|link| link.rel.as_deref() == Some("alternate")).unwrap();
            assert_eq!(Some(&*alternate.href), text_at(activity, &["ActivityUrl"]));
            assert_eq!(alternate.media_type.as_deref(), Some("text/xhtml"));
            assert_eq!(entry.authors.len(), 1);
            assert_eq!(entry.authors[0].name, Some(full_name(activity)));
            assert_eq!(entry.authors[0].uri.as_deref(), text_at(activity, &["SourceUser", "ProfileUrl"]));
            assert_eq!(entry.categories.len(), 1);
            assert_eq!(Some(&*entry.categories[0].term), text_at(activity, &["Category"]));
            assert_label(entry.categories[0].label.as_deref(), activity);
            assert!(entry.categories[0].scheme.as_ref().unwrap().ends_with("/docs/categories"));
            let summary = entry.summary.as_ref().map(|summary| unescaped(&summary.content));
            assert_eq!(summary.as_deref(), text_at(object(activity), &["Description"]));
        }
    }
}

//! Import and export with a real store.

use super::*;
use crate::cli::export::export;
use model::{AccountName, Millis, Version};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use store::sqlite::{Options, SqliteStore};
use store::{Accounts, NewAccount};

/// A store in a temporary folder, which is removed with the test.
struct TestStore {
    folder: PathBuf,
    store: Arc<SqliteStore>,
}

impl TestStore {
    fn new() -> TestStore {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tofrom-import-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let options = Options { synchronous_off: true, ..Options::default() };
        let store = Arc::new(SqliteStore::open(&folder.join("test.db"), options).unwrap());
        TestStore { folder, store }
    }

    async fn account(&self, name: &str) -> Account {
        let new = NewAccount {
            name: AccountName::parse(name).unwrap(),
            version: Version(1),
            given_name: None,
            family_name: None,
            public: true,
            operator: false,
            password: None,
            created: Millis(1),
        };
        self.store.create_account(new).await.unwrap().unwrap()
    }
}

impl Drop for TestStore {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

async fn import(origin: &TestStore, account: &Account, text: &str) -> Vec<Value> {
    let import = Import {
        store: origin.store.clone(),
        clock: Clock::system(),
        site: Some(Site::new("https://feeds.example.org", "feeds.example.org", CursorKeys::default())),
        account: account.clone(),
        quotas: Quotas::default(),
        retention: None,
    };
    let mut results = Vec::new();
    let mut report = Report::new(Some(&mut results), ProgressBar::hidden());
    import.run(Lines::of(io::Cursor::new(text.to_owned())), &mut report).await.unwrap();
    let results = String::from_utf8(results).unwrap();
    results.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn exported(origin: &TestStore, account: &Account) -> String {
    let mut out = Vec::new();
    export(origin.store.clone(), account, &mut out).await.unwrap();
    String::from_utf8(out).unwrap()
}

fn activity(id: &str) -> Value {
    json!({
        "SourceId": id, "Title": format!("<b>R&D</b> \"{id}\" été 😀"), "Category": "BookmarkShared",
        "SourceService": {"Name": "Delicious", "IconUrl": "https://example.org/i.png"},
        "PublishedDate": "2009-10-01T12:34:56.789+02:00", "CommentCount": 3, "Visibility": "followers", "To": ["bob"],
        "Bookmark": {
            "Title": "Ünïcode & <tags>", "Description": "two\nlines, ]]> and  blanks", "Url": "https://example.org/?a=1",
            "Thumbnail": {"Url": "https://example.org/t.png", "Height": 80},
        },
    })
}

fn statuses(results: &[Value]) -> Vec<u64> {
    results.iter().map(|line| line["status"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn a_rejected_line_does_not_stop_the_import() {
    let origin = TestStore::new();
    let alice = origin.account("alice").await;
    let plain = json!({
        "SourceId": "plain", "SourceService": {"Name": "GitHub"}, "Verb": "doffed", "Type": "top-hat", "Title": "x",
        "Top-hat": {"Url": "https://example.org/"},
    });
    let text = format!("{}\n{{\n\n{}\n{}", activity("1"), json!({"Title": 1}), plain);
    let results = import(&origin, &alice, &text).await;
    assert_eq!(statuses(&results), [201, 400, 422, 201]);
    let id = results[0]["ActivityIdentifier"].as_str().unwrap();
    assert_eq!(results[0]["ActivityUrl"], format!("https://feeds.example.org/activity/{id}"));
    assert_eq!((&results[1]["line"], &results[2]["line"]), (&json!(2), &json!(4)));
    assert!(results[2]["detail"].as_str().unwrap().starts_with("Category: required"), "{}", results[2]);

    let again = import(&origin, &alice, &text).await;
    assert_eq!(statuses(&again), [200, 400, 422, 200], "importing again changes nothing");
    assert_eq!(again[0]["ActivityIdentifier"], id);
    assert_eq!(exported(&origin, &alice).await.lines().count(), 2);
}

#[tokio::test]
async fn an_export_can_be_imported_into_another_account() {
    let origin = TestStore::new();
    let (alice, other) = (origin.account("alice").await, origin.account("other").await);
    origin.account("bob").await;
    let lines: Vec<String> = (0..450).map(|n| activity(&format!("id {n}")).to_string()).collect();
    let results = import(&origin, &alice, &lines.join("\r\n")).await;
    assert_eq!(statuses(&results), vec![201; 450]);

    let first_export = exported(&origin, &alice).await;
    let order: Vec<Value> = first_export.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let first = &order[0];
    assert_eq!(first["To"], json!(["bob"]));
    assert_eq!((&first["LikeCount"], &first["Visibility"]), (&json!("0"), &json!("followers")));
    assert!(order.iter().enumerate().all(|(n, one)| one["SourceId"] == format!("id {n}")), "oldest first");

    assert_eq!(statuses(&import(&origin, &other, &first_export).await), vec![201; 450]);
    assert_eq!(exported(&origin, &other).await, first_export);
}

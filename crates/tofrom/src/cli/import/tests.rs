//! Import and export with a real store.

use super::*;
use crate::cli::export::export;
use crate::ingest::testing::IngestFixture;
use serde_json::{Value, json};

async fn import(place: &IngestFixture, account: &Account, text: &str) -> Vec<Value> {
    let import = Import {
        store: place.store.clone(),
        clock: Clock::system(),
        site: Some(Site::new("https://feeds.example.org", "feeds.example.org")),
        account: account.clone(),
    };
    let mut results = Vec::new();
    let mut report = Report::new(Some(&mut results), ProgressBar::hidden());
    import.run(Lines::of(io::Cursor::new(text.to_owned())), &mut report).await.unwrap();
    let results = String::from_utf8(results).unwrap();
    results.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn exported(place: &IngestFixture, account: &Account) -> String {
    let mut out = Vec::new();
    export(place.store.clone(), account, &mut out).await.unwrap();
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
    let place = IngestFixture::new();
    let alice = place.account("alice").await;
    let plain = json!({
        "SourceId": "plain", "SourceService": {"Name": "GitHub"}, "Verb": "doffed", "Type": "top-hat", "Title": "x",
        "Top-hat": {"Url": "https://example.org/"},
    });
    let text = format!("{}\n{{\n\n{}\n{}", activity("1"), json!({"Title": 1}), plain);
    let results = import(&place, &alice, &text).await;
    assert_eq!(statuses(&results), [201, 400, 422, 201]);
    let id = results[0]["ActivityIdentifier"].as_str().unwrap();
    assert_eq!(results[0]["ActivityUrl"], format!("https://feeds.example.org/activity/{id}"));
    assert_eq!((&results[1]["line"], &results[2]["line"]), (&json!(2), &json!(4)));
    assert!(results[2]["detail"].as_str().unwrap().starts_with("Category: required"), "{}", results[2]);

    let again = import(&place, &alice, &text).await;
    assert_eq!(statuses(&again), [200, 400, 422, 200], "importing again changes nothing");
    assert_eq!(again[0]["ActivityIdentifier"], id);
    assert_eq!(exported(&place, &alice).await.lines().count(), 2);
}

#[tokio::test]
async fn an_export_can_be_imported_into_another_account() {
    let place = IngestFixture::new();
    let (alice, other) = (place.account("alice").await, place.account("other").await);
    place.account("bob").await;
    let lines: Vec<String> = (0..450).map(|n| activity(&format!("id {n}")).to_string()).collect();
    let results = import(&place, &alice, &lines.join("\r\n")).await;
    assert_eq!(statuses(&results), vec![201; 450]);

    let first_export = exported(&place, &alice).await;
    let order: Vec<Value> = first_export.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let first = &order[0];
    assert_eq!(first["To"], json!(["bob"]));
    assert_eq!((&first["LikeCount"], &first["Visibility"]), (&json!("0"), &json!("followers")));
    assert!(order.iter().enumerate().all(|(n, one)| one["SourceId"] == format!("id {n}")), "oldest first");

    assert_eq!(statuses(&import(&place, &other, &first_export).await), vec![201; 450]);
    assert_eq!(exported(&place, &other).await, first_export);
}

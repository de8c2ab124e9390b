//! Each activity is imported once, however a feed changes its items; an activity that its owner deleted stays deleted.

use super::super::support::signer::encode;
use super::fixture::{atom, becomes, entry, fixture, host, post, url};
use serde_json::Value;
use std::collections::BTreeMap;
use test_server::CannedResponse;

const EARLIER: &str = "2026-01-02T03:04:05Z";
const LATER: &str = "2026-03-04T05:06:07Z";

/// Identifier and times of each activity, by the title of its object.
fn identities(activities: &[Value]) -> BTreeMap<String, String> {
    let mark = |one: &Value| format!("{} {}", one["ActivityIdentifier"], one["ReceivedDate"]);
    activities.iter().map(|one| (one["Article"]["Title"].as_str().unwrap().to_owned(), mark(one))).collect()
}

#[test]
fn a_reformatted_item_is_the_same_activity() {
    let (fixture, server) = (fixture(), fixture().server());
    let link = |address: &str| format!("<link href=\"{address}\"/>");
    let first = [
        entry(
            "urn:uuid:6fa459ea-ee8a-3ca4-894e-db77e160355e",
            "One",
            EARLIER,
            &link("http://blog.example/1"),
        ),
        entry("http://Blog.example/2", "Two", EARLIER, &link("http://blog.example/2")),
        entry("", "Three", EARLIER, &link("http://blog.example/3")),
    ];
    server.on("/feed", CannedResponse::feed(atom(&first)));
    let person = fixture.person("once");
    person.connect("blog", &url(&server, "/feed"));
    person.settled("blog");
    becomes(3, || person.activities().len());
    let before = identities(&person.activities());
    let reformatted = [
        entry("", "Three", LATER, &link("https://blog.example/3")),
        entry("URN:UUID:6FA459EA-EE8A-3CA4-894E-DB77E160355E", "One", LATER, &link("https://blog.example/1")),
        entry("https://blog.example/2", "Two", LATER, &link("https://blog.example/2")),
    ];
    server.on("/feed", CannedResponse::feed(atom(&reformatted)));
    assert_eq!(person.check("blog"), 0);
    becomes(before, || identities(&person.activities()));
    let exported = fixture.succeed(&["export", &person.name]);
    assert_eq!(exported.lines().count(), 3);
    assert_eq!(
        exported.matches("2026-01-02T03:04:05").count(),
        3,
        "the first published time stays: {exported}"
    );
}

#[test]
fn an_edited_item_updates_its_activity() {
    let (fixture, server) = (fixture(), fixture().server());
    server.on("/feed", CannedResponse::feed(atom(&[post(2), post(1)])));
    let person = fixture.person("edits");
    person.connect("blog", &url(&server, "/feed"));
    person.settled("blog");
    let before = identities(&person.activities());
    server.on("/feed", CannedResponse::feed(atom(&[post(2), post(1).replace("Post 1", "Post one")])));
    assert_eq!(person.check("blog"), 0, "an edit is not new");
    becomes(vec!["Post 2".to_owned(), "Post one".to_owned()], || person.titles());
    let after = identities(&person.activities());
    assert_eq!((&after["Post one"], &after["Post 2"]), (&before["Post 1"], &before["Post 2"]));
}

#[test]
fn a_deleted_activity_is_not_imported_again() {
    let (fixture, server) = (fixture(), fixture().server());
    server.on("/feed", CannedResponse::feed(atom(&[post(2), post(1)])));
    let person = fixture.person("deletes");
    person.connect("blog", &url(&server, "/feed"));
    person.settled("blog");
    let item = format!(
        "/200909/activity/{}/from/{}/{}",
        person.name,
        host(&server),
        encode("tag:blog.example,2026:1")
    );
    assert_eq!(person.request("DELETE", &item, &Value::Null).status, 204);
    becomes(vec!["Post 2".to_owned()], || person.titles());
    // An edited item would be the first to be imported again.
    server
        .on("/feed", CannedResponse::feed(atom(&[post(3), post(2), post(1).replace("Post 1", "Post one")])));
    assert_eq!(person.check("blog"), 1);
    person.pause("blog", true);
    person.pause("blog", false);
    person.settled("blog");
    becomes(vec!["Post 2".to_owned(), "Post 3".to_owned()], || person.titles());
}

#[test]
fn an_item_of_two_sources_is_imported_once() {
    let (fixture, server) = (fixture(), fixture().server());
    server.on("/feed", CannedResponse::feed(atom(&[post(2), post(1)])));
    server.on("/all", CannedResponse::feed(atom(&[post(3), post(2), post(1)])));
    let person = fixture.person("twice");
    person.connect("blog", &url(&server, "/feed"));
    person.connect("all", &url(&server, "/all"));
    person.settled("blog");
    person.settled("all");
    becomes(3, || person.activities().len());
}

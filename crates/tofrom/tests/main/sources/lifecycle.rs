//! The life of a source: the feed of a page is found, its items become activities, and the source is paused and
//! removed.

use super::fixture::{atom, becomes, entry, fixture, host, post, request_count, url, wait_for};
use serde_json::{Value, json};
use test_server::CannedResponse;

/// An entry with every field that an activity can have.
fn rich() -> String {
    let more = "<link href=\"https://blog.example/low-tide\"/><summary>The sea was gone.</summary>\
        <media:thumbnail url=\"https://blog.example/t.jpg\" width=\"120\" height=\"80\"/><thr:total>4</thr:total>";
    entry("tag:blog.example,2026:low-tide", "Low tide", "2026-01-02T03:04:05Z", more)
}

#[test]
fn the_feed_of_a_page_is_found_and_imported() {
    let (fixture, server) = (fixture(), fixture().server());
    let page = "<!doctype html><title>Blog</title><link rel=icon href=/icon.png>\
        <link rel=alternate type=application/atom+xml href=/feed.xml>";
    server.on("/", CannedResponse::page(page));
    server.on("/feed.xml", CannedResponse::feed(atom(&[rich()])));
    let person = fixture.person("round");

    let address = json!({ "Address": url(&server, "/") });
    let all = format!("/200909/user/{}/sources", person.name);
    let preview = person.request("POST", &all, &address).json()["Preview"]["Activity"][0].clone();
    let expected = json!({
    "Title": "Gil posted an article: Low tide", "Category": "ArticlePosted", "Service": host(&server),
    "Url": "https://blog.example/low-tide", "PublishedDate": "2026-01-02T03:04:05.000+00:00",
    "SourceId": "tag:blog.example,2026:low-tide", "Address": url(&server, "/feed.xml"),
    });
    assert_eq!(preview, expected);
    assert_eq!(
        (
            person.activities().len(),
            person.request("GET", &all, &Value::Null).json()["Sources"]["Source"].clone()
        ),
        (0, json!([]))
    );

    let made = person.put("blog", address.clone());
    assert_eq!(made.status, 201, "{}", made.text());
    let location = format!("{}/200909/user/{}/sources/blog", fixture.demo.client.base, person.name);
    assert_eq!(made.header("location"), Some(location.as_str()));
    becomes(1, || person.activities().len());
    let activity = person.activities().remove(0);
    assert_eq!(activity["Title"], "Gil posted an article: Low tide");
    assert_eq!(activity["Category"], "ArticlePosted");
    assert_eq!(activity["SourceUser"]["UserIdentifier"], person.name.as_str());
    assert_eq!(activity["SourceService"]["Name"], host(&server));
    assert_eq!(activity["CommentCount"], "4");
    let article = json!({
    "Title": "Low tide", "Description": "The sea was gone.", "Url": "https://blog.example/low-tide",
    "Thumbnail": { "Url": "https://blog.example/t.jpg", "Height": "80", "Width": "120" },
    });
    assert_eq!(activity["Article"], article);
    for media in ["application/xml", "application/atom+xml", "application/json", "application/fastinfoset"] {
        let target = format!("/200909/activity/{}/from", person.name);
        let shown = fixture.demo.client.get(&target, &[("ServicePSK", &person.key), ("Accept", media)]);
        assert_eq!(shown.status, 200);
        for text in ["Gil posted an article: Low tide", "The sea was gone.", "https://blog.example/t.jpg"] {
            let found = shown.body.windows(text.len()).any(|window| window == text.as_bytes());
            assert!(found, "{text} in {media}");
        }
    }

    let description = person.source("blog");
    for (field, value) in [
        ("Name", "blog"),
        ("Address", &url(&server, "/feed.xml")),
        ("Service", &host(&server)),
        ("Title", "A blog"),
        ("Page", &url(&server, "/")),
        ("Verified", "false"),
        ("Paused", "false"),
        ("Well", "true"),
    ] {
        assert_eq!(description[field], value, "{field}");
    }
    let health = description["Health"].as_str().unwrap();
    assert!(health.starts_with("Checked ") && health.contains(" ago, "), "{health}");
    let settled = person.settled("blog");
    assert_eq!(person.request("GET", &all, &Value::Null).json()["Sources"]["Source"], json!([settled]));
    assert_eq!(person.put("blog", address).status, 200, "a repeated PUT changes nothing");
    assert_eq!(person.activities().len(), 1);
    assert_eq!(request_count(&server, "/icon.png"), 0, "pictures are not fetched");
}

#[test]
fn a_page_with_a_rel_me_link_belongs_to_the_account() {
    let (fixture, server) = (fixture(), fixture().server());
    let person = fixture.person("owner");
    let profile = format!("{}/user/{}", fixture.demo.client.base, person.name);
    let page = format!(
        "<!doctype html><a rel=me href=\"{profile}\">me</a>\
         <link rel=alternate type=application/atom+xml href=/feed.xml>"
    );
    server.on("/", CannedResponse::page(page));
    server.on("/feed.xml", CannedResponse::feed(atom(&[post(1)])));
    person.connect("blog", &url(&server, "/"));
    assert_eq!(person.source("blog")["Verified"], "true");
    let other = fixture.person("other");
    other.connect("blog", &url(&server, "/"));
    assert_eq!(other.source("blog")["Verified"], "false");
}

#[test]
fn a_paused_source_imports_nothing_until_it_is_resumed() {
    let (fixture, server) = (fixture(), fixture().server());
    server.on("/feed", CannedResponse::feed(atom(&[post(1)])));
    let person = fixture.person("pauses");
    person.connect("blog", &url(&server, "/feed"));
    person.settled("blog");
    person.pause("blog", true);
    assert_eq!(person.health("blog"), "Paused: nothing is imported until it is resumed.");
    server.on("/feed", CannedResponse::feed(atom(&[post(2), post(1)])));
    let before = request_count(&server, "/feed");
    assert_eq!(person.check("blog"), 0);
    assert_eq!(person.titles(), ["Post 1"]);
    assert_eq!(request_count(&server, "/feed"), before, "nothing is fetched if all connections are paused");
    person.pause("blog", false);
    becomes(vec!["Post 1".to_owned(), "Post 2".to_owned()], || person.titles());
    let description = person.settled("blog");
    assert!(description["Health"].as_str().unwrap().contains("1 new"), "{description}");
}

#[test]
fn imported_activities_stay_or_are_removed_with_their_source() {
    let (fixture, server) = (fixture(), fixture().server());
    server.on("/feed", CannedResponse::feed(atom(&[post(2), post(1)])));
    server.on("/other", CannedResponse::feed(atom(&[post(3)])));
    let person = fixture.person("ends");
    person.connect("blog", &url(&server, "/feed"));
    person.connect("other", &url(&server, "/other"));
    becomes(3, || person.activities().len());
    assert_eq!(person.request("DELETE", &person.target("blog"), &Value::Null).status, 204);
    assert_eq!(person.request("GET", &person.target("blog"), &Value::Null).status, 404);
    assert_eq!(person.request("DELETE", &person.target("blog"), &Value::Null).status, 404);
    assert_eq!(person.titles(), ["Post 1", "Post 2", "Post 3"]);

    person.connect("blog", &url(&server, "/feed"));
    let deleted =
        person.request("DELETE", &format!("{}?activities=true", person.target("blog")), &Value::Null);
    assert_eq!(deleted.status, 204, "{}", deleted.text());
    becomes(vec!["Post 3".to_owned()], || person.titles());
}

#[test]
fn one_poll_serves_all_accounts_that_share_a_source() {
    let (fixture, server) = (fixture(), fixture().server());
    server.on("/feed", CannedResponse::feed(atom(&[post(1)])));
    let people = [fixture.person("shares"), fixture.person("shares")];
    for person in &people {
        person.connect("blog", &url(&server, "/feed"));
    }
    people.iter().for_each(|person| drop(person.settled("blog")));
    let before = request_count(&server, "/feed");
    server.on("/feed", CannedResponse::feed(atom(&[post(2), post(1)])));
    people[0].pause("blog", true);
    people[0].pause("blog", false);
    for person in &people {
        becomes(vec!["Post 1".to_owned(), "Post 2".to_owned()], || person.titles());
    }
    assert_eq!(wait_for(|| request_count(&server, "/feed"), |count| *count > before), before + 1);
}

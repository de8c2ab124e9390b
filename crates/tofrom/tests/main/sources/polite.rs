//! The fetcher respects servers: unchanged feeds are not transferred, `Retry-After` is kept, and moves are followed.

use super::fixture::{atom, becomes, fixture, now, post, request_count, seconds_until, url};
use model::{AccountName, Millis};
use serde_json::{Value, json};
use store::{Accounts, Source, Sources, StoreError};
use test_server::{Behaviour, CannedResponse};

const TAG: &str = "W/\"a strange, tag\"";
const TIME: &str = "Sat, 14 Nov 2026 10:00:00 GMT";

#[test]
fn validators_are_sent_back_unchanged() {
    let (fixture, server) = (fixture(), fixture().server());
    server.on("/feed", CannedResponse::feed(atom(&[post(1)])).with("ETag", TAG).with("Last-Modified", TIME));
    let person = fixture.person("tags");
    person.connect("blog", &url(&server, "/feed"));
    person.settled("blog");
    let before = request_count(&server, "/feed");
    assert_eq!(person.check("blog"), 0);
    assert_eq!(request_count(&server, "/feed"), before + 1);
    let last = server.requests().pop().unwrap();
    assert_eq!((last.header("if-none-match"), last.header("if-modified-since")), (Some(TAG), Some(TIME)));
    let health = person.health("blog");
    assert!(health.starts_with("Checked ") && health.contains("nothing new; next in "), "{health}");
    assert_eq!(person.titles(), ["Post 1"]);
}

#[test]
fn cache_control_of_a_feed_delays_the_next_poll() {
    let (fixture, server) = (fixture(), fixture().server());
    server.on("/feed", CannedResponse::feed(atom(&[post(1)])).with("Cache-Control", "max-age=86000"));
    let person = fixture.person("fresh");
    person.connect("blog", &url(&server, "/feed"));
    let next = seconds_until(&person.settled("blog")["NextDate"]);
    assert!((85_000..=86_400).contains(&next), "{next} s");
}

/// A server with `Retry-After` is not asked earlier, however accounts change their connections.
#[test]
fn retry_after_is_respected() {
    let (fixture, server) = (fixture(), fixture().server());
    let busy = Behaviour::from(CannedResponse::status(429).with("Retry-After", "7200"));
    server.on("/feed", CannedResponse::feed(atom(&[post(1)])));
    let person = fixture.person("later");
    person.connect("blog", &url(&server, "/feed"));
    person.settled("blog");
    server.on("/feed", busy);
    let words = "The server is busy. It will be tried again later; no action is needed.";
    assert!(person.check_fails("blog").contains(words));
    let before = request_count(&server, "/feed");
    let description = person.source("blog");
    let health = description["Health"].as_str().unwrap();
    let is_told =
        health.starts_with(&format!("{words} Last tried ")) && health.ends_with(" ago; next in 2 hours.");
    assert!(is_told, "{health}");
    assert_eq!(description["Well"], "false");
    assert!((7_190..=7_920).contains(&seconds_until(&description["NextDate"])), "{description}");
    person.pause("blog", true);
    person.pause("blog", false);
    assert_eq!(
        person.source("blog")["NextDate"],
        description["NextDate"],
        "the next poll is not moved forward"
    );
    assert_eq!(request_count(&server, "/feed"), before);
    assert_eq!(person.titles(), ["Post 1"]);
}

#[test]
fn a_feed_that_is_gone_is_not_polled_again() {
    let (fixture, server) = (fixture(), fixture().server());
    server.on("/feed", CannedResponse::feed(atom(&[post(1)])));
    let (person, waiting) = (fixture.person("gone"), fixture.person("gone"));
    person.connect("blog", &url(&server, "/feed"));
    waiting.connect("blog", &url(&server, "/feed"));
    waiting.settled("blog");
    server.on("/feed", CannedResponse::status(410));
    let words = "The feed was removed permanently (status 410): enter its new address, if it has one.";
    assert!(person.check_fails("blog").contains(words));
    person.pause("blog", true);
    person.pause("blog", false);
    let description = person.source("blog");
    assert_eq!(
        (&description["Health"], &description["NextDate"]),
        (&json!(format!("Ended: {words}")), &Value::Null)
    );
    assert_eq!(person.titles(), ["Post 1"], "imported activities stay");
    // The next new connection reactivates the source.
    server.on("/feed", CannedResponse::feed(atom(&[post(2)])));
    let other = fixture.person("gone");
    other.connect("blog", &url(&server, "/feed"));
    other.settled("blog");
    for earlier in [&person, &waiting] {
        becomes(vec!["Post 1".to_owned(), "Post 2".to_owned()], || earlier.titles());
    }
    assert_eq!(person.source("blog")["Well"], "true");
}

#[test]
fn nothing_is_fetched_for_removed_accounts() {
    let (fixture, server) = (fixture(), fixture().server());
    server.on("/feed", CannedResponse::feed(atom(&[post(1)])));
    let person = fixture.person("leaves");
    person.connect("blog", &url(&server, "/feed"));
    person.settled("blog");
    let before = request_count(&server, "/feed");
    let store = fixture.store();
    let account = AccountName::parse(&person.name).unwrap();
    let owner = fixture.runtime.block_on(store.account_by_name(&account)).unwrap().unwrap().uid;
    let connection = fixture.runtime.block_on(store.connection(owner, "blog")).unwrap().unwrap();
    let deleted = fixture.by_key(
        "DELETE",
        &format!("/200909/user/{}", person.name),
        fixture.demo.key("ops"),
        &Value::Null,
    );
    assert_eq!(deleted.status, 204, "{}", deleted.text());
    let source = || fixture.runtime.block_on(store.source(connection.source)).unwrap().unwrap();
    let due_at_once = |stored: Option<&Source>| {
        Ok::<_, StoreError>(stored.map(|source| Source { due: Some(Millis(now())), ..source.clone() }))
    };
    let update = store::update(&store, &connection.source, Millis(now()), due_at_once);
    fixture.runtime.block_on(update).unwrap();
    becomes(None, || source().due);
    assert_eq!(request_count(&server, "/feed"), before);
}

#[test]
fn a_permanent_redirect_is_adopted_once_it_is_confirmed() {
    let (fixture, old, new) = (fixture(), fixture().server(), fixture().server());
    old.on("/feed", CannedResponse::feed(atom(&[post(1)])));
    let people = [fixture.person("moves"), fixture.person("moves")];
    for person in &people {
        person.connect("blog", &url(&old, "/feed"));
    }
    people.iter().for_each(|person| drop(person.settled("blog")));
    old.on("/feed", CannedResponse::redirect(301, url(&new, "/feed")));
    new.on("/feed", CannedResponse::feed(atom(&[post(2), post(1)])));
    assert_eq!(people[0].check("blog"), 1);
    let description = people[1].source("blog");
    assert_eq!(description["Address"], url(&old, "/feed"), "a single redirect may be a mistake");
    let words = format!(" Its server reports that the feed has moved to {}.", url(&new, "/feed"));
    assert!(description["Health"].as_str().unwrap().ends_with(&words), "{description}");
    people[0].check("blog");
    people[0].check("blog");
    let before = request_count(&old, "/feed");
    new.on("/feed", CannedResponse::feed(atom(&[post(3), post(2), post(1)])));
    people[0].check("blog");
    for person in &people {
        assert_eq!(person.source("blog")["Address"], url(&new, "/feed"));
        becomes(["Post 1", "Post 2", "Post 3"].map(str::to_owned).to_vec(), || person.titles());
    }
    assert_eq!(request_count(&old, "/feed"), before, "the old address is no longer polled");
}

#[test]
fn a_temporary_redirect_is_not_adopted() {
    let (fixture, server) = (fixture(), fixture().server());
    server.on("/feed", CannedResponse::redirect(302, "/today"));
    server.on("/today", CannedResponse::feed(atom(&[post(1)])));
    let person = fixture.person("leads");
    person.connect("blog", &url(&server, "/feed"));
    assert_eq!(person.source("blog")["Address"], url(&server, "/feed"));
    server.on("/moved", CannedResponse::redirect(301, "/feed"));
    person.connect("moved", &url(&server, "/moved"));
    assert_eq!(person.source("moved")["Address"], url(&server, "/feed"));
}

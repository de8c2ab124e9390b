//! Rights on sources, their maximum number, and how often they may be fetched.

use super::fixture::{Person, atom, fixture, post, url};
use model::{AccountName, Version};
use serde_json::{Value, json};
use store::{Accounts, Connection, Sources};
use test_server::CannedResponse;

/// Every request on an account's sources.
fn requests(person: &Person, address: &str) -> Vec<(&'static str, String, Value)> {
    let all = format!("/200909/user/{}/sources", person.name);
    let feed = json!({ "Address": address });
    vec![
        ("GET", all.clone(), Value::Null),
        ("GET", person.target("blog"), Value::Null),
        ("POST", all, feed.clone()),
        ("PUT", person.target("blog"), json!({ "Paused": "true" })),
        ("PUT", person.target("new"), feed),
        ("DELETE", person.target("blog"), Value::Null),
    ]
}

#[test]
fn other_accounts_can_neither_see_nor_change_sources() {
    let (fixture, server) = (fixture(), fixture().server());
    server.on("/feed", CannedResponse::feed(atom(&[post(1)])));
    let address = url(&server, "/feed");
    let (person, other) = (fixture.person("mine"), fixture.person("other"));
    person.connect("blog", &address);
    person.settled("blog");
    let (before, asked) = (person.source("blog"), server.requests().len());
    for public in [false, true] {
        let account = json!({ "Public": public.to_string() });
        assert_eq!(person.request("PUT", &format!("/200909/user/{}", person.name), &account).status, 200);
        for (method, target, body) in requests(&person, &address) {
            // A public account's existence is no secret; its sources are.
            let expected = if public && method != "GET" { 403 } else { 404 };
            let answer = other.request(method, &target, &body);
            assert_eq!(answer.status, expected, "{method} {target}: {}", answer.text());
            let without =
                fixture.demo.client.send(method, &target, &[("Content-Type", "application/json")], b"{}");
            assert_eq!(without.status, 401, "{method} {target}");
        }
    }
    let mut after = person.source("blog");
    after["Health"] = before["Health"].clone();
    assert_eq!((after, server.requests().len()), (before, asked));

    let document: Value =
        serde_json::from_str(&fixture.succeed(&["key", "add", &person.name, "--scope", "read", "--json"]))
            .unwrap();
    let key = document["key"].as_str().unwrap();
    for (method, target, body) in requests(&person, &address) {
        let answer = fixture.by_key(method, &target, key, &body);
        assert_eq!(answer.status, if method == "GET" { 200 } else { 403 }, "{method} {target}");
    }
    let operator = fixture.demo.key("ops");
    for (method, target, body) in requests(&person, &address) {
        let answer = fixture.by_key(method, &target, operator, &body);
        assert!(answer.status < 300, "{method} {target}: {}", answer.text());
    }
}

#[test]
fn an_account_has_at_most_200_sources() {
    let (fixture, server) = (fixture(), fixture().server());
    server.on("/feed", CannedResponse::feed(atom(&[post(1)])));
    server.on("/other", CannedResponse::feed(atom(&[post(2)])));
    let person = fixture.person("many");
    person.connect("blog", &url(&server, "/feed"));
    let store = fixture.store();
    fixture.runtime.block_on(async {
        let account = AccountName::parse(&person.name).unwrap();
        let owner = store.account_by_name(&account).await.unwrap().unwrap().uid;
        let first = store.connection(owner, "blog").await.unwrap().unwrap();
        for number in 1..200 {
            let more = Connection { name: format!("blog-{number}"), version: Version(1), ..first.clone() };
            assert!(store.replace_connection(None, &more).await.unwrap());
        }
    });
    let refused = person.put("one-more", json!({ "Address": url(&server, "/other") }));
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert_eq!(refused.json()["quota"], "sources");
    assert_eq!(refused.json()["detail"], "An account may have 200 sources: remove one first.");
    assert_eq!(person.request("DELETE", &person.target("blog-7"), &Value::Null).status, 204);
    person.connect("one-more", &url(&server, "/other"));
}

#[test]
fn fetches_by_one_account_are_limited() {
    let (fixture, person) = (fixture(), fixture().person("often"));
    // Refused requests count too, so that probing addresses is slow.
    let address = json!({ "Address": "http://10.0.0.1/" });
    let statuses: Vec<u16> = (0..30).map(|_| person.put("blog", address.clone()).status).collect();
    assert_eq!(statuses, [422; 30]);
    let late = person.put("blog", address.clone());
    assert_eq!(late.status, 429, "{}", late.text());
    let wait: u64 = late.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait} s");
    assert_eq!(fixture.person("often").put("blog", address).status, 422, "other accounts are not limited");
}

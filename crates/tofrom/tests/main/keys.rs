//! Keys over HTTP: created, listed and revoked by an account or an operator, never beyond their creator.

use super::support::client::Answer;
use super::support::demo::Demo;
use super::support::folder::Folder;
use super::support::steal_adjusted_clock::becomes;
use serde_json::{Value, json};
use std::time::Duration;

const JSON: (&str, &str) = ("Accept", "application/json");

struct Fixture {
    demo: Demo,
    _folder: Folder,
}

impl Fixture {
    fn new() -> Fixture {
        let folder = Folder::new();
        Fixture { demo: Demo::start(folder.path(), &["--admin", "127.0.0.1:0"]), _folder: folder }
    }

    fn create(&self, key: &str, user: &str, body: Value) -> Answer {
        let headers = [("ServicePSK", key), ("Content-Type", "application/json"), JSON];
        let target = format!("/200909/user/{user}/keys");
        self.demo.client.send("POST", &target, &headers, body.to_string().as_bytes())
    }

    /// The key and its identifier.
    fn created(&self, key: &str, user: &str, body: Value) -> (String, String) {
        let answer = self.create(key, user, body);
        assert_eq!(answer.status, 201, "{}", answer.text());
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let made = answer.json()["Key"].clone();
        let id = made["Id"].as_str().unwrap().to_owned();
        assert!(answer.header("location").unwrap().ends_with(&format!("/200909/user/{user}/keys/{id}")));
        (made["Key"].as_str().unwrap().to_owned(), id)
    }

    fn status(&self, method: &str, key: &str, target: &str) -> u16 {
        self.demo.client.send(method, target, &[("ServicePSK", key), JSON], &[]).status
    }

    fn works(&self, key: &str) -> bool {
        self.status("GET", key, "/200909/whoami") == 200
    }

    fn listed(&self, key: &str, user: &str) -> Vec<Value> {
        let answer = self.demo.client.get(&format!("/200909/user/{user}/keys"), &[("ServicePSK", key), JSON]);
        assert!(answer.status == 200 && !answer.text().contains("tfk_"), "{}", answer.text());
        answer.json()["Keys"]["Key"].as_array().unwrap().clone()
    }
}

#[test]
fn revoking_a_key_revokes_the_keys_that_it_created() {
    let fixture = Fixture::new();
    let (alice, ops) = (fixture.demo.key("alice"), fixture.demo.key("ops"));
    let write = || json!({ "Name": "line", "Scope": "write" });
    let (first, id) = fixture.created(alice, "alice", write());
    let (second, _) = fixture.created(&first, "alice", write());
    let (third, _) = fixture.created(&second, "alice", json!({ "Name": "reader" }));
    let (other, _) = fixture.created(alice, "alice", write());
    assert!([&first, &second, &third, &other].iter().all(|key| fixture.works(key)));
    let before = fixture.listed(alice, "alice").len();
    assert_eq!(fixture.status("DELETE", alice, &format!("/200909/user/alice/keys/{id}")), 204);
    assert_eq!(fixture.status("DELETE", alice, &format!("/200909/user/alice/keys/{id}")), 404);
    for gone in [&first, &second, &third] {
        becomes(Duration::from_secs(6), false, || fixture.works(gone));
    }
    assert!(fixture.works(&other));
    assert_eq!(fixture.listed(alice, "alice").len(), before - 3);

    // An operator's key takes along what it created for another account.
    let (operating, id) = fixture.created(ops, "ops", write());
    let (handed_out, _) = fixture.created(&operating, "bob", json!({}));
    assert!(fixture.works(&handed_out));
    assert_eq!(fixture.status("DELETE", &operating, &format!("/200909/user/ops/keys/{id}")), 204);
    becomes(Duration::from_secs(6), false, || fixture.works(&handed_out));
}

#[test]
fn a_key_creates_nothing_beyond_itself() {
    let fixture = Fixture::new();
    let alice = fixture.demo.key("alice");
    let (short, own) = fixture.created(alice, "alice", json!({ "Scope": "write", "ExpiresIn": 3_600 }));
    assert_eq!(fixture.create(&short, "alice", json!({ "ExpiresIn": 7_200 })).status, 403);
    let inherited = fixture.create(&short, "alice", json!({})).json();
    let own = fixture.listed(alice, "alice").into_iter().find(|key| key["Id"] == own).unwrap();
    assert_eq!(inherited["Key"]["Expires"], own["Expires"]);
    let (reader, id) = fixture.created(alice, "alice", json!({}));
    let (_, another) = fixture.created(alice, "alice", json!({}));
    assert_eq!(fixture.create(&reader, "alice", json!({})).status, 403);
    assert_eq!(fixture.status("DELETE", &reader, &format!("/200909/user/alice/keys/{another}")), 403);
    assert_eq!(fixture.status("DELETE", &reader, &format!("/200909/user/alice/keys/{id}")), 204);

    let mut last = alice.to_owned();
    let mut line = 0;
    loop {
        let answer = fixture.create(&last, "alice", json!({ "Scope": "write" }));
        if answer.status != 201 {
            assert_eq!((answer.status, answer.json()["reason"].as_str()), (403, Some("key-limit")));
            break;
        }
        last = answer.json()["Key"]["Key"].as_str().unwrap().to_owned();
        line += 1;
    }
    assert_eq!(line, 7, "a line has eight keys");
    assert!(fixture.works(&last), "the last key of a line works");
}

#[test]
fn an_account_has_a_hundred_keys() {
    let fixture = Fixture::new();
    let (alice, ops) = (fixture.demo.key("alice"), fixture.demo.key("ops"));
    let mut ids = Vec::new();
    while fixture.listed(alice, "alice").len() < 100 {
        ids.push(fixture.created(ops, "alice", json!({ "Name": "one of many" })).1);
    }
    let refused = fixture.create(ops, "alice", json!({}));
    assert_eq!((refused.status, refused.json()["quota"].as_str()), (403, Some("keys")), "{}", refused.text());
    assert!(refused.json()["type"].as_str().unwrap().ends_with("/quota"));
    assert_eq!(fixture.status("DELETE", ops, &format!("/200909/user/alice/keys/{}", ids[0])), 204);
    assert_eq!(fixture.create(ops, "alice", json!({})).status, 201);
    for user in ["alice", "bob"] {
        let target = format!("/200909/user/{user}/keys");
        assert_eq!(fixture.status("GET", fixture.demo.key("carol"), &target), 404);
    }
}

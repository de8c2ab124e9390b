//! Acknowledged changes of an account are not lost to concurrent changes.

use super::super::support::browser::Browser;
use super::fixture::{JSON, WriteFixture, activity, becomes, fixture, fresh, item, with};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const THREADS: usize = 4;
const ROUNDS: usize = 4;

/// Calls `act` while several clients change the account's profile, before it and after it.
fn under_updates(fixture: &WriteFixture, name: &str, key: &str, act: impl FnOnce()) {
    let (over, updates) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (over, updates) = (&over, &updates);
    let address = format!("/200909/user/{name}");
    let address = &address;
    thread::scope(|scope| {
        for number in 0..THREADS {
            scope.spawn(move || {
                for turn in 0.. {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    let body = json!({ "FamilyName": format!("{number}-{turn}") }).to_string();
                    match fixture.by_key("PUT", address, key, JSON, body.as_bytes()).status {
                        200 => updates.fetch_add(1, Ordering::Relaxed),
                        // The account is disabled or removed by now.
                        401 | 404 => break,
                        other => panic!("unexpected status of a profile update: {other}"),
                    };
                }
            });
        }
        while updates.load(Ordering::Relaxed) < THREADS {
            thread::yield_now();
        }
        act();
        thread::sleep(Duration::from_millis(50));
        over.store(true, Ordering::Relaxed);
    });
}

fn listed(fixture: &WriteFixture, name: &str) -> Value {
    let all = fixture.run(&["account", "list", "--json"]);
    let accounts = all.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut accounts = accounts.flat_map(|one| one.as_array().cloned().unwrap_or_else(|| vec![one]));
    accounts.find(|account| account["name"] == name).unwrap_or_default()
}

#[test]
fn a_disable_by_command_is_not_lost() {
    let fixture = fixture();
    for _ in 0..ROUNDS {
        let (name, key) = fixture.new_account("disabled", true);
        under_updates(fixture, &name, &key, || drop(fixture.run(&["account", "set", &name, "--disabled"])));
        assert_eq!(listed(fixture, &name)["disabled"], true);
        becomes(401, || fixture.by_key("GET", "/200909/whoami", &key, JSON, &[]).status);
    }
}

#[test]
fn a_disable_on_the_operator_page_is_not_lost() {
    let fixture = fixture();
    let base = &fixture.demo.client.base;
    let mut operator = Browser::new(&fixture.demo.client, base);
    let form = operator.visit(&format!("{base}/sign-in")).form("username").unwrap();
    operator.submit(&form, &[("username", "ops"), ("password", fixture.demo.password("ops"))]);
    for _ in 0..ROUNDS {
        let (name, key) = fixture.new_account("disabled", true);
        let page = operator.visit(&format!("{base}/operator/accounts?name={name}"));
        let disables = format!("/{name}/disable");
        let form = page.forms().into_iter().find(|form| form.action.ends_with(&disables)).unwrap();
        under_updates(fixture, &name, &key, || assert_eq!(operator.submit(&form, &[]).status(), 200));
        assert_eq!(listed(fixture, &name)["disabled"], true);
    }
}

#[test]
fn a_new_password_is_not_lost() {
    let fixture = fixture();
    for round in 0..ROUNDS {
        let (name, key) = fixture.new_account("password", true);
        let password = format!("the right one of round {round}");
        let set = ["account", "set", &name, "--password-stdin"];
        under_updates(fixture, &name, &key, || drop(fixture.run_with_input(&set, &password)));
        let basic = fixture.demo.basic(&name, &password);
        let credentials = [("Authorization", basic.as_str())];
        assert_eq!(fixture.demo.client.get("/200909/whoami", &credentials).status, 200, "round {round}");
    }
}

#[test]
fn a_removal_is_not_lost() {
    let fixture = fixture();
    for _ in 0..ROUNDS {
        let (name, key) = fixture.new_account("removed", true);
        let address = format!("/200909/user/{name}");
        under_updates(fixture, &name, &key, || {
            assert_eq!(fixture.request("DELETE", &address, "ops").status, 204)
        });
        assert_eq!(listed(fixture, &name), Value::Null);
        assert_eq!(fixture.request("GET", &address, "ops").status, 404);
    }
}

/// An edge is a register: either of a concurrent follow and unfollow may win. Both ends agree on the winner, and the
/// next change takes effect.
#[test]
fn an_edge_is_consistent_after_a_race() {
    let fixture = fixture();
    let (name, key) = fixture.new_account("follows", true);
    let edge = format!("/200909/user/{name}/following/bob");
    let names = |address: &str| {
        let page = fixture.by_key("GET", address, fixture.demo.key("ops"), JSON, &[]).json();
        let users = page["Users"]["User"].as_array().cloned().unwrap_or_default();
        users.iter().map(|user| user["UserIdentifier"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let follows = || names(&format!("/200909/user/{name}/following")) == ["bob"];
    let is_follower = || names("/200909/user/bob/followers?count=200").contains(&name);
    for _ in 0..ROUNDS {
        thread::scope(|scope| {
            for method in ["PUT", "DELETE", "PUT", "DELETE"] {
                let (edge, key) = (&edge, &key);
                scope.spawn(move || assert_eq!(fixture.by_key(method, edge, key, JSON, &[]).status, 204));
            }
        });
        assert_eq!(follows(), is_follower());
        for (method, expected) in [("PUT", true), ("DELETE", false)] {
            assert_eq!(fixture.by_key(method, &edge, &key, JSON, &[]).status, 204);
            assert_eq!((follows(), is_follower()), (expected, expected));
        }
    }
}

/// Atom cannot express likes, and leaves counts out: they stay as stored, not as they were when the request arrived.
#[test]
fn counts_survive_concurrent_edits_in_atom() {
    const TURNS: usize = 30;
    let (fixture, service) = (fixture(), fresh("counts"));
    let target = item("bob", &service, "1");
    let key = fixture.demo.key("bob");
    fixture.wrote("bob", &service, "1", &activity("first"));
    let edit = |turn: usize| {
        let entry = format!(
            "<entry xmlns='http://www.w3.org/2005/Atom' xmlns:a='http://activitystrea.ms/spec/1.0/'>\
             <title>edit {turn}</title><category term='BookmarkShared'/><a:object><title>t</title>\
             <link rel='related' href='https://example.org/'/></a:object></entry>"
        );
        assert_eq!(fixture.by_key("PUT", &target, key, "application/atom+xml", entry.as_bytes()).status, 200);
    };
    let count = |turn: usize| {
        let counted = json!({ "CommentCount": turn, "LikeCount": turn });
        assert_eq!(fixture.put("bob", &service, "1", &with(activity("counted"), counted)).status, 200);
    };
    thread::scope(|scope| {
        scope.spawn(|| (1..=TURNS).for_each(edit));
        scope.spawn(|| (1..=TURNS).for_each(count));
    });
    let stored = fixture.request("GET", &target, "bob").json();
    assert_eq!((&stored["CommentCount"], &stored["LikeCount"]), (&json!("30"), &json!("30")), "{stored}");
}

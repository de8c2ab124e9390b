//! Accounts over HTTP.

use super::fixture::{JSON, activity, becomes, fixture, fresh, item, refusal};
use serde_json::{Value, json};

fn address(name: &str) -> String {
    format!("/200909/user/{name}")
}

#[test]
fn operators_create_accounts_and_accounts_change_themselves() {
    let (fixture, name) = (fixture(), fresh("made"));
    let named = json!({ "GivenName": "Ann", "FamilyName": "Å <b>", "Public": true, "Operator": true });
    let made = fixture.send("PUT", &address(&name), "ops", &named);
    let location = format!("{}{}", fixture.demo.client.base, address(&name));
    assert_eq!((made.status, made.header("location")), (201, Some(location.as_str())));
    assert_eq!(fixture.send("PUT", &address(&name), "ops", &named).status, 200);
    let key = fixture.new_key(&name, "write");
    let show = || fixture.by_key("GET", &address(&name), &key, JSON, &[]).json()["User"].clone();
    let shown = show();
    assert_eq!((&shown["UserIdentifier"], &shown["GivenName"]), (&json!(name), &json!("Ann")));
    assert_eq!((&shown["FamilyName"], &shown["Public"]), (&json!("Å <b>"), &json!("true")));

    let change =
        |body: &Value| fixture.by_key("PUT", &address(&name), &key, JSON, body.to_string().as_bytes()).status;
    assert_eq!(change(&json!({ "FamilyName": "" })), 200);
    let shown = show();
    assert_eq!((&shown["GivenName"], &shown["FamilyName"]), (&json!("Ann"), &Value::Null));
    assert_eq!(change(&json!({ "User": shown })), 200, "the shown profile can be put back");
    assert_eq!(change(&json!({ "Public": "perhaps" })), 422);
    assert_eq!(fixture.request("GET", &address(&name), "bob").status, 200);
    assert_eq!(change(&json!({ "Public": false })), 200);
    assert_eq!(fixture.request("GET", &address(&name), "bob").status, 404, "the account is private now");
    assert_eq!(
        fixture.by_key("GET", "/200909/activity/alice/from", &key, JSON, &[]).status,
        404,
        "no operator"
    );
}

#[test]
fn representations() {
    let fixture = fixture();
    for kind in ["application/xml", "application/json", "application/fastinfoset"] {
        let headers = [("ServicePSK", fixture.demo.key("carol")), ("Accept", kind)];
        let shown = fixture.demo.client.get(&address("carol"), &headers);
        assert_eq!((shown.status, shown.header("content-type")), (200, Some(kind)));
        let put = fixture.by_key("PUT", &address("carol"), fixture.demo.key("carol"), kind, &shown.body);
        assert_eq!(put.status, 200, "{kind}: {}", put.text());
    }
    let headers = [("ServicePSK", fixture.demo.key("carol")), ("Accept", "application/atom+xml")];
    assert_eq!(fixture.demo.client.get(&address("carol"), &headers).status, 406);
    assert_eq!(
        fixture.by_key("PUT", &address("carol"), fixture.demo.key("carol"), "text/plain", b"x").status,
        415
    );
    let shown = fixture.request("GET", &format!("{}?format=xml", address("carol")), "bob");
    assert!(shown.text().contains("<User><UserIdentifier>carol</UserIdentifier>"), "{}", shown.text());
}

#[test]
fn only_operators_and_the_account_itself_may_change_an_account() {
    let fixture = fixture();
    let (hidden, _) = fixture.new_account("hidden", false);
    for (name, status) in [("carol", 403), (hidden.as_str(), 404), ("missing-at-all", 404), ("-x", 404)] {
        let answer = fixture.send("PUT", &address(name), "bob", &json!({ "GivenName": "X" }));
        assert_eq!(refusal(&answer, "type").0, status, "{name}");
        assert_eq!(fixture.request("DELETE", &address(name), "bob").status, status, "{name}");
    }
    assert_eq!(fixture.request("GET", &address(&hidden), "bob").status, 404);
    assert_eq!(fixture.request("GET", &address(&hidden), "ops").status, 200);
    assert_eq!(fixture.send("PUT", &address("-x"), "ops", &json!({})).status, 404, "not a valid name");
}

#[test]
fn a_removed_account_leaves_only_its_reserved_name() {
    let (fixture, service) = (fixture(), fresh("removed"));
    let (name, key) = fixture.new_account("gone", true);
    let edge = |one: &str, other: &str| format!("{}/following/{other}", address(one));
    assert_eq!(fixture.request("PUT", &edge(&name, "bob"), "ops").status, 204);
    assert_eq!(fixture.request("PUT", &edge("alice", &name), "ops").status, 204);
    let put =
        fixture.by_key("PUT", &item(&name, &service, "1"), &key, JSON, activity("x").to_string().as_bytes());
    assert_eq!(put.status, 201);
    becomes(vec!["x".to_owned()], || fixture.titles("alice", "alice", "to", &service));

    assert_eq!(fixture.by_key("DELETE", &address(&name), &key, JSON, &[]).status, 204);
    assert_eq!(fixture.by_key("GET", "/200909/whoami", &key, JSON, &[]).status, 401, "immediately");
    assert_eq!(fixture.titles("alice", "alice", "to", &service), [""; 0], "immediately");
    for who in ["bob", "ops"] {
        assert_eq!(fixture.request("GET", &address(&name), who).status, 404);
        assert_eq!(fixture.request("GET", &format!("/200909/activity/{name}/from"), who).status, 404);
    }
    for (owner, list) in [("bob", "followers"), ("alice", "following")] {
        let listed = fixture.request("GET", &format!("{}/{list}?count=200", address(owner)), owner);
        assert!(!listed.text().contains(&format!("\"{name}\"")), "{}", listed.text());
    }
    let recreated = fixture.send("PUT", &address(&name), "ops", &json!({}));
    assert_eq!(refusal(&recreated, "type").0, 410, "a name cannot be reused");
    assert_eq!(fixture.request("DELETE", &address(&name), "ops").status, 404);
    assert_eq!(fixture.send("PUT", &item(&name, &service, "2"), "ops", &activity("x")).status, 404);
}

//! Who may write, and who may read the result.

use super::fixture::{NDJSON, activity, fixture, fresh, item, refusal, with};
use serde_json::json;

/// Every request that writes, for one account.
fn writes(user: &str, service: &str, id: &str) -> Vec<(&'static str, String, &'static str, String)> {
    let line = with(activity("n"), json!({ "SourceId": "n", "SourceService": { "Name": service } }));
    let (json, none) = ("application/json", String::new);
    vec![
        ("PUT", item(user, service, "new"), json, activity("n").to_string()),
        ("DELETE", item(user, service, "own"), json, none()),
        ("POST", format!("/200909/activity/{user}/from"), NDJSON, line.to_string()),
        ("DELETE", format!("/200909/activity/{user}/to/{id}"), json, none()),
        ("PUT", format!("/200909/user/{user}"), json, "{\"GivenName\":\"X\"}".to_owned()),
        ("DELETE", format!("/200909/user/{user}"), json, none()),
        ("PUT", format!("/200909/user/{user}/following/erin"), json, none()),
        ("DELETE", format!("/200909/user/{user}/following/erin"), json, none()),
    ]
}

#[test]
fn a_read_only_key_cannot_write() {
    let (fixture, service) = (fixture(), fresh("rights"));
    let id = fixture.wrote("bob", &service, "own", &activity("own"));
    let key = fixture.new_key("bob", "read");
    for (method, target, kind, body) in writes("bob", &service, &id) {
        let answer = fixture.by_key(method, &target, &key, kind, body.as_bytes());
        assert_eq!(refusal(&answer, "reason"), (403, "scope".to_owned()), "{method} {target}");
        assert_eq!(answer.json()["scope"], "write");
    }
    assert_eq!(fixture.titles("bob", "bob", "from", &service), ["own"]);
}

#[test]
fn an_account_cannot_write_for_another() {
    let (fixture, service) = (fixture(), fresh("rights"));
    for (victim, status, reason) in
        [("carol", 403, "not-yours"), ("alice", 404, ""), ("missing-at-all", 404, "")]
    {
        let id = "018bcfe5-6800-7000-8000-000000000000";
        if status == 403 {
            fixture.wrote(victim, &service, "own", &activity("own"));
        }
        for (method, target, kind, body) in writes(victim, &service, id) {
            let answer = fixture.by_key(method, &target, fixture.demo.key("bob"), kind, body.as_bytes());
            assert_eq!(refusal(&answer, "reason"), (status, reason.to_owned()), "{method} {target}");
        }
    }
    assert_eq!(fixture.titles("carol", "carol", "from", &service), ["own"]);
}

#[test]
fn operators_write_for_any_account_and_see_unknown_recipients() {
    let (fixture, service) = (fixture(), fresh("rights"));
    let target = item("alice", &service, "1");
    assert_eq!(fixture.send("PUT", &target, "ops", &activity("x")).status, 201);
    assert_eq!(fixture.titles("alice", "alice", "from", &service), ["x"]);
    assert_eq!(fixture.request("DELETE", &target, "ops").status, 204);
    assert_eq!(
        fixture.send("PUT", &item("missing-at-all", &service, "1"), "ops", &activity("x")).status,
        404
    );

    let to = with(activity("x"), json!({ "To": ["carol", "Missing-at-all", "no name"] }));
    assert_eq!(fixture.put("bob", &service, "1", &to).status, 201, "other accounts learn nothing");
    let answer = fixture.send("PUT", &item("bob", &service, "2"), "ops", &to);
    assert_eq!(refusal(&answer, "field"), (422, "To".to_owned()));
    let detail = answer.json()["detail"].to_string();
    assert!(detail.contains("Missing-at-all, no name") && !detail.contains("carol"), "{detail}");
}

#[test]
fn an_item_is_visible_exactly_where_the_collection_shows_it() {
    let (fixture, service) = (fixture(), fresh("rights"));
    for visibility in ["public", "followers", "direct"] {
        let body = with(activity(visibility), json!({ "Visibility": visibility, "To": ["alice"] }));
        fixture.wrote("bob", &service, visibility, &body);
    }
    // Carol follows bob, frank does not.
    for (reader, seen) in [
        ("bob", "public followers direct"),
        ("ops", "public followers direct"),
        ("alice", "public followers direct"),
        ("carol", "public followers"),
        ("frank", "public"),
    ] {
        let status = |id: &str| fixture.request("GET", &item("bob", &service, id), reader).status;
        let shown = ["public", "followers", "direct"].into_iter().filter(|id| status(id) == 200);
        assert_eq!(shown.collect::<Vec<_>>().join(" "), seen, "{reader}");
    }
    fixture.wrote("alice", &service, "1", &activity("x"));
    for (reader, status) in [("bob", 404), ("ops", 200)] {
        assert_eq!(fixture.request("GET", &item("alice", &service, "1"), reader).status, status, "{reader}");
    }
}

#[test]
fn a_recipient_removes_an_activity_from_to() {
    let (fixture, service) = (fixture(), fresh("rights"));
    let to = with(activity("x"), json!({ "To": ["alice", "bob"] }));
    let id = fixture.wrote("bob", &service, "1", &to);
    super::fixture::becomes(vec!["x".to_owned()], || fixture.titles("alice", "alice", "to", &service));
    let target = format!("/200909/activity/alice/to/{id}");
    assert_eq!(fixture.request("DELETE", &target, "alice").status, 204);
    assert_eq!(fixture.titles("alice", "alice", "tofrom", &service), [""; 0]);
    assert_eq!(fixture.request("DELETE", &target, "alice").status, 404, "it is already removed");
    for not_theirs in ["018bcfe5-6800-7000-8000-000000000000", "x", &id.replace('-', "")] {
        let target = format!("/200909/activity/alice/to/{not_theirs}");
        assert_eq!(fixture.request("DELETE", &target, "alice").status, 404, "{not_theirs}");
    }
    let not_reached = fixture.wrote("bob", &service, "2", &activity("y"));
    let target = format!("/200909/activity/frank/to/{not_reached}");
    assert_eq!(fixture.request("DELETE", &target, "frank").status, 404);
    // The actor keeps it.
    assert_eq!(fixture.request("DELETE", &format!("/200909/activity/bob/to/{id}"), "bob").status, 204);
    assert_eq!(fixture.titles("bob", "bob", "to", &service), [""; 0]);
    assert_eq!(fixture.titles("bob", "bob", "tofrom", &service), ["y", "x"]);
}

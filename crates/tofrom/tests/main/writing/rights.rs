//! Who may write, and who may read the result.

use super::stage::{NDJSON, activity, fresh, item, refusal, stage, with};
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
    let (stage, service) = (stage(), fresh("rights"));
    let id = stage.wrote("bob", &service, "own", &activity("own"));
    let key = stage.new_key("bob", "read");
    for (method, target, kind, body) in writes("bob", &service, &id) {
        let answer = stage.by_key(method, &target, &key, kind, body.as_bytes());
        assert_eq!(refusal(&answer, "reason"), (403, "scope".to_owned()), "{method} {target}");
        assert_eq!(answer.json()["scope"], "write");
    }
    assert_eq!(stage.titles("bob", "bob", "from", &service), ["own"]);
}

#[test]
fn an_account_cannot_write_for_another() {
    let (stage, service) = (stage(), fresh("rights"));
    for (victim, status, reason) in
        [("carol", 403, "not-yours"), ("alice", 404, ""), ("nobody-at-all", 404, "")]
    {
        let id = "018bcfe5-6800-7000-8000-000000000000";
        if status == 403 {
            stage.wrote(victim, &service, "own", &activity("own"));
        }
        for (method, target, kind, body) in writes(victim, &service, id) {
            let answer = stage.by_key(method, &target, stage.demo.key("bob"), kind, body.as_bytes());
            assert_eq!(refusal(&answer, "reason"), (status, reason.to_owned()), "{method} {target}");
        }
    }
    assert_eq!(stage.titles("carol", "carol", "from", &service), ["own"]);
}

#[test]
fn operators_write_for_any_account_and_see_unknown_recipients() {
    let (stage, service) = (stage(), fresh("rights"));
    let target = item("alice", &service, "1");
    assert_eq!(stage.send("PUT", &target, "ops", &activity("x")).status, 201);
    assert_eq!(stage.titles("alice", "alice", "from", &service), ["x"]);
    assert_eq!(stage.ask("DELETE", &target, "ops").status, 204);
    assert_eq!(stage.send("PUT", &item("nobody-at-all", &service, "1"), "ops", &activity("x")).status, 404);

    let to = with(activity("x"), json!({ "To": ["carol", "Nobody-at-all", "no name"] }));
    assert_eq!(stage.put("bob", &service, "1", &to).status, 201, "whoever is no operator is told nothing");
    let answer = stage.send("PUT", &item("bob", &service, "2"), "ops", &to);
    assert_eq!(refusal(&answer, "field"), (422, "To".to_owned()));
    let detail = answer.json()["detail"].to_string();
    assert!(detail.contains("Nobody-at-all, no name") && !detail.contains("carol"), "{detail}");
}

#[test]
fn an_item_is_visible_exactly_where_the_collection_shows_it() {
    let (stage, service) = (stage(), fresh("rights"));
    for visibility in ["public", "followers", "direct"] {
        let body = with(activity(visibility), json!({ "Visibility": visibility, "To": ["alice"] }));
        stage.wrote("bob", &service, visibility, &body);
    }
    // Carol follows bob, frank does not.
    for (reader, seen) in [
        ("bob", "public followers direct"),
        ("ops", "public followers direct"),
        ("alice", "public followers direct"),
        ("carol", "public followers"),
        ("frank", "public"),
    ] {
        let status = |id: &str| stage.ask("GET", &item("bob", &service, id), reader).status;
        let shown = ["public", "followers", "direct"].into_iter().filter(|id| status(id) == 200);
        assert_eq!(shown.collect::<Vec<_>>().join(" "), seen, "{reader}");
    }
    stage.wrote("alice", &service, "1", &activity("x"));
    for (reader, status) in [("bob", 404), ("ops", 200)] {
        assert_eq!(stage.ask("GET", &item("alice", &service, "1"), reader).status, status, "{reader}");
    }
}

#[test]
fn a_recipient_removes_an_activity_from_to() {
    let (stage, service) = (stage(), fresh("rights"));
    let to = with(activity("x"), json!({ "To": ["alice", "bob"] }));
    let id = stage.wrote("bob", &service, "1", &to);
    super::stage::becomes(vec!["x".to_owned()], || stage.titles("alice", "alice", "to", &service));
    let target = format!("/200909/activity/alice/to/{id}");
    assert_eq!(stage.ask("DELETE", &target, "alice").status, 204);
    assert_eq!(stage.titles("alice", "alice", "tofrom", &service), [""; 0]);
    assert_eq!(stage.ask("DELETE", &target, "alice").status, 404, "it is not there any more");
    for not_theirs in ["018bcfe5-6800-7000-8000-000000000000", "x", &id.replace('-', "")] {
        let target = format!("/200909/activity/alice/to/{not_theirs}");
        assert_eq!(stage.ask("DELETE", &target, "alice").status, 404, "{not_theirs}");
    }
    let not_reached = stage.wrote("bob", &service, "2", &activity("y"));
    let target = format!("/200909/activity/frank/to/{not_reached}");
    assert_eq!(stage.ask("DELETE", &target, "frank").status, 404);
    // The actor keeps it.
    assert_eq!(stage.ask("DELETE", &format!("/200909/activity/bob/to/{id}"), "bob").status, 204);
    assert_eq!(stage.titles("bob", "bob", "to", &service), [""; 0]);
    assert_eq!(stage.titles("bob", "bob", "tofrom", &service), ["y", "x"]);
}

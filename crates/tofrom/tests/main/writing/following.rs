//! Following.

use super::super::support::client::Answer;
use super::fixture::{JSON, NDJSON, activity, becomes, fixture, fresh, refusal, with};
use serde_json::{Value, json};

fn edge(one: &str, other: &str) -> String {
    format!("/200909/user/{one}/following/{other}")
}

fn names(page: &Answer) -> Vec<String> {
    assert_eq!(page.status, 200, "{}", page.text());
    let users = page.json()["Users"]["User"].as_array().unwrap().clone();
    users.iter().map(|user| user["UserIdentifier"].as_str().unwrap().to_owned()).collect()
}

/// All names of a list, page after page.
fn listed(user: &str, list: &str, reader: &str, query: &str) -> Vec<String> {
    let key = fixture().demo.key(reader);
    let mut page = fixture().request("GET", &format!("/200909/user/{user}/{list}{query}"), reader);
    let mut all = names(&page);
    while let Some(next) = page.link("next") {
        page = fixture().demo.client.follow(&next, &[("ServicePSK", key), ("Accept", JSON)]);
        all.extend(names(&page));
    }
    all
}

#[test]
fn following_backfills_50_and_unfollowing_keeps_addressed_activities() {
    let (fixture, service) = (fixture(), fresh("following"));
    let (actor, key) = fixture.new_account("actor", true);
    let (fan, fan_key) = fixture.new_account("fan", false);
    let line = |id: &str, more: Value| {
        let source = json!({ "SourceId": id, "SourceService": { "Name": service } });
        with(with(activity(id), source), more).to_string()
    };
    let mut lines: Vec<String> = (0..60).map(|n| line(&format!("i{n}"), json!({}))).collect();
    lines.push(line("hidden", json!({ "Visibility": "followers" })));
    lines.push(line("addressed", json!({ "Visibility": "direct", "To": [fan] })));
    let target = format!("/200909/activity/{actor}/from");
    let posted = fixture.by_key("POST", &target, &key, NDJSON, lines.join("\n").as_bytes());
    assert!(posted.status == 200 && !posted.text().contains("detail"), "{}", posted.text());

    let titles = || -> Vec<String> {
        let target = format!("/200909/activity/{fan}/to?count=200&service={service}");
        let page = fixture.by_key("GET", &target, &fan_key, JSON, &[]);
        page.activities().iter().map(|one| one["Title"].as_str().unwrap().to_owned()).collect()
    };
    let mut newest: Vec<String> = vec!["addressed".to_owned()];
    newest.extend((10..60).rev().map(|n| format!("i{n}")));
    let request = |method: &str| fixture.by_key(method, &edge(&fan, &actor), &fan_key, JSON, &[]).status;
    for _ in 0..2 {
        assert_eq!((request("PUT"), request("PUT")), (204, 204), "again too");
        becomes(newest.clone(), titles);
        assert_eq!((request("DELETE"), request("DELETE")), (204, 204), "again too");
        assert_eq!(titles(), ["addressed"], "immediately");
    }
}

#[test]
fn accounts_follow_public_accounts_and_operators_create_any_edge() {
    let (fixture, service) = (fixture(), fresh("following"));
    let answers =
        ["alice", "missing-at-all"].map(|other| fixture.request("PUT", &edge("carol", other), "carol"));
    assert_eq!(answers[0].json(), answers[1].json(), "private and absent accounts look alike");
    assert_eq!(answers[0].status, 404);
    let answers =
        ["alice", "missing-at-all"].map(|other| fixture.request("DELETE", &edge("carol", other), "carol"));
    assert_eq!((answers[0].status, answers[0].json()), (404, answers[1].json()));

    assert_eq!(fixture.request("PUT", &edge("carol", "alice"), "ops").status, 204);
    fixture.wrote("alice", &service, "1", &activity("x"));
    becomes(vec!["x".to_owned()], || fixture.titles("carol", "carol", "to", &service));
    assert_eq!(fixture.titles("bob", "carol", "to", &service), [""; 0], "alice is still private");
    assert_eq!(
        fixture.request("DELETE", &edge("carol", "alice"), "carol").status,
        204,
        "a follower may know the account"
    );
    assert_eq!(fixture.titles("carol", "carol", "to", &service), [""; 0]);

    for who in ["carol", "ops"] {
        assert_eq!(refusal(&fixture.request("PUT", &edge("carol", "Carol"), who), "type").0, 422);
    }
    assert_eq!(fixture.request("PUT", &edge("carol", "missing-at-all"), "ops").status, 404);
    assert_eq!(fixture.request("GET", &edge("carol", "bob"), "carol").status, 405);
}

#[test]
fn lists_in_pages() {
    let fixture = fixture();
    let (idol, _) = fixture.new_account("idol", true);
    let (quiet, _) = fixture.new_account("quiet", false);
    let mut fans = Vec::new();
    for n in 0..9 {
        let (fan, _) = fixture.new_account("lister", n % 3 > 0);
        assert_eq!(fixture.request("PUT", &edge(&fan, &idol), "ops").status, 204);
        assert_eq!(fixture.request("PUT", &edge(&quiet, &fan), "ops").status, 204);
        fans.push((fan, n % 3 > 0));
    }
    let all: Vec<String> = fans.iter().map(|(fan, _)| fan.clone()).collect();
    let public: Vec<String> = fans.iter().filter(|(_, public)| *public).map(|(fan, _)| fan.clone()).collect();
    for query in ["", "?count=1", "?count=2", "?count=9", "?count=1000"] {
        assert_eq!(listed(&idol, "followers", "ops", query), all, "{query}");
        assert_eq!(listed(&quiet, "following", "ops", query), all, "{query}");
        assert_eq!(
            listed(&idol, "followers", "bob", query),
            public,
            "{query}: other accounts see public followers"
        );
    }
    assert_eq!(listed(&idol, "followers", "ops", "?count=0"), [""; 0]);
    assert_eq!(fixture.request("GET", &format!("/200909/user/{quiet}/following"), "bob").status, 404);

    let page = fixture.request("GET", &format!("/200909/user/{idol}/followers?count=2&format=json"), "ops");
    let next = page.link("next").unwrap();
    assert!(next.contains("format=json&count=2&cursor="), "{next}");
    let cursor = next.split("cursor=").nth(1).unwrap();
    for (target, parameter) in [
        (format!("/200909/user/{idol}/following?cursor={cursor}"), "cursor"),
        (format!("/200909/user/{quiet}/followers?cursor={cursor}"), "cursor"),
        (format!("/200909/user/{idol}/followers?cursor=x{cursor}"), "cursor"),
        (format!("/200909/user/{idol}/followers?count=x"), "count"),
        (format!("/200909/user/{idol}/followers?count=1&count=2"), "count"),
        (format!("/200909/user/{idol}/followers?format=html"), "format"),
    ] {
        assert_eq!(
            refusal(&fixture.request("GET", &target, "ops"), "parameter"),
            (400, parameter.to_owned())
        );
    }
}

#[test]
fn lists_in_three_representations() {
    let fixture = fixture();
    let get = |kind: &str| {
        let headers = [("ServicePSK", fixture.demo.key("alice")), ("Accept", kind)];
        fixture.demo.client.get("/200909/user/alice/following", &headers)
    };
    let xml = get("application/xml");
    let text = "<Users><User><UserIdentifier>bob</UserIdentifier><ProfileUrl>";
    assert!(xml.text().contains(text), "{}", xml.text());
    let json = get("application/json").json()["Users"]["User"][0].clone();
    assert_eq!((&json["UserIdentifier"], &json["GivenName"]), (&json!("bob"), &json!("Bob")));
    let binary = get("application/fastinfoset");
    assert_eq!(binary.header("content-type"), Some("application/fastinfoset"));
    assert_eq!(&binary.body[..2], [0xe0, 0x00]);
    assert_eq!(get("application/atom+xml").status, 406);
}

#[test]
fn follows_are_managed_by_command() {
    let (fixture, service) = (fixture(), fresh("following"));
    let (fan, _) = fixture.new_account("commanded", false);
    fixture.wrote("alice", &service, "1", &activity("x"));
    assert_eq!(fixture.run(&["follow", "add", &fan, "alice"]).trim(), format!("{fan} follows alice"));
    let titles = || fixture.demo.read("ops", &fan, "to", &format!("service={service}")).activities().len();
    becomes(1, titles);
    let listed: Value = serde_json::from_str(&fixture.run(&["follow", "list", &fan, "--json"])).unwrap();
    assert_eq!((&listed[0]["name"], listed.as_array().unwrap().len()), (&json!("alice"), 1));
    fixture.run(&["follow", "remove", &fan, "alice"]);
    assert_eq!(fixture.run(&["follow", "list", &fan, "--json"]).trim(), "[]");
    assert_eq!(titles(), 0);
}

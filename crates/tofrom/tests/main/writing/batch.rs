//! Batches.

use super::super::support::client::Answer;
use super::fixture::{JSON, NDJSON, activity, becomes, fixture, fresh, refusal, with};
use serde_json::{Value, json};

fn line(service: &str, id: &str) -> String {
    with(activity(id), json!({ "SourceId": id, "SourceService": { "Name": service } })).to_string()
}

fn post(user: &str, kind: &str, body: &str) -> Answer {
    let target = format!("/200909/activity/{user}/from");
    fixture().by_key("POST", &target, fixture().demo.key(user), kind, body.as_bytes())
}

fn lines(answer: &Answer) -> Vec<Value> {
    assert_eq!((answer.status, answer.header("content-type")), (200, Some(NDJSON)), "{}", answer.text());
    answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn statuses(answer: &Answer) -> Vec<u64> {
    lines(answer).iter().map(|line| line["status"].as_u64().unwrap()).collect()
}

#[test]
fn every_line_gets_its_own_result_in_order() {
    let (fixture, service) = (fixture(), fresh("batch"));
    let untitled = with(
        json!({ "Category": "BookmarkShared", "Bookmark": { "Title": "t" } }),
        json!({ "SourceId": "u", "SourceService": { "Name": service } }),
    );
    let nameless = activity("no address").to_string();
    let long = format!("{{\"Title\":\"{}\"}}", "x".repeat(64 * 1024));
    let body = [
        line(&service, "0"),
        "{".to_owned(),
        untitled.to_string(),
        String::new(),
        nameless,
        long,
        line(&service, "1"),
        line(&service, "0"),
    ];
    let answer = post("alice", NDJSON, &body.join("\r\n"));
    let results = lines(&answer);
    assert_eq!(statuses(&answer), [201, 400, 422, 422, 413, 201, 200]);
    assert_eq!((&results[2]["field"], &results[3]["field"]), (&json!("Title"), &json!("SourceId")));
    assert!(results[1]["type"].as_str().unwrap().ends_with("/docs/problems/body"));
    assert_eq!(results[0]["ActivityUrl"], results[6]["ActivityUrl"], "the same address is the same activity");
    let shown = fixture.demo.read("alice", "alice", "from", &format!("service={service}")).activities();
    let urls: Vec<&Value> = shown.iter().map(|one| &one["ActivityUrl"]).collect();
    assert_eq!(urls, [&results[5]["ActivityUrl"], &results[0]["ActivityUrl"]], "in order, newest first");
    assert_eq!(statuses(&post("alice", NDJSON, &body.join("\n"))), [200, 400, 422, 422, 413, 200, 200]);
}

/// As many as a page may have, and forty more.
#[test]
fn a_page_has_the_requested_size_or_is_refused() {
    let fixture = fixture();
    let (name, key) = fixture.new_account("many", false);
    let target = format!("/200909/activity/{name}/from");
    let read = |query: &str| fixture.by_key("GET", &format!("{target}?{query}"), &key, JSON, &[]);
    let updates = read("count=0").link("updates").unwrap();
    let updates = updates.split("cursor=").nth(1).unwrap().to_owned();
    let all: Vec<String> = (0..1_040).map(|number| line("Bulk", &number.to_string())).collect();
    for part in all.chunks(1_000) {
        let answer = fixture.by_key("POST", &target, &key, NDJSON, part.join("\n").as_bytes());
        assert!(statuses(&answer).iter().all(|status| *status == 201));
    }
    let mut walked = Vec::new();
    let mut page = read("count=400");
    loop {
        walked.extend(page.ids());
        let Some(next) = page.link("next") else { break };
        page = fixture.demo.client.follow(&next, &[("ServicePSK", &key), ("Accept", JSON)]);
    }
    assert_eq!(walked.len(), 1_040);
    for count in [201, 999, 1_000] {
        let page = read(&format!("count={count}"));
        assert_eq!(page.ids(), walked[..count], "{count}");
        assert!(page.link("next").is_some(), "{count}");
    }
    for count in [1_001, 2_147_483_647] {
        let page = read(&format!("start=40&count={count}"));
        assert_eq!((page.ids().as_slice(), page.link("next")), (&walked[40..], None), "{count}");
        for query in ["start=39&", "", &format!("cursor={updates}&")] {
            // Arrivals are in `updates` once they are delivered.
            becomes((400, "count".to_owned()), || {
                let answer = read(&format!("{query}count={count}"));
                if answer.status == 200 { (200, String::new()) } else { refusal(&answer, "parameter") }
            });
            let detail = read(&format!("{query}count={count}")).json()["detail"].to_string();
            assert!(detail.contains("1000") && detail.contains("next"), "{detail}");
        }
    }
    let page = read(&format!("cursor={updates}&count=1000"));
    assert_eq!((page.ids().len(), page.link("next").is_some()), (1_000, true));
    let next = page.link("next").unwrap();
    let rest = fixture.demo.client.follow(&next, &[("ServicePSK", &key), ("Accept", JSON)]);
    let mut arrived = [page.ids(), rest.ids()].concat();
    arrived.reverse();
    assert_eq!(arrived, walked, "oldest first, each once");
}

#[test]
fn a_later_line_updates_an_earlier_one() {
    let (fixture, service) = (fixture(), fresh("batch"));
    let bare = json!({
        "SourceId": "1", "SourceService": { "Name": service }, "Title": "two", "Bookmark": { "Title": "t" },
    });
    let answer = post("alice", NDJSON, &format!("{}\n{bare}\n", line(&service, "1")));
    assert_eq!(statuses(&answer), [201, 200]);
    assert_eq!(fixture.titles("alice", "alice", "from", &service), ["two"]);
}

#[test]
fn a_batch_has_at_most_1000_activities() {
    let (fixture, service) = (fixture(), fresh("batch"));
    let all: Vec<String> = (0..1_001).map(|n| line(&service, &n.to_string())).collect();
    assert_eq!(refusal(&post("alice", NDJSON, &all.join("\n")), "type").0, 413);
    assert_eq!(fixture.titles("alice", "alice", "from", &service), [""; 0], "none was accepted");
    assert_eq!(statuses(&post("alice", NDJSON, &all[1..].join("\n"))), [201; 1_000]);
    assert_eq!(fixture.titles("alice", "alice", "from", &service).len(), 200);
    assert_eq!(lines(&post("alice", NDJSON, "\n\n")), [Value::Null; 0], "an empty batch is no error");
}

#[test]
fn an_atom_feed() {
    let (fixture, service) = (fixture(), fresh("batch"));
    fixture.wrote("bob", &service, "1", &activity("one"));
    fixture.wrote("bob", &service, "2", &activity("two"));
    let target = format!("/200909/activity/bob/from?service={service}&format=atom");
    let feed = fixture.request("GET", &target, "bob").text().to_owned();
    let broken = feed.replacen("<published>", "<published>not ", 1);
    assert_eq!(statuses(&post("alice", "application/atom+xml", &broken)), [422, 201]);
    assert_eq!(statuses(&post("alice", "application/atom+xml", &feed)), [201, 200]);
    assert_eq!(fixture.titles("alice", "alice", "from", &service).len(), 2);
    let (status, _) = refusal(&post("alice", "application/atom+xml", "<feed/>"), "detail");
    assert!(matches!(status, 400 | 422));
}

#[test]
fn other_types_and_other_collections() {
    let fixture = fixture();
    let (status, accepts) = refusal(&post("alice", JSON, "{}"), "accepts");
    assert_eq!((status, accepts.as_str()), (415, "application/x-ndjson, application/atom+xml"));
    let form = post("alice", "application/x-www-form-urlencoded", "count=3");
    assert_eq!(form.status, 415);
    assert!(form.text().contains("-G"), "the problem suggests a GET");
    for (collection, allow) in [("to", "GET, HEAD"), ("tofrom", "GET, HEAD"), ("from", "GET, HEAD, POST")] {
        let target = format!("/200909/activity/alice/{collection}");
        let answer = fixture.request("PUT", &target, "alice");
        assert_eq!((answer.status, answer.header("allow")), (405, Some(allow)), "{collection}");
        if collection != "from" {
            assert_eq!(fixture.request("POST", &target, "alice").status, 405);
        }
    }
}

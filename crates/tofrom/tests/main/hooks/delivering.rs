//! What receivers get.

use super::fixture::{becomes, body, fixture, signatures};
use serde_json::{Value, json};

#[test]
fn events_arrive_signed_and_in_order() {
    let (actor, receiver) = (fixture().person(), fixture().receiver());
    actor.share("before");
    let target = format!("/200909/activity/{}/from?count=1", actor.name);
    becomes(1, || actor.request("GET", &target, &Value::Null).activities().len());
    let secret = actor.hook("all", &receiver, json!({ "Collection": "from" }));
    let titles: Vec<String> = (0..10).map(|number| format!("t{number}")).collect();
    titles.iter().for_each(|title| actor.share(title));
    becomes(titles, || receiver.titles());

    let requests = receiver.requests();
    let page = actor.request("GET", &target, &Value::Null).activities();
    assert_eq!(body(&requests[9])["data"], page[0], "the activity as the collection has it");
    for request in &requests {
        assert_eq!(
            (request.method.as_str(), request.header("content-type")),
            ("POST", Some("application/json"))
        );
        assert_eq!(signatures(request, &secret), 1);
        let members = body(request);
        assert_eq!(members["type"], "activity");
        assert!(members["timestamp"].as_str().unwrap().ends_with('Z'));
    }
    let ids: std::collections::HashSet<String> = receiver.ids().into_iter().collect();
    assert_eq!(ids.len(), 10);
}

#[test]
fn versions_deletions_and_changes_are_events() {
    let (fan, actor, receiver) = (fixture().person(), fixture().person(), fixture().receiver());
    fan.follow("PUT", &actor);
    fan.hook("to", &receiver, json!({ "Collection": "to" }));
    actor.share("first");
    becomes(vec!["first".to_owned()], || receiver.titles());
    actor.write("first", "second", "BookmarkShared");
    becomes(2, || receiver.requests().len());
    actor.delete("first");
    becomes(3, || receiver.requests().len());
    fan.follow("DELETE", &actor);
    becomes(vec!["first".into(), "second".into(), "deleted".into(), "incomplete".into()], || {
        receiver.titles()
    });
    let url = body(&receiver.requests()[3])["data"]["Url"].as_str().unwrap().to_owned();
    let read =
        fixture().demo.client.follow(&url, &[("ServicePSK", &fan.key), ("Accept", "application/json")]);
    assert_eq!(read.status, 200, "{url}");
}

#[test]
fn filters_select_events() {
    let (actor, receiver, witness) = (fixture().person(), fixture().receiver(), fixture().receiver());
    actor.hook("photos", &receiver, json!({ "Type": ["photo", "video"], "Verb": ["posted"] }));
    actor.hook("all", &witness, json!({}));
    for (title, category) in
        [("a", "BookmarkShared"), ("b", "PhotoPosted"), ("c", "VideoPosted"), ("d", "NotePosted")]
    {
        actor.write(title, title, category);
    }
    becomes(vec!["a".to_owned(), "b".into(), "c".into(), "d".into()], || witness.titles());
    becomes(vec!["b".to_owned(), "c".into()], || receiver.titles());
    let shown = actor.shown("photos");
    assert_eq!((&shown["Type"], &shown["Verb"]), (&json!(["photo", "video"]), &json!(["posted"])));
    // A changed filter counts from the position on.
    let settings = json!({ "Url": receiver.url(), "Collection": "tofrom", "Type": "note" });
    assert_eq!(actor.request("PUT", &actor.target("photos"), &settings).status, 200);
    actor.write("e", "e", "NotePosted");
    becomes(vec!["b".to_owned(), "c".into(), "e".into()], || receiver.titles());
}

#[test]
fn both_secrets_sign_after_a_rotation() {
    let (actor, receiver) = (fixture().person(), fixture().receiver());
    let old = actor.hook("h", &receiver, json!({}));
    let answer = actor.post("h", "rotate");
    assert_eq!(answer.status, 200, "{}", answer.text());
    let new = answer.json()["Hook"]["Secret"].as_str().unwrap().to_owned();
    assert_ne!(old, new);
    actor.share("a");
    becomes(1, || receiver.requests().len());
    let request = &receiver.requests()[0];
    assert_eq!([&old, &new].map(|secret| signatures(request, secret)), [1, 1]);
}

#[test]
fn a_ping_moves_nothing() {
    let (actor, receiver) = (fixture().person(), fixture().receiver());
    let secret = actor.hook("h", &receiver, json!({}));
    let answer = actor.post("h", "test");
    assert_eq!(answer.json(), json!({ "Ping": { "Delivered": "true", "Status": "200" } }));
    assert_eq!(signatures(&receiver.requests()[0], &secret), 1);
    receiver.answer(500);
    assert_eq!(actor.post("h", "test").json(), json!({ "Ping": { "Delivered": "false", "Status": "500" } }));
    receiver.answer(204);
    actor.share("a");
    becomes(vec!["ping".to_owned(), "ping".into(), "a".into()], || receiver.titles());
    assert_eq!(actor.shown("h")["Disabled"], "false");
}

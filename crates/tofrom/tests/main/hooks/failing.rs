//! Receivers that fail.

use super::fixture::{becomes, fixture};
use serde_json::json;
use std::time::Duration;

#[test]
fn a_failed_event_is_tried_again_with_its_identifier() {
    let (actor, receiver) = (fixture().person(), fixture().receiver());
    actor.hook("h", &receiver, json!({}));
    receiver.answer(503);
    actor.share("a");
    actor.share("b");
    becomes(1, || receiver.requests().len());
    becomes("503".to_owned(), || actor.shown("h")["LastStatus"].as_str().unwrap_or_default().to_owned());
    becomes(true, || actor.shown("h")["Lag"].as_str().unwrap().parse::<u64>().unwrap() >= 1);
    let shown = actor.shown("h");
    assert_eq!(shown["Disabled"], "false");
    assert!(shown["NextDate"].is_string());
    becomes(2, || receiver.requests().len());
    let requests = receiver.requests();
    let pause = requests[1].at.duration_since(requests[0].at);
    assert!(pause >= Duration::from_secs(5), "{pause:?}");

    receiver.answer(204);
    assert_eq!(actor.post("h", "resume").status, 204, "tried at once");
    becomes(vec!["a".to_owned(), "a".into(), "a".into(), "b".into()], || receiver.titles());
    let ids = receiver.ids();
    assert!(ids[0] == ids[1] && ids[1] == ids[2] && ids[2] != ids[3], "{ids:?}");
    becomes("0".to_owned(), || actor.shown("h")["Lag"].as_str().unwrap().to_owned());
}

#[test]
fn status_410_disables_a_hook_until_it_is_resumed() {
    let (actor, receiver) = (fixture().person(), fixture().receiver());
    actor.hook("h", &receiver, json!({}));
    receiver.answer(410);
    actor.share("a");
    becomes("true".to_owned(), || actor.shown("h")["Disabled"].as_str().unwrap().to_owned());
    assert!(actor.shown("h")["Reason"].as_str().unwrap().contains("410"));
    receiver.answer(200);
    actor.share("b");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(receiver.titles(), ["a"]);
    assert_eq!(actor.post("h", "resume").status, 204);
    becomes(vec!["a".to_owned(), "a".into(), "b".into()], || receiver.titles());
    assert_eq!(actor.shown("h")["Disabled"], "false");
}

#[test]
fn another_address_continues_where_the_first_stopped() {
    let (actor, first, second) = (fixture().person(), fixture().receiver(), fixture().receiver());
    actor.hook("h", &first, json!({}));
    actor.share("a");
    becomes(1, || first.requests().len());
    first.answer(500);
    actor.share("b");
    becomes(2, || first.requests().len());
    let settings = json!({ "Url": second.url(), "Collection": "tofrom" });
    assert_eq!(actor.request("PUT", &actor.target("h"), &settings).status, 200);
    becomes(vec!["b".to_owned()], || second.titles());
    assert_eq!(first.ids()[1], second.ids()[0]);
}

#[test]
fn hooks_of_a_removed_account_stop() {
    let (fan, witness, actor) = (fixture().person(), fixture().person(), fixture().person());
    let (receiver, other) = (fixture().receiver(), fixture().receiver());
    for (follower, receiver) in [(&fan, &receiver), (&witness, &other)] {
        follower.follow("PUT", &actor);
        follower.hook("h", receiver, json!({}));
    }
    actor.share("a");
    becomes(vec!["a".to_owned()], || receiver.titles());
    let removed = fan.request("DELETE", &format!("/200909/user/{}", fan.name), &serde_json::Value::Null);
    assert_eq!(removed.status, 204);
    actor.share("b");
    becomes(vec!["a".to_owned(), "b".into()], || other.titles());
    assert!(!receiver.titles().contains(&"b".to_owned()));
}

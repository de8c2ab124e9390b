//! Creating and changing hooks: over HTTP, on the settings page and by commands.

use super::super::support::browser::Browser;
use super::fixture::{becomes, fixture};
use serde_json::{Value, json};

#[test]
fn a_hook_is_created_changed_and_removed() {
    let (actor, receiver) = (fixture().person(), fixture().receiver());
    let first = actor.hook("h", &receiver, json!({}));
    let settings = json!({ "Url": receiver.url(), "Collection": "to" });
    let changed = actor.request("PUT", &actor.target("h"), &settings);
    assert!(changed.status == 200 && !changed.text().contains("whsec_"), "{}", changed.text());
    assert_eq!(actor.shown("h")["Collection"], "to");
    let hooks = format!("/200909/user/{}/hooks", actor.name);
    let listed = actor.request("GET", &hooks, &Value::Null).json();
    assert_eq!(listed["Hooks"]["Hook"][0]["Name"], "h");
    for status in [204, 404] {
        assert_eq!(actor.request("DELETE", &actor.target("h"), &Value::Null).status, status);
    }
    assert_eq!(actor.request("GET", &hooks, &Value::Null).json(), json!({ "Hooks": { "Hook": [] } }));
    assert_ne!(actor.hook("h", &receiver, json!({})), first, "a later hook has another secret");
    actor.share("a");
    becomes(vec!["a".to_owned()], || receiver.titles());
}

#[test]
fn invalid_hooks_are_refused() {
    let (actor, receiver) = (fixture().person(), fixture().receiver());
    let refused = |settings: Value| {
        let answer = actor.request("PUT", &actor.target("h"), &settings);
        (answer.status, answer.json()["field"].as_str().unwrap_or_default().to_owned())
    };
    let base = &fixture().demo.client.base;
    for url in [
        "",
        "word",
        "http://example.org/",
        "https://me:pw@example.org/",
        "https://[::1]/",
        "https://10.0.0.1/",
        "https://127.0.0.1/",
        "https://127.9.0.1/",
        "https://localhost/",
        "https://2130706433/",
        base,
    ] {
        assert_eq!(refused(json!({ "Url": url, "Collection": "to" })), (422, "Url".to_owned()), "{url}");
    }
    let collection = json!({ "Url": receiver.url(), "Collection": "sideways" });
    assert_eq!(refused(collection), (422, "Collection".to_owned()));
    let verb = json!({ "Url": receiver.url(), "Collection": "to", "Verb": [{}] });
    assert_eq!(refused(verb), (422, "Verb".to_owned()));
    let good = json!({ "Url": receiver.url(), "Collection": "to" });
    assert_eq!(actor.request("PUT", &actor.target("a%20b"), &good).status, 422);
    for number in 0..20 {
        assert_eq!(actor.request("PUT", &actor.target(&format!("h{number}")), &good).status, 201);
    }
    let full = actor.request("PUT", &actor.target("extra"), &good);
    assert_eq!((full.status, full.json()["quota"].as_str()), (403, Some("hooks")));
    assert_eq!(actor.request("PUT", &actor.target("h3"), &good).status, 200);
}

#[test]
fn others_neither_see_nor_change_hooks() {
    let (actor, stranger, receiver) = (fixture().person(), fixture().person(), fixture().receiver());
    actor.hook("h", &receiver, json!({}));
    let target = actor.target("h");
    assert_eq!(stranger.request("GET", &target, &Value::Null).status, 404);
    for (method, below) in [("DELETE", ""), ("POST", "/test"), ("POST", "/resume"), ("POST", "/rotate")] {
        let answer = stranger.request(method, &format!("{target}{below}"), &Value::Null);
        assert_eq!(answer.status, 403, "{method} {below} of a public account");
    }
    assert!(receiver.requests().is_empty());
}

#[test]
fn commands_manage_hooks() {
    let (fixture, actor, receiver) = (fixture(), fixture().person(), fixture().receiver());
    let name = actor.name.as_str();
    let added =
        fixture.succeed(&["hook", "add", name, "h", &receiver.url(), "--collection", "from", "--json"]);
    let added: Value = serde_json::from_str(&added).unwrap();
    assert!(added["secret"].as_str().unwrap().starts_with("whsec_"));
    actor.share("a");
    becomes(vec!["a".to_owned()], || receiver.titles());
    let listed = fixture.succeed(&["hook", "list", name]);
    assert!(
        listed.contains("running") && listed.contains(&receiver.url()) && !listed.contains("whsec_"),
        "{listed}"
    );
    assert!(fixture.succeed(&["hook", "test", name, "h"]).contains("status 200"));
    assert!(fixture.succeed(&["hook", "rotate", name, "h"]).starts_with("whsec_"));
    fixture.succeed(&["hook", "resume", name, "h"]);
    fixture.succeed(&["hook", "remove", name, "h"]);
    assert_eq!(fixture.run(&["hook", "remove", name, "h"]).status.code(), Some(1));
    assert_eq!(fixture.run(&["hook", "add", name, "h", "https://127.0.0.1/"]).status.code(), Some(1));
    let resealed: Value = serde_json::from_str(&fixture.succeed(&["reseal", "--json"])).unwrap();
    assert_eq!(resealed["resealed"], 0);
}

#[test]
fn the_settings_page_manages_hooks() {
    let (fixture, receiver) = (fixture(), fixture().receiver());
    let base = fixture.demo.client.base.as_str();
    let page = format!("{base}/settings/hooks");
    let mut bob = Browser::new(&fixture.demo.client, base);
    let form = bob.visit(&format!("{base}/sign-in")).form("username").unwrap();
    bob.submit(&form, &[("username", "bob"), ("password", fixture.demo.password("bob"))]);
    let form_to = |bob: &mut Browser, action: &str| {
        let forms = bob.visit(&page).forms();
        forms
            .into_iter()
            .find(|form| form.action.ends_with(action))
            .unwrap_or_else(|| panic!("no form {action}"))
    };
    let add = form_to(&mut bob, "/settings/hooks");
    let refused = bob.submit(&add, &[("name", "page"), ("url", "https://10.0.0.1/"), ("collection", "from")]);
    assert_eq!(refused.status(), 422);
    assert!(refused.text().contains("private one") && refused.html().contains("https://10.0.0.1/"));
    let made = bob.submit(&add, &[("name", "page"), ("url", &receiver.url()), ("collection", "from")]);
    assert!(made.status() == 201 && made.element("secret").unwrap().starts_with("whsec_"));
    assert!(!bob.visit(&page).html().contains("whsec_"), "shown once");
    let test = form_to(&mut bob, "/page/test");
    bob.submit(&test, &[]);
    becomes(vec!["ping".to_owned()], || receiver.titles());
    let rotate = form_to(&mut bob, "/page/rotate");
    assert!(bob.submit(&rotate, &[]).element("secret").unwrap().starts_with("whsec_"));
    let remove = form_to(&mut bob, "/page/remove");
    bob.submit(&remove, &[]);
    assert!(bob.visit(&page).text().contains("No hooks."));
}

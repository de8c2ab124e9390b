//! Independent programs against our output: the Fast Infoset reference, feed readers, libxml2, OAuth clients, a
//! browser, the programs of `examples/live`, a shell that runs the commands of the manual, schemathesis, which checks
//! our OpenAPI description, generators that make clients of it, an independent WebSub hub, and our own clients.

mod activity_streams;
mod browser;
mod client_libraries;
mod commands;
mod extensions;
mod fast_infoset;
mod feed_readers;
mod generated;
mod live_clients;
pub(crate) mod oauth_clients;
mod pages;
mod schemathesis;
mod websub;

use super::support::client::Answer;
use super::support::demo::Demo;

/// The advice for a missing tool.
const SET_UP: &str = "run scripts/setup, which installs what the tests need";

/// A page of the demo in two representations.
struct Page {
    atom: Answer,
    json: Answer,
}

/// Every page of a collection, as a reader gets them by following links.
fn pages(reader: &str, collection: &str) -> Vec<Page> {
    let demo = Demo::shared();
    let get = |address: &str, media_type: &str| {
        let answer = demo.client.follow(address, &[("ServicePSK", demo.key(reader)), ("Accept", media_type)]);
        assert_eq!(answer.status, 200, "{address}: {}", String::from_utf8_lossy(&answer.body));
        assert_eq!(answer.header("content-type"), Some(media_type));
        answer
    };
    let mut pages = Vec::new();
    let mut next = Some(format!("{}/200909/activity/{collection}?count=60", demo.client.base));
    while let Some(address) = next {
        let page =
            Page { atom: get(&address, "application/atom+xml"), json: get(&address, "application/json") };
        next = page.json.link("next");
        assert_eq!(next, page.atom.link("next"));
        pages.push(page);
    }
    pages
}

/// The text at a path of names in a JSON activity.
fn text_at<'a>(activity: &'a serde_json::Value, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(activity, |value, name| value.get(name)).map(|value| value.as_str().unwrap())
}

/// The object of a JSON activity: the member whose name the contract leaves open.
fn object(activity: &serde_json::Value) -> &serde_json::Value {
    let groups = activity.as_object().unwrap().iter().filter(|(_, value)| value.is_object());
    let mut objects = groups.filter(|(name, _)| !["SourceUser", "SourceService"].contains(&name.as_str()));
    let (_, object) = objects.next().unwrap();
    assert!(objects.next().is_none(), "more than one object: {activity}");
    object
}

/// The displayed name of an activity's user.
fn full_name(activity: &serde_json::Value) -> String {
    let parts = ["GivenName", "FamilyName"].map(|name| text_at(activity, &["SourceUser", name]));
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        text_at(activity, &["SourceUser", "UserIdentifier"]).unwrap().to_owned()
    } else {
        parts.join(" ")
    }
}

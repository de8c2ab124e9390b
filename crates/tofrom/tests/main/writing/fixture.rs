//! A demo for these tests only, and short forms of requests.

use super::super::program::succeed;
use super::super::support::client::Answer;
use super::super::support::demo::Demo;
use super::super::support::folder::Folder;
use super::super::support::signer::encode;
use super::super::support::steal_adjusted_clock;
use serde_json::{Value, json};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub(super) const JSON: &str = "application/json";
pub(super) const NDJSON: &str = "application/x-ndjson";

pub(super) struct WriteFixture {
    pub(super) demo: Demo,
    folder: Folder,
}

pub(super) fn fixture() -> &'static WriteFixture {
    static STAGE: OnceLock<WriteFixture> = OnceLock::new();
    STAGE.get_or_init(|| {
        let folder = Folder::new();
        WriteFixture { demo: Demo::start(folder.path(), &[]), folder }
    })
}

/// An unused name.
pub(super) fn fresh(prefix: &str) -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("{prefix}{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

pub(super) fn activity(title: &str) -> Value {
    let bookmark = json!({ "Title": "t", "Url": "https://example.org/" });
    json!({ "Category": "BookmarkShared", "Title": title, "Bookmark": bookmark })
}

/// The activity with these fields added or replaced.
pub(super) fn with(mut activity: Value, more: Value) -> Value {
    activity.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    activity
}

pub(super) fn item(user: &str, service: &str, id: &str) -> String {
    format!("/200909/activity/{user}/from/{service}/{}", encode(id))
}

/// Polls until the value equals `expected`, for as long as a delivery may take.
pub(super) fn becomes<T: PartialEq + std::fmt::Debug>(expected: T, look: impl Fn() -> T) {
    steal_adjusted_clock::becomes(Duration::from_secs(5), expected, look);
}

impl WriteFixture {
    /// Runs a command beside the running demo.
    pub(super) fn run(&self, arguments: &[&str]) -> String {
        self.run_with_input(arguments, "")
    }

    /// Runs a command with that standard input.
    pub(super) fn run_with_input(&self, arguments: &[&str], input: &str) -> String {
        succeed(&self.folder, arguments, input)
    }

    /// A new key.
    pub(super) fn new_key(&self, name: &str, scope: &str) -> String {
        let document = self.run(&["key", "add", name, "--scope", scope, "--json"]);
        let document: Value = serde_json::from_str(&document).unwrap();
        document["key"].as_str().unwrap().to_owned()
    }

    /// A new account with a key that writes: its name and the key.
    pub(super) fn new_account(&self, prefix: &str, public: bool) -> (String, String) {
        let name = fresh(prefix);
        let made = self.send("PUT", &format!("/200909/user/{name}"), "ops", &json!({ "Public": public }));
        assert_eq!(made.status, 201, "{}", made.text());
        let key = self.new_key(&name, "write");
        (name, key)
    }

    /// Sends a request with a key and a body of that type; problems come as JSON.
    pub(super) fn by_key(&self, method: &str, target: &str, key: &str, kind: &str, body: &[u8]) -> Answer {
        let headers = [("ServicePSK", key), ("Accept", JSON), ("Content-Type", kind)];
        let headers = if body.is_empty() { &headers[..2] } else { &headers };
        self.demo.client.send(method, target, headers, body)
    }

    /// An account of the demo sends JSON.
    pub(super) fn send(&self, method: &str, target: &str, who: &str, body: &Value) -> Answer {
        self.by_key(method, target, self.demo.key(who), JSON, body.to_string().as_bytes())
    }

    /// An account of the demo sends a request without a body.
    pub(super) fn request(&self, method: &str, target: &str, who: &str) -> Answer {
        self.by_key(method, target, self.demo.key(who), JSON, &[])
    }

    pub(super) fn put(&self, user: &str, service: &str, id: &str, body: &Value) -> Answer {
        self.send("PUT", &item(user, service, id), user, body)
    }

    /// Writes a new activity of an account of the demo: its identifier.
    pub(super) fn wrote(&self, user: &str, service: &str, id: &str, body: &Value) -> String {
        let answer = self.put(user, service, id, body);
        assert_eq!(answer.status, 201, "{}", answer.text());
        identifier(&answer)
    }

    /// The titles that a reader sees of a service in a collection.
    pub(super) fn titles(&self, reader: &str, user: &str, collection: &str, service: &str) -> Vec<String> {
        let page = self.demo.read(reader, user, collection, &format!("count=200&service={service}"));
        page.activities().iter().map(|one| one["Title"].as_str().unwrap().to_owned()).collect()
    }
}

/// The last segment of `Location`.
pub(super) fn identifier(answer: &Answer) -> String {
    let location = answer.header("location").unwrap_or_else(|| panic!("{} {answer:?}", answer.status));
    let (before, id) = location.rsplit_once('/').unwrap();
    assert_eq!(before, format!("{}/activity", fixture().demo.client.base));
    id.to_owned()
}

/// The status, and one member of the problem.
pub(super) fn refusal(answer: &Answer, member: &str) -> (u16, String) {
    let document = answer.json();
    assert!(document["type"].as_str().unwrap().contains("/docs/problems/"), "{document}");
    assert_eq!(document["status"], answer.status, "{document}");
    (answer.status, document[member].as_str().unwrap_or_default().to_owned())
}

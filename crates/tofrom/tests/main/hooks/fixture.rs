//! A demo that may send to a part of this machine, and receivers there.

use super::super::program::tofrom_with;
use super::super::support::client::Answer;
use super::super::support::demo::Demo;
use super::super::support::folder::Folder;
use super::super::support::steal_adjusted_clock;
use aws_lc_rs::hmac;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::process::Output;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use test_server::{Authority, Behaviour, CannedResponse, RecordedRequest, Server};
use tokio::runtime::Runtime;

/// The network that hooks may send to besides the public internet.
const NETWORK: &str = "127.8.0.0/16";
const JSON: &str = "application/json";

pub(super) struct HookFixture {
    pub(super) demo: Demo,
    folder: Folder,
    runtime: Runtime,
    authority: Authority,
    settings: Vec<(&'static str, String)>,
}

pub(super) fn fixture() -> &'static HookFixture {
    static FIXTURE: OnceLock<HookFixture> = OnceLock::new();
    FIXTURE.get_or_init(|| {
        let (folder, authority) = (Folder::new(), Authority::new());
        let trusted = folder.path().join("trusted.pem");
        std::fs::write(&trusted, authority.pem()).unwrap();
        let settings = vec![
            ("TOFROM_HOOKS__NETWORKS", NETWORK.to_owned()),
            ("SSL_CERT_FILE", trusted.to_str().unwrap().to_owned()),
        ];
        let variables: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let demo = Demo::start_with(folder.path(), &[], &variables);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        HookFixture { demo, folder, runtime: runtime.unwrap(), authority, settings }
    })
}

/// Polls until the value equals `expected`.
pub(super) fn becomes<T: PartialEq + Debug>(expected: T, look: impl Fn() -> T) {
    steal_adjusted_clock::becomes(Duration::from_secs(20), expected, look);
}

/// A receiver at its own address. It answers with the status that is set.
pub(super) struct Receiver {
    server: Server,
    status: Arc<AtomicU16>,
}

impl Receiver {
    pub(super) fn answer(&self, status: u16) {
        self.status.store(status, Ordering::Relaxed);
    }

    pub(super) fn url(&self) -> String {
        self.server.url(&self.server.address().ip().to_string(), "/hook")
    }

    pub(super) fn requests(&self) -> Vec<RecordedRequest> {
        self.server.requests()
    }

    /// The titles of the activities so far, and the types of other messages.
    pub(super) fn titles(&self) -> Vec<String> {
        let title = |request: RecordedRequest| {
            let body = body(&request);
            let text = body["data"]["Title"].as_str().or(body["type"].as_str());
            text.unwrap_or_default().to_owned()
        };
        self.requests().into_iter().map(title).collect()
    }

    /// The identifiers of the messages so far.
    pub(super) fn ids(&self) -> Vec<String> {
        self.requests().iter().map(|request| request.header("webhook-id").unwrap().to_owned()).collect()
    }
}

pub(super) fn body(request: &RecordedRequest) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

/// How many of the signatures of a request are made with this secret.
pub(super) fn signatures(request: &RecordedRequest, secret: &str) -> usize {
    let key = BASE64_STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let (id, time) = (request.header("webhook-id").unwrap(), request.header("webhook-timestamp").unwrap());
    let signed = [id.as_bytes(), b".", time.as_bytes(), b".", &request.body].concat();
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let holds = |signature: &&str| {
        let tag = BASE64_STANDARD.decode(signature.strip_prefix("v1,").unwrap()).unwrap();
        hmac::verify(&key, &signed, &tag).is_ok()
    };
    request.header("webhook-signature").unwrap().split(' ').filter(holds).count()
}

impl HookFixture {
    pub(super) fn receiver(&self) -> Receiver {
        static COUNT: AtomicUsize = AtomicUsize::new(1);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let host = format!("127.8.{}.{}", count / 200, count % 200 + 1);
        let certificate = self.authority.certificate(&host);
        let server = self.runtime.block_on(Server::secure_at(&format!("{host}:0"), &certificate));
        let status = Arc::new(AtomicU16::new(200));
        let answered = Arc::clone(&status);
        let respond = move |_: &RecordedRequest| {
            Behaviour::from(CannedResponse::status(answered.load(Ordering::Relaxed)))
        };
        server.on("/hook", Behaviour::Dynamic(Arc::new(respond)));
        Receiver { server, status }
    }

    /// Runs a command beside the running demo, with the same settings.
    pub(super) fn run(&self, arguments: &[&str]) -> Output {
        let arguments = [arguments, &["--data", self.folder.path().to_str().unwrap()]].concat();
        let settings: Vec<_> = self.settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        tofrom_with(&self.folder, &arguments, &settings, "")
    }

    pub(super) fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn send(&self, method: &str, target: &str, key: &str, body: &Value) -> Answer {
        let headers = [("ServicePSK", key), ("Accept", JSON), ("Content-Type", JSON)];
        match body {
            Value::Null => self.demo.client.send(method, target, &headers[..2], &[]),
            body => self.demo.client.send(method, target, &headers, body.to_string().as_bytes()),
        }
    }

    /// A new public account.
    pub(super) fn person(&'static self) -> Person {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("hooked{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let ops = self.demo.key("ops");
        let made = self.send("PUT", &format!("/200909/user/{name}"), ops, &json!({ "Public": true }));
        assert_eq!(made.status, 201, "{}", made.text());
        let keys = format!("/200909/user/{name}/keys");
        let key = self.send("POST", &keys, ops, &json!({ "Scope": "write" })).json();
        Person { fixture: self, name, key: key["Key"]["Key"].as_str().unwrap().to_owned() }
    }
}

pub(super) struct Person {
    fixture: &'static HookFixture,
    pub(super) name: String,
    pub(super) key: String,
}

impl Person {
    pub(super) fn request(&self, method: &str, target: &str, body: &Value) -> Answer {
        self.fixture.send(method, target, &self.key, body)
    }

    pub(super) fn target(&self, hook: &str) -> String {
        format!("/200909/user/{}/hooks/{hook}", self.name)
    }

    /// Creates a hook: its secret.
    pub(super) fn hook(&self, name: &str, receiver: &Receiver, more: Value) -> String {
        let mut settings = json!({ "Url": receiver.url(), "Collection": "tofrom" });
        settings.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        let made = self.request("PUT", &self.target(name), &settings);
        assert_eq!(made.status, 201, "{}", made.text());
        assert_eq!(made.header("cache-control"), Some("no-store"));
        made.json()["Hook"]["Secret"].as_str().unwrap().to_owned()
    }

    /// What the service says of a hook.
    pub(super) fn shown(&self, name: &str) -> Value {
        let answer = self.request("GET", &self.target(name), &Value::Null);
        assert!(answer.status == 200 && !answer.text().contains("whsec_"), "{}", answer.text());
        answer.json()["Hook"].clone()
    }

    pub(super) fn post(&self, hook: &str, action: &str) -> Answer {
        self.request("POST", &format!("{}/{action}", self.target(hook)), &Value::Null)
    }

    pub(super) fn write(&self, id: &str, title: &str, category: &str) {
        let object = category.strip_suffix("Shared").or(category.strip_suffix("Posted")).unwrap();
        let activity = json!({ "Category": category, "Title": title, object: { "Title": "t" } });
        let target = format!("/200909/activity/{}/from/here/{id}", self.name);
        let answer = self.request("PUT", &target, &activity);
        assert!([200, 201].contains(&answer.status), "{}", answer.text());
    }

    pub(super) fn share(&self, title: &str) {
        self.write(title, title, "BookmarkShared");
    }

    pub(super) fn delete(&self, id: &str) {
        let target = format!("/200909/activity/{}/from/here/{id}", self.name);
        assert_eq!(self.request("DELETE", &target, &Value::Null).status, 204);
    }

    pub(super) fn follow(&self, method: &str, other: &Person) {
        let target = format!("/200909/user/{}/following/{}", self.name, other.name);
        assert_eq!(self.request(method, &target, &Value::Null).status, 204);
    }
}

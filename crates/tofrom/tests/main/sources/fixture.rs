//! A demo that may fetch from a part of this machine, servers to fetch from, and short forms of requests.

use super::super::program::tofrom_with;
use super::super::support::client::Answer;
use super::super::support::demo::Demo;
use super::super::support::folder::Folder;
use super::super::support::steal_adjusted_clock;
use model::Millis;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::net::TcpListener;
use std::process::Output;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::sqlite::SqliteStore;
use test_server::{Authority, Certificate, Server};
use tokio::runtime::Runtime;

/// The network that the demo may fetch from besides the public internet. The rest of this machine is forbidden.
const NETWORK: &str = "127.9.0.0/16";
const JSON: &str = "application/json";
/// Time limit for a change to become visible.
const TIMEOUT: Duration = Duration::from_secs(20);

pub(super) struct SourceFixture {
    pub(super) demo: Demo,
    pub(super) folder: Folder,
    /// Runtime of the servers.
    pub(super) runtime: Runtime,
    pub(super) authority: Authority,
    /// All servers listen on this port, each at its own address.
    pub(super) port: u16,
    settings: Vec<(&'static str, String)>,
}

pub(super) fn fixture() -> &'static SourceFixture {
    static STAGE: OnceLock<SourceFixture> = OnceLock::new();
    STAGE.get_or_init(|| {
        let folder = Folder::new();
        let authority = Authority::new();
        let trusted = folder.path().join("trusted.pem");
        std::fs::write(&trusted, authority.pem()).unwrap();
        let port = TcpListener::bind("127.9.0.1:0").unwrap().local_addr().unwrap().port();
        let settings = vec![
            ("TOFROM_SOURCES__NETWORKS", NETWORK.to_owned()),
            ("TOFROM_SOURCES__PORTS", port.to_string()),
            ("SSL_CERT_FILE", trusted.to_str().unwrap().to_owned()),
        ];
        let variables: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let demo = Demo::start_with(folder.path(), &[], &variables);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        SourceFixture { demo, folder, runtime: runtime.unwrap(), authority, port, settings }
    })
}

/// Polls until the value equals `expected`.
pub(super) fn becomes<T: PartialEq + Debug>(expected: T, look: impl Fn() -> T) {
    steal_adjusted_clock::becomes(TIMEOUT, expected, look);
}

/// Polls until the value is enough, and returns the last value.
pub(super) fn wait_for<T>(look: impl Fn() -> T, enough: impl Fn(&T) -> bool) -> T {
    steal_adjusted_clock::wait_for(TIMEOUT, look, enough)
}

pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// Seconds from now until a date of a source.
pub(super) fn seconds_until(date: &Value) -> i64 {
    (Millis::parse(date.as_str().unwrap()).unwrap().0 - now()) / 1_000
}

/// An entry of a feed; `more` are further elements.
pub(super) fn entry(id: &str, title: &str, published: &str, more: &str) -> String {
    format!("<entry><id>{id}</id><title>{title}</title><published>{published}</published>{more}</entry>")
}

/// An ordinary entry.
pub(super) fn post(number: usize) -> String {
    let link = format!("<link href=\"https://blog.example/{number}\"/>");
    entry(
        &format!("tag:blog.example,2026:{number}"),
        &format!("Post {number}"),
        "2026-01-02T03:04:05Z",
        &link,
    )
}

/// A feed of these entries.
pub(super) fn atom(entries: &[String]) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><feed xmlns=\"http://www.w3.org/2005/Atom\" \
         xmlns:media=\"http://search.yahoo.com/mrss/\" xmlns:thr=\"http://purl.org/syndication/thread/1.0\">\
         <id>tag:blog.example,2026:feed</id><title>A blog</title>{}</feed>",
        entries.concat()
    )
}

pub(super) fn host(server: &Server) -> String {
    server.address().ip().to_string()
}

pub(super) fn url(server: &Server, path: &str) -> String {
    server.url(&host(server), path)
}

/// How often that path was requested.
pub(super) fn request_count(server: &Server, path: &str) -> usize {
    server.requests().iter().filter(|request| request.path == path).count()
}

impl SourceFixture {
    fn address(&self) -> String {
        static COUNT: AtomicUsize = AtomicUsize::new(1);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        format!("127.9.{}.{}", count / 200, count % 200 + 1)
    }

    /// The demo's store.
    pub(super) fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.folder.path().join("tofrom.db"), Default::default()).unwrap()
    }

    /// A server at its own address, so that the rate limits of other tests do not delay it.
    pub(super) fn server(&self) -> Server {
        let address = format!("{}:{}", self.address(), self.port);
        self.runtime.block_on(Server::at(&address))
    }

    /// A server with TLS, with a certificate for its address.
    pub(super) fn secure_server(&self, certificate: impl FnOnce(&str) -> Certificate) -> Server {
        let host = self.address();
        let address = format!("{host}:{}", self.port);
        self.runtime.block_on(Server::secure_at(&address, &certificate(&host)))
    }

    /// Runs a command beside the running demo, with the same settings.
    pub(super) fn run(&self, arguments: &[&str], input: &str) -> Output {
        let arguments = [arguments, &["--data", self.folder.path().to_str().unwrap()]].concat();
        let settings: Vec<_> = self.settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        tofrom_with(&self.folder, &arguments, &settings, input)
    }

    /// The output of a command that succeeds.
    pub(super) fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments, "");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The error of a command that fails.
    pub(super) fn fail(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments, "");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(output.stdout.is_empty(), "errors go to standard error");
        String::from_utf8(output.stderr).unwrap()
    }

    pub(super) fn by_key(&self, method: &str, target: &str, key: &str, body: &Value) -> Answer {
        let headers = [("ServicePSK", key), ("Accept", JSON), ("Content-Type", JSON)];
        match body {
            Value::Null => self.demo.client.send(method, target, &headers[..2], &[]),
            body => self.demo.client.send(method, target, &headers, body.to_string().as_bytes()),
        }
    }

    /// A new account.
    pub(super) fn person(&'static self, prefix: &str) -> Person {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("{prefix}{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let account = json!({ "Public": "false", "GivenName": "Gil" });
        let made = self.by_key("PUT", &format!("/200909/user/{name}"), self.demo.key("ops"), &account);
        assert_eq!(made.status, 201, "{}", made.text());
        let output = self.succeed(&["key", "add", &name, "--scope", "write", "--json"]);
        let output: Value = serde_json::from_str(&output).unwrap();
        Person { fixture: self, name, key: output["key"].as_str().unwrap().to_owned() }
    }
}

pub(super) struct Person {
    fixture: &'static SourceFixture,
    pub(super) name: String,
    pub(super) key: String,
}

impl Person {
    pub(super) fn request(&self, method: &str, target: &str, body: &Value) -> Answer {
        self.fixture.by_key(method, target, &self.key, body)
    }

    pub(super) fn target(&self, source: &str) -> String {
        format!("/200909/user/{}/sources/{source}", self.name)
    }

    pub(super) fn put(&self, source: &str, body: Value) -> Answer {
        self.request("PUT", &self.target(source), &body)
    }

    /// Connects a source.
    pub(super) fn connect(&self, source: &str, address: &str) {
        let made = self.put(source, json!({ "Address": address }));
        assert_eq!(made.status, 201, "{address}: {}", made.text());
    }

    /// The service's description of a source.
    pub(super) fn source(&self, source: &str) -> Value {
        let answer = self.request("GET", &self.target(source), &Value::Null);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["Source"].clone()
    }

    pub(super) fn health(&self, source: &str) -> String {
        self.source(source)["Health"].as_str().unwrap().to_owned()
    }

    /// The same after the first poll since it was connected or resumed.
    pub(super) fn settled(&self, source: &str) -> Value {
        let is_planned =
            |source: &Value| source["NextDate"].is_null() || seconds_until(&source["NextDate"]) > 30;
        let source = wait_for(|| self.source(source), is_planned);
        assert!(is_planned(&source), "{source}");
        source
    }

    /// Polls the source by a command: the number of new items.
    pub(super) fn check(&self, source: &str) -> u64 {
        let output = self.fixture.succeed(&["source", "check", &self.name, source, "--json"]);
        let output: Value = serde_json::from_str(&output).unwrap();
        output["new"].as_u64().unwrap()
    }

    /// The same where the poll fails: the message.
    pub(super) fn check_fails(&self, source: &str) -> String {
        self.fixture.fail(&["source", "check", &self.name, source])
    }

    pub(super) fn pause(&self, source: &str, paused: bool) {
        let answer = self.put(source, json!({ "Paused": paused.to_string() }));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    /// The account's own activities, latest first.
    pub(super) fn activities(&self) -> Vec<Value> {
        let target = format!("/200909/activity/{}/from?count=200", self.name);
        self.request("GET", &target, &Value::Null).activities()
    }

    /// The titles of their objects, in order.
    pub(super) fn titles(&self) -> Vec<String> {
        let title = |one: Value| one["Article"]["Title"].as_str().unwrap_or_default().to_owned();
        let mut titles: Vec<String> = self.activities().into_iter().map(title).collect();
        titles.sort();
        titles
    }
}

//! Traces at an independent receiver: one trace reaches from a request to the last delivery, and a receiver that fails
//! delays nothing.

use super::interop::oauth_clients::cached;
use super::oauth::service::Service;
use super::support::client::read_answer;
use super::support::folder::Folder;
use super::support::steal_adjusted_clock::{StealAdjustedClock, wait_for};
use model::{AccountName, Edge, Millis, Uid, Version};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::sqlite::{Options, SqliteStore};
use store::{Accounts, Graph, Log};

/// Time limit for spans to arrive.
const ARRIVAL: Duration = Duration::from_secs(30);
const ROUTE: &str = "/200909/activity/{user}/from/{service}/{source}";

/// A receiver of traces that is not ours.
pub(crate) struct Receiver {
    port: u16,
    spans: Arc<Mutex<Vec<Span>>>,
    child: Child,
    _input: ChildStdin,
}

/// A span that was received.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) trace: String,
    pub(crate) id: String,
    /// Empty for the first span of a trace.
    pub(crate) parent: String,
    pub(crate) name: String,
    pub(crate) kind: String,
    /// The process that sent it.
    pub(crate) process: String,
    /// Everything that was received of it.
    pub(crate) whole: Value,
}

impl Span {
    fn read(line: &str) -> Span {
        let whole: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| whole[name].as_str().unwrap().to_owned();
        let process = whole["resource"]["service.instance.id"].as_str().unwrap().to_owned();
        let (trace, id, parent, name, kind) =
            (text("trace"), text("id"), text("parent"), text("name"), text("kind"));
        Span { trace, id, parent, name, kind, process, whole }
    }

    fn number(&self, attribute: &str) -> i64 {
        self.whole["attributes"][attribute].as_i64().unwrap_or_else(|| panic!("no {attribute}: {self:?}"))
    }
}

impl Receiver {
    pub(crate) fn start() -> Receiver {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/otlp_receiver.py");
        let mut command = Command::new(cached("python/bin/python"));
        let mut child =
            command.args(["-B", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut port = String::new();
        output.read_line(&mut port).unwrap();
        let spans: Arc<Mutex<Vec<Span>>> = Arc::default();
        let received = Arc::clone(&spans);
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                received.lock().unwrap().push(Span::read(&line));
            }
        });
        Receiver { port: port.trim().parse().unwrap(), spans, child, _input: input }
    }

    /// The settings of a service that sends its traces here.
    pub(crate) fn settings(&self) -> String {
        format!("tracing.otlp_endpoint = \"http://localhost:{}\"", self.port)
    }

    fn spans(&self) -> Vec<Span> {
        self.spans.lock().unwrap().clone()
    }

    /// The spans of the first write of an activity, checked: each has its parent in the trace, and deliveries to this many
    /// collections are children of tasks that the acceptance left behind.
    pub(crate) fn first_write(&self, deliveries: i64) -> Vec<Span> {
        let written = |spans: &[Span]| {
            let request = spans.iter().find(|span| span.name == format!("PUT {ROUTE}"));
            request.map(|request| request.trace.clone())
        };
        let delivered = |spans: &[Span]| -> i64 {
            let deliveries = spans.iter().filter(|span| span.name == "deliver");
            deliveries.map(|span| span.number("tofrom.entries")).sum()
        };
        let trace = || {
            let all = self.spans();
            let Some(trace) = written(&all) else { return Vec::new() };
            all.into_iter().filter(|span| span.trace == trace).collect::<Vec<_>>()
        };
        let spans = wait_for(ARRIVAL, trace, |spans| {
            // A span arrives after its children, or in a later batch.
            delivered(spans) >= deliveries && orphans(spans).is_empty()
        });
        assert_eq!(delivered(&spans), deliveries, "{spans:#?}");
        assert!(orphans(&spans).is_empty(), "{spans:#?}");
        let by_id: HashMap<&str, &Span> = spans.iter().map(|span| (span.id.as_str(), span)).collect();
        assert_eq!(by_id.len(), spans.len());
        let roots: Vec<&Span> = spans.iter().filter(|span| span.parent.is_empty()).collect();
        let [request] = roots[..] else { panic!("{spans:#?}") };
        assert_eq!((request.kind.as_str(), request.number("http.response.status_code")), ("server", 201));
        assert_eq!(request.whole["attributes"]["http.route"], ROUTE);
        for span in &spans {
            let expected = match span.name.as_str() {
                "accept" => "PUT ",
                "deliver" => "task ",
                name if name == "publish" || name.starts_with("task ") => "accept",
                _ => continue,
            };
            let parent = by_id[span.parent.as_str()];
            assert!(parent.name.starts_with(expected), "{span:?} {parent:?}");
            assert!(span.whole["start"].as_u64() >= parent.whole["start"].as_u64(), "{span:?} {parent:?}");
        }
        spans
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Spans whose parent is missing.
fn orphans(spans: &[Span]) -> Vec<&Span> {
    let has = |id: &str| id.is_empty() || spans.iter().any(|span| span.id == id);
    spans.iter().filter(|span| !has(&span.parent)).collect()
}

/// An account that writes, with followers.
pub(crate) struct Writer<'a> {
    service: &'a Service,
    name: String,
    key: String,
}

impl Writer<'_> {
    pub(crate) fn new<'a>(service: &'a Service, name: &str, followers: usize) -> Writer<'a> {
        let key_of = |name: &str| {
            let made = service.run(&["key", "add", name, "--scope", "write", "--json"], "");
            serde_json::from_str::<Value>(&made).unwrap()["key"].as_str().unwrap().to_owned()
        };
        service.add_account(name, &["--public"]);
        let writer = Writer { service, name: name.to_owned(), key: key_of(name) };
        for number in 0..followers {
            let fan = format!("{name}-fan-{number}");
            service.add_account(&fan, &[]);
            let target = format!("/social/200909/user/{fan}/following/{name}");
            let answer = service.client.send("PUT", &target, &[("ServicePSK", &key_of(&fan))], &[]);
            assert_eq!(answer.status, 204, "{}", answer.text());
        }
        writer
    }

    /// Writes an activity; returns the time that it took.
    pub(crate) fn put(&self, id: &str, headers: &[(&str, &str)]) -> Duration {
        let body = json!({
            "Category": "BookmarkShared",
            "Title": "word-of-the-text",
            "Bookmark": { "Title": "t", "Url": "https://example.org/" },
        });
        let target = format!("/social/200909/activity/{}/from/Delicious/{id}?word-of-the-query=1", self.name);
        let headers =
            [&[("ServicePSK", self.key.as_str()), ("Content-Type", "application/json")], headers].concat();
        let started = StealAdjustedClock::now();
        let answer = self.service.client.send("PUT", &target, &headers, body.to_string().as_bytes());
        assert_eq!(answer.status, 201, "{}", answer.text());
        started.elapsed()
    }
}

/// The service's metrics.
fn metrics(service: &Service) -> String {
    let log = std::fs::read_to_string(service.file("log")).unwrap();
    let mut lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let admin = lines.find(|line| line["message"] == "admin_listen").unwrap();
    let mut stream = TcpStream::connect(admin["address"].as_str().unwrap()).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    read_answer(stream, false).text().to_owned()
}

/// The value of a series.
fn value(metrics: &str, series: &str) -> f64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.map_or(0.0, |value| value.parse().unwrap())
}

#[test]
fn one_trace_reaches_from_the_request_to_every_delivery() {
    let receiver = Receiver::start();
    let service = Service::start(Folder::new(), &receiver.settings(), "info");
    let writer = Writer::new(&service, "alice", 3);
    let foreign = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    writer.put("1", &[("traceparent", &format!("00-{}-{}-01", foreign.0, foreign.1))]);
    let spans = receiver.first_write(3);
    let request = spans.iter().find(|span| span.parent.is_empty()).unwrap();
    assert_ne!(request.trace, foreign.0, "no client decides which traces are recorded");
    assert_eq!(request.whole["links"], json!([[foreign.0, foreign.1]]));
    let id = request.whole["attributes"]["tofrom.request"].as_str().unwrap();
    let task = spans.iter().find(|span| span.name == "task version").unwrap();
    assert_eq!(task.kind, "consumer");

    // The follows are traced too, and a stop sends what still waits.
    writer.put("2", &[]);
    let key = writer.key.clone();
    let (_folder, log) = service.stop();
    assert!(log.contains(&format!("\"id\":\"{id}\"")), "the line of the request has the same identifier");
    assert!(!log.contains("\"span\""), "spans are not in the log");
    let written = |spans: &Vec<Span>| spans.iter().filter(|span| span.name == format!("PUT {ROUTE}")).count();
    let all = wait_for(ARRIVAL, || receiver.spans(), |spans| written(spans) == 2);
    assert_eq!(written(&all), 2, "{all:#?}");
    assert_eq!(all.iter().filter(|span| span.name == "task edge").count(), 3);
    let words = ["word-of-the-text", "word-of-the-query", "example.org", "alice", "Delicious", "tfk_", &key];
    for span in &all {
        let whole = span.whole.to_string();
        assert!(words.iter().all(|word| !whole.contains(word)), "{whole}");
        assert_eq!(span.whole["resource"]["service.name"], "tofrom");
        assert_eq!((&span.whole["events"], &span.whole["failed"]), (&json!(0), &json!(false)), "{whole}");
    }
}

#[test]
fn the_tasks_of_further_followers_belong_to_the_same_trace() {
    const FOLLOWERS: i64 = 10_050;
    let (folder, receiver) = (Folder::new(), Receiver::start());
    let service = Service::start(folder, "", "info");
    drop(Writer::new(&service, "alice", 0));
    let (folder, _) = service.stop();
    let fill = async {
        let options = Options { synchronous_off: true, ..Options::default() };
        let store = SqliteStore::open(&folder.path().join("tofrom.db"), options).unwrap();
        let alice = store.account_by_name(&AccountName::parse("alice").unwrap()).await.unwrap().unwrap().uid;
        let edge = Edge::new(Version(1), Millis(1), None);
        let edges = (1_000..1_000 + FOLLOWERS).map(|fan| store.put_edge(Uid(fan), alice, &edge));
        for added in futures::future::join_all(edges).await {
            added.unwrap();
        }
        // There is nothing to backfill.
        let tasks = store.pending(usize::MAX).await.unwrap();
        let positions: Vec<_> = tasks.iter().map(|task| task.position).collect();
        store.acknowledge(&positions, &[]).await.unwrap();
    };
    tokio::runtime::Runtime::new().unwrap().block_on(fill);
    let settings = format!("fanout.pull_above = \"off\"\n{}", receiver.settings());
    let service = Service::start(folder, &settings, "info");
    let made = service.run(&["key", "add", "alice", "--scope", "write", "--json"], "");
    let key = serde_json::from_str::<Value>(&made).unwrap()["key"].as_str().unwrap().to_owned();
    Writer { service: &service, name: "alice".to_owned(), key }.put("1", &[]);
    let spans = receiver.first_write(FOLLOWERS);
    let tasks: Vec<&str> =
        spans.iter().map(|span| span.name.as_str()).filter(|name| name.starts_with("task ")).collect();
    assert_eq!(tasks, ["task version", "task followers"]);
}

#[test]
fn without_the_setting_or_a_sample_nothing_is_sent() {
    let receiver = Receiver::start();
    for settings in [String::new(), format!("{}\ntracing.sample_ratio = 0", receiver.settings())] {
        let service = Service::start(Folder::new(), &settings, "info");
        // A client cannot turn it on.
        let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        Writer::new(&service, "alice", 1).put("1", &[("traceparent", header)]);
        let delivered = || value(&metrics(&service), "tofrom_delivery_seconds_count");
        assert!(wait_for(ARRIVAL, delivered, |count| *count >= 1.0) >= 1.0);
        let (_folder, log) = service.stop();
        assert!(!log.contains("trace export"), "{log}");
        assert!(receiver.spans().is_empty(), "{:?}", receiver.spans());
    }
}

#[test]
fn a_receiver_that_fails_delays_nothing() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // Connections are accepted by the kernel, and nothing answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for address in [closed, silent.local_addr().unwrap()] {
        let settings = format!("tracing.otlp_endpoint = \"http://{address}\"");
        let service = Service::start(Folder::new(), &settings, "info");
        let writer = Writer::new(&service, "alice", 1);
        for number in 1..=20 {
            let took = writer.put(&number.to_string(), &[]);
            assert!(took < Duration::from_secs(2), "{took:?}");
        }
        let dropped = || value(&metrics(&service), "tofrom_trace_spans_dropped_total{reason=\"collector\"}");
        assert!(wait_for(ARRIVAL, dropped, |count| *count > 0.0) > 0.0, "{}", metrics(&service));
        assert_eq!(value(&metrics(&service), "tofrom_trace_spans_sent_total"), 0.0);
        writer.put("21", &[]);
        let stopping = StealAdjustedClock::now();
        let (_folder, log) = service.stop();
        assert!(stopping.elapsed() < Duration::from_secs(10), "{:?}", stopping.elapsed());
        assert_eq!(log.matches("\"trace export failed\"").count(), 1, "{log}");
    }
}

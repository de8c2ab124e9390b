//! Overload: requests are refused while too many are queued, and never otherwise.

use super::program::succeed;
use super::serving::{Serving, Settings, serve_with};
use super::support::client::{Answer, Client, read_answer};
use super::support::folder::Folder;
use base64::Engine;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const JSON: (&str, &str) = ("Accept", "application/json");
/// More clients than the allowed queue, and fewer.
const MANY: usize = 24;
const FEW: usize = 16;

/// How long clients try to be refused. They are after a fraction of a second, unless the host stands still.
const TIMEOUT: Duration = Duration::from_secs(60);

fn account(folder: &Folder, name: &str) -> String {
    succeed(folder, &["account", "add", name, "--no-password", "--public"], "");
    let made = succeed(folder, &["key", "add", name, "--scope", "write", "--json"], "");
    serde_json::from_str::<Value>(&made).unwrap()["key"].as_str().unwrap().to_owned()
}

/// A service with these settings, and the key of an account.
fn served(settings: &str) -> (Folder, String, Serving) {
    let folder = Folder::new();
    let key = account(&folder, "ann");
    let quiet = Settings { log: "warn", ..Settings::default() };
    let serving = serve_with(&folder, settings, quiet);
    (folder, key, serving)
}

/// The method and the accepted media type of a read.
type Kind = (&'static str, &'static str);

const READ: Kind = ("GET", "application/json");

/// A kept-alive connection.
struct Line<'a> {
    stream: super::support::client::TlsStream,
    key: &'a str,
}

impl Line<'_> {
    fn send(&mut self, method: &str, target: &str, headers: &str, body: &str) -> Answer {
        let request = format!(
            "{method} /social{target} HTTP/1.1\r\nHost: x\r\nServicePSK: {}\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            self.key,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).unwrap();
        self.stream.flush().unwrap();
        read_answer(&mut self.stream, method == "HEAD")
    }

    fn read(&mut self) -> Answer {
        self.send_kind(READ)
    }

    fn send_kind(&mut self, (method, accept): Kind) -> Answer {
        // Only the end of the connection shows that an answer has no body.
        let close = if method == "HEAD" { "Connection: close\r\n" } else { "" };
        self.send(method, "/200909/activity/ann/from", &format!("Accept: {accept}\r\n{close}"), "")
    }
}

/// Sends requests of these kinds from so many clients until `act` ends. Returns the answers that `keep` selects, with their
/// kind.
fn under_load(
    client: &Client,
    key: &str,
    clients: usize,
    kinds: &[Kind],
    keep: impl Fn(&Answer) -> bool + Sync,
    act: impl FnOnce(&AtomicUsize) + Send,
) -> Vec<(Kind, Answer)> {
    let (over, kept) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let (over, kept, keep) = (&over, &kept, &keep);
        let clients: Vec<_> = (0..clients)
            .map(|number| {
                scope.spawn(move || {
                    let kind = kinds[number % kinds.len()];
                    let (mut line, mut answers) = (Line { stream: client.connect(), key }, Vec::new());
                    while !over.load(Ordering::Relaxed) {
                        let answer = line.send_kind(kind);
                        if kind.0 == "HEAD" {
                            line.stream = client.connect();
                        }
                        if keep(&answer) {
                            kept.fetch_add(1, Ordering::Relaxed);
                            answers.push((kind, answer));
                        }
                    }
                    answers
                })
            })
            .collect();
        {
            // Also if `act` panics: the clients would never end.
            let _end = End(over);
            act(kept);
        }
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    })
}

/// Ends the load when it is dropped.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits until so many answers were kept.
fn until(kept: &AtomicUsize, number: usize) {
    let started = Instant::now();
    while kept.load(Ordering::Relaxed) < number {
        assert!(started.elapsed() < TIMEOUT, "{} of {number}", kept.load(Ordering::Relaxed));
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn assert_refused((method, accept): Kind, answer: &Answer) {
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert!(answer.header("x-request-id").is_some());
    let media_type = match accept {
        "application/json" => "application/problem+json",
        "application/xml" => "application/problem+xml",
        _ => "text/html; charset=utf-8",
    };
    assert_eq!(answer.header("content-type"), Some(media_type));
    if method == "HEAD" {
        assert!(answer.body.is_empty());
        return;
    }
    assert!(answer.text().contains("too many requests"), "{}", answer.text());
    if accept == "application/json" {
        let problem = answer.json();
        assert!(problem["type"].as_str().unwrap().ends_with("/docs/problems/unavailable"), "{problem}");
        assert_eq!(problem["status"], 503);
    }
}

#[test]
fn an_overloaded_service_refuses_requests_and_recovers() {
    let (folder, key, serving) = served("limits.requests = \"off\"\nlimits.queued_requests = \"1\"");
    let client = serving.client(&folder);
    let kinds = ["application/json", "application/xml", "text/html"];
    let kinds: Vec<Kind> = kinds.into_iter().flat_map(|accept| [("GET", accept), ("HEAD", accept)]).collect();
    let refused = under_load(
        &client,
        &key,
        MANY,
        &kinds,
        |answer| answer.status == 503,
        |refused| {
            until(refused, 30);
            assert_eq!(serving.ready(), 200, "the admin listener refuses nothing");
            assert!(serving.metrics().contains("tofrom_requests_refused_total{reason=\"run-queue\"}"));
        },
    );
    let mut lengths = HashMap::new();
    for (kind, answer) in &refused {
        assert_refused(*kind, answer);
        let length = answer.header("content-length").unwrap();
        assert_eq!(
            length,
            *lengths.entry(kind.1).or_insert(length),
            "{kind:?}: a HEAD is refused like a GET"
        );
    }
    let recovered = || client.get("/social/200909/activity/ann/from", &[("ServicePSK", &key), JSON]).status;
    let started = Instant::now();
    while recovered() != 200 {
        assert!(started.elapsed() < TIMEOUT, "it recovers");
        std::thread::sleep(Duration::from_millis(50));
    }
    // Long after: nothing is refused.
    std::thread::sleep(Duration::from_secs(2));
    assert!((0..20).all(|_| recovered() == 200));
    let log = serving.stop();
    assert!(log.contains("overloaded, refusing requests"), "{log}");
}

#[test]
fn fewer_requests_than_the_allowed_queue_are_never_refused() {
    let (folder, key, serving) = served("limits.requests = \"off\"");
    let answers = AtomicUsize::new(0);
    let count = |answer: &Answer| {
        answers.fetch_add(1, Ordering::Relaxed);
        answer.status != 200
    };
    let refused = under_load(&serving.client(&folder), &key, FEW, &[READ], count, |_| {
        std::thread::sleep(Duration::from_secs(3));
    });
    assert!(refused.is_empty(), "{} of {answers:?}: {}", refused.len(), refused[0].1.text());
    assert!(!serving.metrics().contains("tofrom_requests_refused_total{"));
    serving.stop();
}

#[test]
fn without_the_limit_nothing_is_refused() {
    let (folder, key, serving) = served("limits.requests = \"off\"\nlimits.queued_requests = \"off\"");
    let refused = under_load(
        &serving.client(&folder),
        &key,
        MANY,
        &[READ],
        |answer| answer.status != 200,
        |_| {
            std::thread::sleep(Duration::from_secs(1));
        },
    );
    assert!(refused.is_empty());
    serving.stop();
}

/// Requests that wait for a password to be hashed do not count: more guessers wait than may be queued, and others are
/// served.
#[test]
fn waiting_guessers_make_no_other_client_refused() {
    const GUESSERS: usize = 60;
    const QUEUED: usize = 16;
    let (folder, key, serving) = served(&format!("limits.queued_requests = \"{QUEUED}\""));
    let client = serving.client(&folder);
    let guess = |number: usize| {
        let credentials = base64::engine::general_purpose::STANDARD.encode(format!("missing-{number}:wrong"));
        let mut stream = client.connect();
        let request = "GET /social/200909/whoami HTTP/1.1\r\nHost: x\r\n";
        write!(stream, "{request}Authorization: Basic {credentials}\r\n\r\n").unwrap();
        stream.flush().unwrap();
        stream
    };
    let waiting: Vec<_> = (0..GUESSERS).map(guess).collect();
    let mut line = Line { stream: client.connect(), key: &key };
    for _ in 0..5 {
        let answer = line.read();
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let metrics = serving.metrics();
    assert!(!metrics.contains("tofrom_requests_refused_total{"), "{metrics}");
    let hashes = metrics.lines().find_map(|line| line.strip_prefix("tofrom_password_hashes_total "));
    let hashes: usize = hashes.unwrap_or("0").parse().unwrap();
    eprintln!("{hashes} of {GUESSERS} guesses were checked meanwhile");
    assert!(GUESSERS - hashes > QUEUED, "{hashes} of {GUESSERS} guesses were checked already");
    drop(waiting);
    serving.stop();
}

/// Open streams and bodies that do not arrive do not count, however many there are.
#[test]
fn streams_and_unfinished_bodies_are_not_in_flight() {
    let (folder, key, serving) = served("limits.requests = \"off\"\nlimits.queued_requests = \"2\"");
    let client = serving.client(&folder);
    let mut held = Vec::new();
    for number in 0..MANY {
        let mut stream = client.connect();
        let request = match number % 2 {
            0 => "GET /social/200909/activity/ann/from HTTP/1.1\r\nAccept: text/event-stream\r\n",
            _ => {
                "PUT /social/200909/activity/ann/from/Notes/1 HTTP/1.1\r\nContent-Type: application/json\r\n\
                  Content-Length: 9\r\n"
            }
        };
        write!(stream, "{request}Host: x\r\nServicePSK: {key}\r\n\r\n").unwrap();
        stream.flush().unwrap();
        if number % 2 == 0 {
            let mut first = [0; 12];
            std::io::Read::read_exact(&mut stream, &mut first).unwrap();
            assert_eq!(&first, b"HTTP/1.1 200", "stream {number}");
        }
        held.push(stream);
    }
    std::thread::sleep(Duration::from_millis(300));
    let note = json!({ "Category": "NotePosted", "Title": "t", "Note": { "Title": "t" } }).to_string();
    let mut line = Line { stream: client.connect(), key: &key };
    for number in 0..20 {
        assert_eq!(line.read().status, 200);
        let target = format!("/200909/activity/ann/from/Notes/n{number}");
        let written = line.send("PUT", &target, "Content-Type: application/json\r\n", &note);
        assert_eq!(written.status, 201, "{}", written.text());
    }
    drop(held);
    serving.stop();
}

/// Writes that wait for the store are in flight. A refused one has done nothing.
#[test]
fn writes_that_wait_for_the_store_make_others_refused() {
    let (folder, key, serving) = served("limits.requests = \"off\"\nlimits.queued_requests = \"4\"");
    let client = serving.client(&folder);
    let note = json!({ "Category": "NotePosted", "Title": "t", "Note": { "Title": "t" } }).to_string();
    let put = |number: usize| {
        let mut line = Line { stream: client.connect(), key: &key };
        let target = format!("/200909/activity/ann/from/Notes/{number}");
        line.send("PUT", &target, "Content-Type: application/json\r\n", &note)
    };
    assert_eq!(put(0).status, 201);
    // Another process writes: all writes of the service wait for it.
    let database = rusqlite::Connection::open(folder.path().join("tofrom.db")).unwrap();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let answers: Vec<(usize, Answer)> = std::thread::scope(|scope| {
        let waiting: Vec<_> = (1..=MANY)
            .map(|number| {
                let put = &put;
                scope.spawn(move || {
                    // The queue must be too long for a while.
                    std::thread::sleep(Duration::from_millis(100 * number as u64));
                    (number, put(number))
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(100 * MANY as u64 + 200));
        let mut reader = Line { stream: client.connect(), key: &key };
        assert_eq!(reader.read().status, 200, "reads do not wait");
        database.execute_batch("COMMIT").unwrap();
        waiting.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let mut reader = Line { stream: client.connect(), key: &key };
    let mut stored = |number: usize| {
        let target = format!("/200909/activity/ann/from/Notes/{number}");
        reader.send("GET", &target, "Accept: application/json\r\n", "").status == 200
    };
    let refused = answers.iter().filter(|(_, answer)| answer.status != 201).count();
    assert!(refused > 0 && refused < MANY, "{refused}");
    for (number, answer) in &answers {
        if answer.status != 201 {
            assert_refused(("PUT", "application/json"), answer);
        }
        assert_eq!(stored(*number), answer.status == 201, "{number}: {}", answer.status);
    }
    serving.stop();
}

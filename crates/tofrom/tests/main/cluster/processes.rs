//! Two API processes and two workers on one cluster: a client that alternates between the API processes sees one
//! service.

use super::super::delivery::env_number;
use super::super::oauth::answers::refused;
use super::super::oauth::application::{App, issued};
use super::super::oauth::races::{at_once_at, exactly_one};
use super::super::oauth::service::{Service, password_of};
use super::super::support::client::{Answer, Client};
use super::super::support::secure;
use super::super::support::steal_adjusted_clock::{self, StealAdjustedClock};
use super::super::writing::oracle::{self, Sender, Side};
use super::lost_log::nats;
use super::{Engines, RUNTIME, prepared, secret_key};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures::StreamExt;
use model::{AccountName, Collection, CursorKeys, FeedQuery, Filter, Order, Position, Start, SyncToken};
use seal::SecretKeys;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use store::Accounts;
use store::cql::CqlStore;

const JSON: &str = "application/json";
/// Time limit for a change to become visible everywhere.
const PROPAGATION: Duration = Duration::from_secs(5);
/// Lines of a stream may be late on a busy machine. A line without an end does not count.
const TIMEOUT: Duration = Duration::from_secs(30);

struct Processes {
    apis: [Service; 2],
    _workers: [Service; 2],
    engines: Engines,
}

/// An account with a key that writes.
struct Person {
    name: String,
    key: String,
    key_id: String,
}

/// All tests share the processes; each has its own accounts.
fn processes() -> Option<&'static Processes> {
    static STAGE: OnceLock<Processes> = OnceLock::new();
    let engines = prepared()?;
    Some(STAGE.get_or_init(|| {
        let engines = engines.on_stream("box");
        let settings = settings(&engines);
        let start = |role| {
            std::thread::scope(|scope| {
                let both = [(); 2].map(|()| scope.spawn(|| Service::start_as(role, &settings)));
                both.map(|starting| starting.join().unwrap())
            })
        };
        Processes { apis: start("api"), _workers: start("worker"), engines }
    }))
}

pub(super) fn settings(engines: &Engines) -> String {
    let Engines { nodes, servers } = engines;
    let secret = secret_key();
    // Accounts of other tests lie far in the past, and would become dormant.
    format!(
        "store = \"cql\"\nsecret_keys = [{secret:?}]\nfanout.idle_after = \"off\"\ncql.nodes = {:?}\n\
         cql.replication = {}\ncql.keyspace = {:?}\nnats.servers = {:?}\nnats.monitor = {:?}\nnats.stream = {:?}\n\
         nats.max_bytes = \"{}MiB\"\n{}",
        nodes.nodes,
        nodes.replication,
        nodes.keyspace,
        servers.servers,
        servers.monitor,
        servers.stream,
        servers.max_bytes >> 20,
        secure::settings()
    )
}

/// A name that is not taken on the cluster.
fn fresh(prefix: &str) -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let millis = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
    format!("{prefix}-{millis}-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Polls until the value equals `expected`, for as long as a change may take.
fn becomes<T: PartialEq + std::fmt::Debug>(expected: T, look: impl Fn() -> T) {
    steal_adjusted_clock::becomes(PROPAGATION, expected, look);
}

impl Processes {
    fn person(&self, prefix: &str, more: &[&str]) -> Person {
        let name = fresh(prefix);
        self.apis[0].add_account(&name, more);
        let made = self.apis[1].run(&["key", "add", &name, "--scope", "write", "--json"], "");
        let made: Value = serde_json::from_str(&made).unwrap();
        let text = |field: &str| made[field].as_str().unwrap().to_owned();
        Person { key: text("key"), key_id: text("id"), name }
    }

    /// Sends a request to one of the processes; the number wraps around.
    fn request(&self, at: usize, method: &str, target: &str, who: &Person, body: Option<&Value>) -> Answer {
        let body = body.map(Value::to_string).unwrap_or_default();
        let headers = [("ServicePSK", who.key.as_str()), ("Accept", JSON), ("Content-Type", JSON)];
        let headers = if body.is_empty() { &headers[..2] } else { &headers };
        let client = &self.apis[at % 2].client;
        client.send(method, &format!("/social/200909{target}"), headers, body.as_bytes())
    }

    fn write(&self, at: usize, who: &Person, id: &str) {
        let bookmark = json!({ "Title": "t", "Url": "https://example.org/" });
        let body = json!({ "Category": "BookmarkShared", "Title": id, "Bookmark": bookmark });
        let answer = self.request(at, "PUT", &own_target(who, id), who, Some(&body));
        assert_eq!(answer.status, 201, "{}", answer.text());
    }

    fn titles(&self, at: usize, who: &Person, collection: &str, query: &str) -> Vec<String> {
        let target = format!("/activity/{}/{collection}?count=200&{query}", who.name);
        titles(&self.request(at, "GET", &target, who, None))
    }

    /// A stream of an account's collection, line by line.
    fn stream(&self, at: usize, who: &Person, query: &str, last: Option<&str>) -> Receiver<String> {
        let client: Client = self.apis[at % 2].client.clone();
        let last = last.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
        let request = format!(
            "GET /social/200909/activity/{}/tofrom{query} HTTP/1.1\r\nHost: x\r\nServicePSK: {}\r\n\
             Accept: text/event-stream\r\n{last}\r\n",
            who.name, who.key
        );
        let (sender, receiver) = channel();
        let mut stream = client.connect();
        stream.write_all(request.as_bytes()).unwrap();
        stream.flush().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        receiver
    }
}

fn own_target(who: &Person, id: &str) -> String {
    format!("/activity/{}/from/Delicious/{id}", who.name)
}

fn titles(page: &Answer) -> Vec<String> {
    page.activities().iter().map(|one| one["Title"].as_str().unwrap().to_owned()).collect()
}

/// Waits for a line that contains these words.
fn line_with(lines: &Receiver<String>, words: &str, within: Duration) -> String {
    let started = StealAdjustedClock::now();
    let mut seen = Vec::new();
    while started.elapsed() < within {
        match lines.recv_timeout(Duration::from_millis(100)) {
            Ok(line) if line.contains(words) => return line,
            Ok(line) => seen.push(line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    panic!("no {words:?} within {within:?}: {seen:?}");
}

#[test]
fn a_write_at_one_process_is_read_at_the_other() {
    let Some(processes) = processes() else { return };
    let (actor, fan) = (processes.person("actor", &["--public"]), processes.person("fan", &[]));
    let edge = format!("/user/{}/following/{}", fan.name, actor.name);
    assert_eq!(processes.request(0, "PUT", &edge, &fan, None).status, 204);
    let mut newest = Vec::new();
    for number in 0..10 {
        let id = format!("n{number}");
        processes.write(number, &actor, &id);
        newest.insert(0, id);
        for query in [
            "",
            "orderby=pubDate",
            "service=delicious",
            "type=bookmark&verb=share",
            "orderby=pubDate&type=bookmark",
        ] {
            assert_eq!(processes.titles(number + 1, &actor, "from", query), newest, "{query}");
            assert_eq!(processes.titles(number, &actor, "tofrom", query), newest, "{query}");
        }
        for at in 0..2 {
            becomes(newest.clone(), || processes.titles(at, &fan, "to", "orderby=pubDate"));
        }
    }
    assert_eq!(processes.request(1, "DELETE", &own_target(&actor, "n3"), &actor, None).status, 204);
    newest.retain(|id| id != "n3");
    assert_eq!(processes.titles(0, &actor, "from", ""), newest, "a deletion is visible immediately");
    assert_eq!(processes.titles(0, &fan, "to", ""), newest, "for all followers");
    assert_eq!(processes.request(1, "DELETE", &edge, &fan, None).status, 204);
    assert_eq!(processes.titles(0, &fan, "to", ""), [""; 0]);
}

#[test]
fn a_stream_at_one_process_receives_writes_of_the_other() {
    let Some(processes) = processes() else { return };
    let (actor, fan) = (processes.person("actor", &["--public"]), processes.person("fan", &[]));
    let edge = format!("/user/{}/following/{}", fan.name, actor.name);
    assert_eq!(processes.request(0, "PUT", &edge, &fan, None).status, 204);
    for at in 0..2 {
        let (own_target, followers) =
            (processes.stream(at, &actor, "", None), processes.stream(at, &fan, "", None));
        for lines in [&own_target, &followers] {
            line_with(lines, "text/event-stream", TIMEOUT);
            line_with(lines, ":", TIMEOUT);
        }
        std::thread::sleep(Duration::from_secs(1));
        for round in 0..3 {
            let id = format!("streamed-{at}-{round}");
            processes.write(at + 1, &actor, &id);
            // How fast they arrive is measured by scripts/measure-live: other tests keep the engines busy.
            line_with(&own_target, &id, TIMEOUT);
            line_with(&followers, &id, TIMEOUT);
        }
    }
}

#[test]
fn revocations_at_one_process_apply_at_the_other() {
    let Some(processes) = processes() else { return };
    let (one, other) = (processes.person("one", &["--public"]), processes.person("other", &[]));
    let page = format!("/activity/{}/from", one.name);
    let seen = |at: usize, who: &Person| processes.request(at, "GET", &page, who, None).status;
    assert_eq!([seen(0, &other), seen(1, &other)], [200, 200]);
    let private =
        processes.request(0, "PUT", &format!("/user/{}", one.name), &one, Some(&json!({ "Public": false })));
    assert_eq!(private.status, 200, "{}", private.text());
    assert_eq!(seen(0, &other), 404);
    becomes(404, || seen(1, &other));

    let app = App::register(&processes.apis[0], "App", "http://127.0.0.1/cb", &[]);
    let token = app.token_of(&one.name);
    let clients = processes.apis.each_ref().map(|api| &api.client);
    let works = |at: usize| app.whoami(&token).send(clients[at]).status;
    assert_eq!([works(0), works(1)], [200, 200]);
    assert_eq!(app.draft("DELETE", "/200909/whoami/token").token(&token).send(clients[0]).status, 204);
    assert_eq!(works(0), 401);
    becomes(401, || works(1));

    assert_eq!([seen(0, &one), seen(1, &one)], [200, 200]);
    processes.apis[0].run(&["key", "revoke", &one.name, &one.key_id], "");
    becomes([401, 401], || [seen(0, &one), seen(1, &one)]);
}

/// `ORACLE_CLUSTER_SEQUENCES` is the number of sequences.
#[test]
fn to_reveals_no_account_names_at_either_process() {
    let Some(processes) = processes() else { return };
    let side = |at: usize, names: Vec<String>| {
        let Person { name, key, .. } = processes.person("sender", &[]);
        let client = &processes.apis[at].client;
        Side { client, prefix: "/social", sender: Sender { name, key }, names }
    };
    let known = [&["--public"][..], &[], &[]].map(|more| processes.person("known", more).name);
    let unknown = [(); 3].map(|()| fresh("nobody"));
    let sequences = env_number("ORACLE_CLUSTER_SEQUENCES").unwrap_or(2);
    oracle::try_all(sequences, &side(0, known.to_vec()), &side(1, unknown.to_vec()));
}

/// A reader of the log learns who did something, but not what, and no credential.
#[test]
fn the_log_carries_no_content_and_no_credential() {
    let Some(processes) = processes() else { return };
    let servers = &processes.engines.servers;
    let captured = RUNTIME.block_on(async {
        let client = nats(servers).await;
        let messages = client.subscribe(format!("{}.>", servers.stream)).await.unwrap();
        client.flush().await.unwrap();
        messages
    });
    let (actor, fan) = (processes.person("actor", &["--public"]), processes.person("fan", &[]));
    let edge = format!("/user/{}/following/{}", fan.name, actor.name);
    assert_eq!(processes.request(0, "PUT", &edge, &fan, None).status, 204);
    processes.write(1, &actor, "marvellous-bookmark");
    // A change of visibility goes through the log, and the account has a password hash.
    processes.apis[0].run(&["account", "set", &actor.name, "--private"], "");
    processes.apis[1].run(&["account", "set", &actor.name, "--public"], "");
    processes.write(0, &actor, "the-last-one");
    becomes(vec!["the-last-one".to_owned(), "marvellous-bookmark".to_owned()], || {
        processes.titles(0, &fan, "tofrom", "")
    });

    let (actor_password, fan_password) = (password_of(&actor.name), password_of(&fan.name));
    let secrets =
        ["marvellous", "example.org", "$argon2", &actor.key, &fan.key, &actor_password, &fan_password];
    let mut tasks = 0;
    RUNTIME.block_on(async {
        let mut captured = captured;
        let quiet = Duration::from_secs(1);
        while let Ok(Some(message)) = tokio::time::timeout(quiet, captured.next()).await {
            tasks += usize::from(message.subject.ends_with(".task"));
            for secret in secrets {
                let found = message.payload.windows(secret.len()).any(|window| window == secret.as_bytes());
                assert!(!found, "{secret:?} is in a message of {}", message.subject);
            }
        }
    });
    assert!(tasks >= 5, "{tasks} tasks");
}

#[test]
fn one_time_credentials_work_once_across_processes() {
    let Some(processes) = processes() else { return };
    let person = processes.person("person", &[]);
    let app = App::register(&processes.apis[0], "App", "http://127.0.0.1/cb", &[]);
    let clients = processes.apis.each_ref().map(|api| &api.client);
    let token = app.token_of(&person.name);
    for round in 0..4 {
        let request = app.whoami(&token).sign();
        assert_eq!(request.send(clients[round % 2]).status, 200);
        refused(&request.send(clients[(round + 1) % 2]), 401, "nonce-used", "nonce_used");
    }
    for _ in 0..3 {
        let request = app.whoami(&token).sign();
        exactly_one(at_once_at(&clients, &vec![request; 20]), "nonce-used");
        let (temporary, verifier) = app.allowed(&person.name);
        let requests: Vec<_> = (0..20).map(|_| app.exchange(&temporary, &verifier).sign()).collect();
        let token = issued(&exactly_one(at_once_at(&clients, &requests), "token-used"));
        assert_eq!(app.whoami(&token).send(clients[0]).status, 200);
        assert_eq!(app.whoami(&token).send(clients[1]).status, 200);
    }
}

#[test]
fn wrong_passwords_are_throttled_at_both_processes() {
    let Some(processes) = processes() else { return };
    let person = processes.person("guessed", &[]);
    let guess = |at: usize, word: &str| {
        let basic = format!("Basic {}", BASE64_STANDARD.encode(format!("{}:{word}", person.name)));
        processes.apis[at % 2].client.get("/social/200909/whoami", &[("Authorization", &basic)]).status
    };
    let started = StealAdjustedClock::now();
    let statuses: Vec<u16> = (0..100).map(|number| guess(number, &format!("wrong-{number}"))).collect();
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    for at in 0..2 {
        let mine = statuses.iter().skip(at).step_by(2);
        assert!(mine.clone().any(|status| *status == 429), "{statuses:?}");
        // A bucket refills every 3 seconds, on a busy machine perhaps between a refused guess and the next one.
        let right_guess_is_refused = || {
            while guess(at, "wrong") != 429 {}
            guess(at, &password_of(&person.name)) == 429
        };
        assert!((0..10).any(|_| right_guess_is_refused()), "a throttled right guess is refused");
    }
    assert!(statuses.iter().all(|status| [401, 429].contains(status)), "{statuses:?}");
}

#[test]
fn a_sync_token_works_at_both_processes_and_fails_for_another_log() {
    let Some(processes) = processes() else { return };
    let person = processes.person("person", &[]);
    processes.write(0, &person, "before");
    let target = format!("/activity/{}/tofrom", person.name);
    let mut page = processes.request(0, "GET", &target, &person, None);
    for number in 0..6 {
        let link = page.link("updates").unwrap();
        let (_, updates) = link.split_once("/200909").unwrap();
        let id = format!("after-{number}");
        processes.write(number, &person, &id);
        becomes(vec![id], || titles(&processes.request(number + 1, "GET", updates, &person, None)));
        page = processes.request(number + 1, "GET", updates, &person, None);
    }

    let owner = RUNTIME.block_on(async {
        let store = CqlStore::open(&processes.engines.nodes, &processes.engines.servers).await.unwrap();
        store.account_by_name(&AccountName::parse(&person.name).unwrap()).await.unwrap().unwrap().uid
    });
    let sync_token = SyncToken::at(Position(5));
    let old = FeedQuery {
        owner,
        collection: Collection::ToFrom,
        filter: Filter::default(),
        order: Order::Received,
        start: Start::Updates(sync_token.clone()),
        count: 20,
        format: None,
    };
    let secret_keys = SecretKeys::parse([secret_key()]).unwrap();
    let keys = CursorKeys::new(secret_keys.derive_bytes("cursor"));
    for at in 0..2 {
        let answer = processes.request(at, "GET", &format!("{target}?{}", old.render(&keys)), &person, None);
        assert_eq!(answer.status, 410, "{}", answer.text());
        assert!(answer.json()["type"].as_str().unwrap().ends_with("/cursor-expired"), "{}", answer.text());
        let lines = processes.stream(at, &person, "", Some(&old.sync_token_text(&sync_token, &keys)));
        line_with(&lines, "event: incomplete", TIMEOUT);
    }
}

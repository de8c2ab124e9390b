//! Power failures on one machine: everything acknowledged is there and the store is consistent, for any part of the writes
//! that were not synced.
//!
//! A recorder notes every change of the program's files while clients write (`power_loss/recorder.c`). Then the files are
//! rebuilt as they may be after a failure at random moments (`power_loss/trace.rs`), and the program starts on them.

mod trace;

use super::crash::check_store;
use super::delivery::env_number;
use super::support::chance::Chance;
use super::support::client::Answer;
use super::support::demo::Demo;
use super::support::folder::Folder;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use trace::Trace;

/// Number of failures. `POWER_LOSS_MOMENTS` overrides it.
const MOMENTS: u64 = 10;
const WRITERS: u64 = 4;
/// Requests of each writer.
const REQUESTS: usize = 120;
/// Longer than the writer is idle before it checkpoints.
const PAUSE: Duration = Duration::from_millis(2_500);

const SETTINGS: [(&str, &str); 1] = [("TOFROM_LIMITS__REQUESTS", "off")];

/// Something acknowledged, with the length of the trace when the client had the response.
struct Acknowledged<T> {
    at: usize,
    what: T,
}

struct Key {
    id: String,
    secret: String,
    /// The length of the trace before a revocation was sent, and when it was acknowledged.
    revoked: Option<[usize; 2]>,
}

/// What one client wrote to its account. Values are numbers that grow.
struct Writer {
    name: String,
    /// Its own key.
    key: String,
    titles: Vec<Acknowledged<(usize, usize)>>,
    given_names: Vec<Acknowledged<usize>>,
    keys: Vec<Acknowledged<Key>>,
}

fn send(demo: &Demo, key: &str, method: &str, target: &str, body: &Value) -> Answer {
    let headers = [("ServicePSK", key), ("Content-Type", "application/json"), ("Accept", "application/json")];
    let body = if body.is_null() { String::new() } else { body.to_string() };
    demo.client.send(method, target, &headers, body.as_bytes())
}

fn created(answer: &Answer) -> (String, String) {
    assert_eq!(answer.status, 201, "{}", answer.text());
    let made = &answer.json()["Key"];
    let field = |name: &str| made[name].as_str().unwrap().to_owned();
    (field("Id"), field("Key"))
}

impl Writer {
    fn new(demo: &Demo, number: u64) -> Writer {
        let name = format!("writer{number}");
        let made = send(demo, demo.key("ops"), "PUT", &format!("/200909/user/{name}"), &json!({}));
        assert_eq!(made.status, 201, "{}", made.text());
        let body = json!({ "Name": "writer", "Scope": "write" });
        let (_, key) =
            created(&send(demo, demo.key("ops"), "POST", &format!("/200909/user/{name}/keys"), &body));
        Writer { name, key, titles: Vec::new(), given_names: Vec::new(), keys: Vec::new() }
    }

    fn write(&mut self, demo: &Demo, trace: &Path, mut chance: Chance) {
        let length = || length_of(trace);
        let user = format!("/200909/user/{}", self.name);
        for number in 1..=REQUESTS {
            if number % (REQUESTS / 3) == 0 {
                std::thread::sleep(PAUSE);
            }
            match chance.below(10) {
                0 | 1 => {
                    let body = json!({ "GivenName": number.to_string() });
                    assert_eq!(send(demo, &self.key, "PUT", &user, &body).status, 200);
                    self.given_names.push(Acknowledged { at: length(), what: number });
                }
                2 => {
                    let made =
                        send(demo, &self.key, "POST", &format!("{user}/keys"), &json!({ "Name": "made" }));
                    let (id, secret) = created(&made);
                    let what = Key { id, secret, revoked: None };
                    self.keys.push(Acknowledged { at: length(), what });
                }
                3 if !self.keys.is_empty() => {
                    let index = chance.below(self.keys.len());
                    let key = &mut self.keys[index].what;
                    let target = format!("{user}/keys/{}", key.id);
                    let (expected, sent) = (if key.revoked.is_some() { 404 } else { 204 }, length());
                    assert_eq!(send(demo, &self.key, "DELETE", &target, &Value::Null).status, expected);
                    key.revoked.get_or_insert([sent, length()]);
                }
                _ => {
                    let item = chance.below(60);
                    let target = format!("/200909/activity/{}/from/power/{item}", self.name);
                    let bookmark = json!({ "Title": item.to_string(), "Url": "https://example.org/" });
                    let body = json!({ "Category": "BookmarkShared", "Title": number.to_string(), "Bookmark": bookmark });
                    let answer = send(demo, &self.key, "PUT", &target, &body);
                    assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
                    self.titles.push(Acknowledged { at: length(), what: (item, number) });
                }
            }
        }
    }

    /// The lengths of the trace after which something is acknowledged.
    fn acknowledgements(&self) -> impl Iterator<Item = usize> {
        let titles = self.titles.iter().map(|title| title.at);
        let keys =
            self.keys.iter().flat_map(|key| [Some(key.at), key.what.revoked.map(|[_, at]| at)]).flatten();
        titles.chain(self.given_names.iter().map(|name| name.at)).chain(keys)
    }

    /// Everything acknowledged before the failure is there. Later writes may be there too.
    fn check(&self, demo: &Demo, failure: usize) {
        let page = send(
            demo,
            &self.key,
            "GET",
            &format!("/200909/activity/{}/from?count=1000", self.name),
            &Value::Null,
        );
        let number = |value: &Value| value.as_str().and_then(|text| text.parse::<usize>().ok());
        let stored: HashMap<_, _> = page
            .activities()
            .iter()
            .map(|activity| (number(&activity["Bookmark"]["Title"]), number(&activity["Title"])))
            .collect();
        for Acknowledged { what: (item, title), .. } in self.titles.iter().filter(|title| title.at <= failure)
        {
            let found = stored.get(&Some(*item)).copied().flatten();
            assert!(found >= Some(*title), "title {title} of {item} is lost, found {found:?}");
        }
        let profile = send(demo, &self.key, "GET", &format!("/200909/user/{}", self.name), &Value::Null);
        let name = number(&profile.json()["User"]["GivenName"]);
        let acknowledged =
            self.given_names.iter().filter(|name| name.at <= failure).map(|name| name.what).max();
        assert!(name >= acknowledged, "name {acknowledged:?} is lost, found {name:?}");
        for Acknowledged { what: key, .. } in self.keys.iter().filter(|key| key.at <= failure) {
            let status = send(demo, &key.secret, "GET", "/200909/whoami", &Value::Null).status;
            match key.revoked {
                Some([_, acknowledged]) if acknowledged <= failure => {
                    assert_eq!(status, 401, "a revocation is lost");
                }
                Some([sent, _]) if sent <= failure => {}
                _ => assert_eq!(status, 200, "a key is lost"),
            }
        }
    }
}

fn length_of(trace: &Path) -> usize {
    usize::try_from(std::fs::metadata(trace).unwrap().len()).unwrap()
}

fn recorder(folder: &Path) -> PathBuf {
    let (source, library) = (
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/main/power_loss/recorder.c"),
        folder.join("recorder.so"),
    );
    let options = ["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o"];
    let built = Command::new("cc").args(options).arg(&library).arg(source).status().unwrap();
    assert!(built.success());
    library
}

#[test]
fn everything_acknowledged_survives_a_power_failure() {
    let folder = Folder::new();
    let (data, file) = (folder.path().join("data"), folder.path().join("trace"));
    std::fs::create_dir(&data).unwrap();
    let data = data.canonicalize().unwrap();
    let (writers, set_up) = record(&recorder(folder.path()), &data, &file);
    let trace = Trace::read(&file);
    assert!(trace.syncs("tofrom.db-wal") > 100 && trace.syncs("tofrom.db") > 3, "too little was recorded");

    let acknowledgements: Vec<_> = writers.iter().flat_map(Writer::acknowledgements).collect();

    let first = env_number("POWER_LOSS_SEED").unwrap_or(0);
    for seed in first..first + env_number("POWER_LOSS_MOMENTS").unwrap_or(MOMENTS) {
        let chance = &mut Chance::new(seed);
        let failure = match chance.below(8) {
            // While the store is created and filled.
            0 => chance.below(set_up),
            1..4 => set_up + chance.below(trace.len() - set_up),
            // Right after an acknowledgement.
            _ => *chance.pick(&acknowledgements),
        };
        let after = Folder::new();
        trace.files_after(failure, chance, &data, after.path());
        eprintln!("POWER_LOSS_SEED={seed}: failure at {failure} of {}", trace.len());
        let demo = Demo::start_with(after.path(), &["--admin", "127.0.0.1:0"], &SETTINGS);
        if failure >= set_up {
            writers.iter().for_each(|writer| writer.check(&demo, failure));
        }
        drop(demo);
        check_store(&after);
    }
}

/// Writes with several clients at a time. Returns them, and the length of the trace when they began.
fn record(recorder: &Path, data: &Path, trace: &Path) -> (Vec<Writer>, usize) {
    let recorded = [
        ("LD_PRELOAD", recorder.to_str().unwrap()),
        ("RECORDER_FOLDER", data.to_str().unwrap()),
        ("RECORDER_TRACE", trace.to_str().unwrap()),
    ];
    let demo = &Demo::start_with(data, &["--admin", "127.0.0.1:0"], &[&recorded[..], &SETTINGS[..]].concat());
    let mut writers: Vec<_> = (0..WRITERS).map(|number| Writer::new(demo, number)).collect();
    let set_up = length_of(trace);
    std::thread::scope(|scope| {
        for (seed, writer) in (0..).zip(&mut writers) {
            scope.spawn(move || writer.write(demo, trace, Chance::new(seed)));
        }
    });
    (writers, set_up)
}

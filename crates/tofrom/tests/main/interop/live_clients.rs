//! The programs of `examples/live` push an activity and follow the collection, even while the service is killed and
//! restarted.

use super::super::support::client::Client;
use super::super::support::demo::BINARY;
use super::super::support::folder::Folder;
use super::SET_UP;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// Time limit for a line; the first one includes building the program in Rust.
const TIMEOUT: Duration = Duration::from_secs(300);
/// How long to watch for repeats.
const QUIET: Duration = Duration::from_secs(2);

/// A program that ends with the test.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> (Running, BufReader<ChildStdout>) {
        let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).env("no_proxy", "*").spawn();
        let mut child =
            started.unwrap_or_else(|error| panic!("{command:?} failed to start ({error}): {SET_UP}"));
        let printed = BufReader::new(child.stdout.take().unwrap());
        (Running(child), printed)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A demo at that address, and its ready message.
fn demo(folder: &Path, listen: &str) -> (Running, Value) {
    let mut command = Command::new(BINARY);
    command.args(["demo", "--json", "--listen", listen, "--data"]).arg(folder).env("TOFROM_LOG", "error");
    let (running, mut printed) = Running::start(&mut command);
    let mut line = String::new();
    printed.read_line(&mut line).unwrap();
    (running, serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}")))
}

/// A client and the lines that it prints.
struct Follower {
    language: &'static str,
    lines: Receiver<String>,
    _running: Running,
}

impl Follower {
    fn start(language: &'static str, program: &[&str], arguments: &[&str]) -> Follower {
        let mut command = Command::new(program[0]);
        let (running, printed) =
            Running::start(command.args(&program[1..]).args(arguments).current_dir(ROOT));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            printed.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Follower { language, lines, _running: running }
    }

    /// The lines up to one that ends with `end`.
    fn until(&self, end: &str) -> Vec<String> {
        let mut seen: Vec<String> = Vec::new();
        let deadline = Instant::now() + TIMEOUT;
        while !seen.last().is_some_and(|line| line.ends_with(end)) {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            seen.push(line.unwrap_or_else(|error| {
                panic!("{}: {error} while waiting for {end:?} after {seen:?}", self.language)
            }));
        }
        seen
    }
}

#[test]
fn pushed_activities_reach_live_clients_once() {
    let folder = Folder::new();
    let (first, ready) = demo(folder.path(), "127.0.0.1:0");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let (base, authority) = (text(&ready["base_url"]), text(&ready["ca_cert"]));
    let alice = ready["accounts"].as_array().unwrap().iter().find(|account| account["name"] == "alice");
    let key = text(&alice.unwrap()["key"]);
    let arguments = [base.as_str(), &authority, "alice", &key];
    // cargo replaces itself with the program.
    let followers = [
        ("Python", &["python3", "-B", "examples/live/client.py"][..]),
        ("JavaScript", &["node", "examples/live/client.js"]),
        ("Rust", &["cargo", "run", "--quiet", "--locked", "--example", "live", "--"]),
    ]
    .map(|(language, program)| Follower::start(language, program, &arguments));
    let mut seen = followers.each_ref().map(|follower| {
        let seen = follower.until(&format!("alice says hello from {}", follower.language));
        let address = seen.iter().find_map(|line| line.strip_prefix("pushed ")).unwrap();
        let id = address.rsplit('/').next().unwrap();
        let event = format!("activity {id} alice says hello from {}", follower.language);
        assert_eq!(seen.last(), Some(&event));
        seen
    });
    // Killed with SIGKILL, and restarted at the same address.
    drop(first);
    let (_second, ready) = demo(folder.path(), base.strip_prefix("https://").unwrap());
    assert_eq!(ready["base_url"], base.as_str());
    let client = Client::new(&base, authority.as_ref());
    let note = |number: usize| json!({"Category": "NotePosted", "Title": format!("Note {number}"), "Note": {"Title": "x"}});
    for number in 1..=3 {
        let target = format!("/200909/activity/alice/from/Examples/{number}");
        let headers = [("ServicePSK", key.as_str()), ("Content-Type", "application/json")];
        let answer = client.send("PUT", &target, &headers, note(number).to_string().as_bytes());
        assert_eq!(answer.status, 201);
    }
    for (follower, seen) in followers.iter().zip(&mut seen) {
        seen.extend(follower.until("Note 3"));
    }
    std::thread::sleep(QUIET);
    for (follower, mut seen) in followers.into_iter().zip(seen) {
        seen.extend(follower.lines.try_iter());
        for number in 1..=3 {
            let end = format!(" Note {number}");
            let times = seen.iter().filter(|line| line.ends_with(&end)).count();
            assert_eq!(times, 1, "{}: {end} in {seen:#?}", follower.language);
        }
        let mut once = seen.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), seen.len(), "{}: repeated lines: {seen:#?}", follower.language);
    }
}

//! A demo for the tests: the real program, started once and stopped when the tests end.

use super::client::{Answer, Client};
use super::folder::Folder;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_tofrom");

pub(crate) struct Demo {
    pub(crate) ready: Value,
    pub(crate) client: Client,
    /// Holds the pipe whose end stops the demo.
    shell: Child,
}

/// Waits until the demo has ended: the next one on its folder would find the lock taken.
impl Drop for Demo {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

impl Demo {
    /// The demo that all tests share. They only read.
    pub(crate) fn shared() -> &'static Demo {
        static SHARED: OnceLock<(Demo, Folder)> = OnceLock::new();
        let start = || {
            let folder = Folder::new();
            (Demo::start(folder.path(), &[]), folder)
        };
        &SHARED.get_or_init(start).0
    }

    /// Starts a demo on that folder. It ends with this process, even after a crash: the shell's standard input is a
    /// pipe of this process.
    pub(crate) fn start(folder: &std::path::Path, more: &[&str]) -> Demo {
        Demo::start_with(folder, more, &[])
    }

    /// The same with those settings.
    pub(crate) fn start_with(folder: &std::path::Path, more: &[&str], settings: &[(&str, &str)]) -> Demo {
        let removed = if more.is_empty() { folder } else { "".as_ref() };
        Demo::start_by(&[&["--data", folder.to_str().unwrap()], more].concat(), removed, settings)
    }

    /// Starts a demo with these arguments; that folder is removed after its end.
    pub(crate) fn start_by(arguments: &[&str], removed: &std::path::Path, settings: &[(&str, &str)]) -> Demo {
        // The shell closes its standard output, so that a program that ends early ends the line that the test waits for.
        let mut shell = Command::new("sh")
            .arg("-c")
            .arg("\"$@\" & pid=$!; exec >&-; cat >/dev/null; kill $pid; wait $pid; rm -rf \"$TOFROM_TEST_FOLDER\"")
            .args(["sh", BINARY, "demo", "--listen", "127.0.0.1:0", "--json"])
            .args(arguments)
            .env("TOFROM_TEST_FOLDER", removed)
            .env("TOFROM_LOG", "error")
            .envs(settings.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        let client =
            Client::new(ready["base_url"].as_str().unwrap(), ready["ca_cert"].as_str().unwrap().as_ref());
        Demo { ready, client, shell }
    }

    /// Resident memory of the program.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let shell = self.shell.id();
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
        let resident = |pid: &str| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
            let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
            kib.unwrap_or(0) << 10
        };
        children.split_whitespace().map(resident).max().unwrap()
    }

    fn account(&self, name: &str) -> &Value {
        let accounts = self.ready["accounts"].as_array().unwrap();
        accounts.iter().find(|account| account["name"] == name).unwrap()
    }

    pub(crate) fn key(&self, name: &str) -> &str {
        self.account(name)["key"].as_str().unwrap()
    }

    pub(crate) fn password(&self, name: &str) -> &str {
        self.account(name)["password"].as_str().unwrap()
    }

    /// `name:password` as Basic encodes it.
    pub(crate) fn basic(&self, name: &str, password: &str) -> String {
        use base64::Engine;
        format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{name}:{password}")))
    }

    /// Reads alice's collection as alice, as JSON.
    pub(crate) fn alice(&self, query: &str) -> Answer {
        self.read("alice", "alice", "tofrom", query)
    }

    /// Reads a collection by key, as JSON.
    pub(crate) fn read(&self, reader: &str, owner: &str, collection: &str, query: &str) -> Answer {
        let target = format!(
            "/200909/activity/{owner}/{collection}{}{query}",
            if query.is_empty() { "" } else { "?" }
        );
        self.client.get(&target, &[("ServicePSK", self.key(reader)), ("Accept", "application/json")])
    }
}

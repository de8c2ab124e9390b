//! `tofrom serve` for these tests: below a prefix, and with a base address that differs from the listener's, because
//! signatures cover the base address.

use super::super::program::{succeed, succeeded, tofrom_in};
use super::super::support::browser::{Browser, Form, Page};
use super::super::support::client::Client;
use super::super::support::demo::BINARY;
use super::super::support::folder::Folder;
use super::super::support::signer::{Pair, encode};
use super::application::App;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

pub(crate) const ORIGIN: &str = "https://feeds.example";
pub(crate) const BASE: &str = "https://feeds.example/social";

/// Runs the service until its input says so or is closed; then removes the folder, unless it is to be kept.
const SCRIPT: &str = "\"$@\" 2>\"$TEST_FOLDER/log\" & echo $!; read word; kill $!; wait $!; \
                      [ \"$word\" = keep ] || rm -rf \"$TEST_FOLDER\"";

pub(crate) struct Service {
    pub(crate) client: Client,
    /// Process ID of the service.
    pub(crate) pid: u32,
    /// Whether its data is in a cluster instead of its folder.
    in_cluster: bool,
    folder: Folder,
    shell: Child,
}

/// The shared fixture of most tests: a service with alice (private, five activities), bob (public) and two
/// applications.
pub(crate) struct OauthFixture {
    pub(crate) service: &'static Service,
    /// Registered on loopback.
    pub(crate) app: App<'static>,
    /// Registered at `https://app.example.org/back`.
    pub(crate) other: App<'static>,
    /// Lets `app` read as alice.
    pub(crate) token: Pair,
}

pub(crate) fn fixture() -> &'static OauthFixture {
    static SERVICE: OnceLock<Service> = OnceLock::new();
    static STAGE: OnceLock<OauthFixture> = OnceLock::new();
    STAGE.get_or_init(|| {
        let service = SERVICE.get_or_init(|| Service::start(Folder::new(), "", "info"));
        service.add_account("alice", &["--given-name", "Alice"]);
        service.add_account("bob", &["--public"]);
        let line = |number: usize| {
            serde_json::json!({
                "SourceId": number.to_string(),
                "SourceService": { "Name": "Delicious" },
                "Category": "BookmarkShared",
                "Title": "A page",
                "Bookmark": { "Url": "https://example.org/" },
            })
            .to_string()
        };
        service.run(&["import", "alice", "-"], &(0..5).map(line).collect::<Vec<_>>().join("\n"));
        let app = App::register(service, "Photo wall", "http://127.0.0.1/cb", &[]);
        let other = App::register(service, "Second hand", "https://app.example.org/back", &[]);
        let token = app.token_of("alice");
        OauthFixture { service, app, other, token }
    })
}

/// Every account has its own password.
pub(crate) fn password_of(name: &str) -> String {
    format!("the-very-own-word-of-{name}")
}

/// The authorize address that an application sends people to.
pub(crate) fn authorize(temporary: &Pair) -> String {
    format!("{BASE}/oauth/authorize?oauth_token={}", encode(&temporary.key))
}

impl Service {
    /// Starts the service on that folder. It ends with this process, even after a crash.
    pub(crate) fn start(folder: Folder, settings: &str, log: &str) -> Service {
        let data = ["--data", folder.path().to_str().unwrap()].map(str::to_owned);
        Service::start_by(&data, folder, settings, log)
    }

    /// Starts one of several services of a cluster.
    pub(crate) fn start_as(role: &str, settings: &str) -> Service {
        Service::start_by(&["--role", role].map(str::to_owned), Folder::new(), settings, "info")
    }

    fn start_by(arguments: &[String; 2], folder: Folder, settings: &str, log: &str) -> Service {
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        std::fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        std::fs::write(folder.path().join("cert.pem"), made.cert.pem()).unwrap();
        let text = format!(
            "base_url = \"{BASE}\"\nlisten = \"127.0.0.1:0\"\nadmin_listen = \"127.0.0.1:0\"\n{settings}\n\
             [tls]\ncertificate = \"cert.pem\"\nprivate_key = \"key.pem\"\n",
        );
        // Commands that run in this folder find the settings there.
        std::fs::write(folder.path().join("tofrom.toml"), text).unwrap();
        // The log of an earlier service is removed.
        let _ = std::fs::remove_file(folder.path().join("log"));
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "sh", BINARY, "serve"])
            .args(arguments)
            .current_dir(folder.path())
            .env("TEST_FOLDER", folder.path())
            .env("TOFROM_LOG", log)
            // These tests ask as fast as they can.
            .env("TOFROM_LIMITS__REQUESTS", "off")
            .env("TOFROM_LOG_FORMAT", "json")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let pid = line.trim().parse().unwrap();
        let listener = if arguments[1] == "worker" { "admin_listen" } else { "listen" };
        let base = format!("https://{}", listens_at(&folder, listener));
        let client = Client::new(&base, &folder.path().join("cert.pem"));
        let in_cluster = arguments[0] == "--role";
        Service { client, pid, in_cluster, folder, shell }
    }

    /// Stops the service; returns the folder and the log.
    pub(crate) fn stop(mut self) -> (Folder, String) {
        self.shell.stdin.take().unwrap().write_all(b"keep\n").unwrap();
        self.shell.wait().unwrap();
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap();
        (self.folder, log)
    }

    /// Runs a command beside the service.
    pub(crate) fn run(&self, arguments: &[&str], input: &str) -> String {
        match self.in_cluster {
            true => succeeded(tofrom_in(&self.folder, arguments, input), arguments),
            false => succeed(&self.folder, arguments, input),
        }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn add_account(&self, name: &str, more: &[&str]) {
        let arguments = [&["account", "add", name, "--password-stdin"], more].concat();
        self.run(&arguments, &format!("{}\n", password_of(name)));
    }

    pub(crate) fn browser(&self) -> Browser {
        Browser::new(&self.client, BASE)
    }

    /// A browser with a signed-in account.
    pub(crate) fn signed_in(&self, name: &str, app: &App<'_>) -> Browser {
        let mut browser = self.browser();
        consent(&mut browser, name, &app.temporary_credentials());
        browser
    }
}

/// The consent page and its form; signs in if necessary.
pub(crate) fn consent(browser: &mut Browser, name: &str, temporary: &Pair) -> (Page, Form) {
    let mut page = browser.visit(&authorize(temporary));
    if let Some(form) = page.form("password") {
        page = browser.submit(&form, &[("username", name), ("password", &password_of(name))]);
    }
    let form = page.form("decision").unwrap_or_else(|| panic!("{} {}", page.status(), page.text()));
    (page, form)
}

/// The listener's address from the log, once the service is ready.
fn listens_at(folder: &Folder, listener: &str) -> String {
    let started = Instant::now();
    loop {
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let lines: Vec<_> = lines.collect();
        let said = |text: &str| lines.iter().find(|line| line["message"] == text);
        if let (Some(listen), Some(_)) = (said(listener), said("ready")) {
            return listen["address"].as_str().unwrap().to_owned();
        }
        assert!(started.elapsed() < Duration::from_secs(60), "the service did not start: {log}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

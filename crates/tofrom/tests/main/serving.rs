//! `tofrom serve` with various settings: the log, the proxy's listener, the admin listener, origins, required
//! applications, changed certificates.

use super::program::succeed;
use super::support::client::{Client, read_answer};
use super::support::demo::BINARY;
use super::support::folder::Folder;
use super::support::steal_adjusted_clock::{StealAdjustedClock, wait_for};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub(super) struct Serving {
    child: Child,
    log: std::thread::JoinHandle<String>,
    https: SocketAddr,
    proxy: SocketAddr,
    admin: SocketAddr,
}

/// A self-signed certificate for 127.0.0.1.
fn write_certificate(folder: &Path) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    // The key first: a pair that does not match is not loaded.
    std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    std::fs::write(folder.join("cert.pem"), made.cert.pem()).unwrap();
}

/// Settings that matter for a test; port 0 means a free port.
#[derive(Clone, Copy)]
pub(super) struct Settings<'a> {
    pub(super) https: u16,
    pub(super) proxy: u16,
    pub(super) log: &'a str,
    pub(super) shutdown_delay: &'a str,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Settings { https: 0, proxy: 0, log: "trace", shutdown_delay: "0s" }
    }
}

fn serve(folder: &Folder, more: &str) -> Serving {
    serve_with(folder, more, Settings::default())
}

pub(super) fn serve_with(folder: &Folder, more: &str, with: Settings<'_>) -> Serving {
    let Settings { https, proxy, log, shutdown_delay } = with;
    if !folder.path().join("cert.pem").exists() {
        write_certificate(folder.path());
    }
    let settings = folder.path().join("tofrom.toml");
    let text = format!(
        "base_url = \"https://feeds.example/social\"\nlisten = \"127.0.0.1:{https}\"\nadmin_listen = \"127.0.0.1:0\"\n\
         shutdown_delay = \"{shutdown_delay}\"\n{more}\n\
         [tls]\ncertificate = {:?}\nprivate_key = {:?}\n[proxy]\nlisten = \"127.0.0.1:{proxy}\"\ntrusted = [\"127.0.0.1\"]\n",
        folder.path().join("cert.pem"),
        folder.path().join("key.pem"),
    );
    std::fs::write(&settings, text).unwrap();
    let mut child = Command::new(BINARY)
        .args(["serve", "--config"])
        .arg(&settings)
        .arg("--data")
        .arg(folder.path())
        // The listener's address is logged at any level.
        .env("TOFROM_LOG", format!("{log},tofrom::cli=info"))
        .env("TOFROM_LOG_FORMAT", "json")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reader = BufReader::new(child.stderr.take().unwrap());
    let mut log = String::new();
    let mut addresses = std::collections::HashMap::new();
    loop {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the service ended: {log}");
        log.push_str(&line);
        let entry: serde_json::Value = serde_json::from_str(&line).unwrap();
        if let Some(address) = entry["address"].as_str() {
            addresses.insert(entry["message"].as_str().unwrap().to_owned(), address.parse().unwrap());
        }
        if entry["message"] == "ready" {
            break;
        }
    }
    let log = std::thread::spawn(move || {
        let _ = reader.read_to_string(&mut log);
        log
    });
    Serving {
        child,
        log,
        https: addresses["listen"],
        proxy: addresses["proxy.listen"],
        admin: addresses["admin_listen"],
    }
}

impl Serving {
    pub(super) fn client(&self, folder: &Folder) -> Client {
        Client::new(&format!("https://{}", self.https), &folder.path().join("cert.pem"))
    }

    /// The status of `/readyz`.
    pub(super) fn ready(&self) -> u16 {
        plain(self.admin, "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").status
    }

    /// The text of `/metrics`.
    pub(super) fn metrics(&self) -> String {
        let answer = plain(self.admin, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        answer.text().to_owned()
    }

    /// Sends SIGTERM.
    pub(super) fn signal(&self) {
        Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
    }

    /// Stops it and returns its log.
    pub(super) fn stop(mut self) -> String {
        self.signal();
        assert!(self.child.wait().unwrap().success(), "SIGTERM stops it with exit code 0");
        self.log.join().unwrap()
    }
}

fn plain(address: SocketAddr, request: &str) -> super::support::client::Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    read_answer(stream, false)
}

#[test]
fn no_secret_is_ever_logged() {
    let folder = Folder::new();
    succeed(&folder, &["account", "add", "alice", "--password-stdin"], "pass-word-of-alice\n");
    let made: serde_json::Value =
        serde_json::from_str(&succeed(&folder, &["key", "add", "alice", "--json"], "")).unwrap();
    let key = made["key"].as_str().unwrap();
    let serving = serve(&folder, "");
    let client = serving.client(&folder);
    let target = "/social/200909/activity/alice/tofrom?service=word-of-the-query";
    use base64::Engine;
    let basic = base64::engine::general_purpose::STANDARD.encode("alice:pass-word-of-alice");
    let wrong = base64::engine::general_purpose::STANDARD.encode("alice:wrong-word");
    for (name, value) in [
        ("ServicePSK", key.to_owned()),
        ("ServicePSK", "tfk_wrong-key".to_owned()),
        ("Authorization", format!("Basic {basic}")),
        ("Authorization", format!("Basic {wrong}")),
        ("Authorization", "OAuth oauth_signature=\"signature-word\"".to_owned()),
        ("Cookie", "session=cookie-word".to_owned()),
    ] {
        client.get(target, &[(name, &value)]);
    }
    let log = serving.stop();
    assert!(log.contains("/social/200909/activity/alice/tofrom"), "requests are logged: {log}");
    let secrets = [
        key,
        "tfk_",
        "pass-word",
        "wrong-word",
        basic.as_str(),
        wrong.as_str(),
        "signature-word",
        "cookie-word",
        "argon2",
        "word-of-the-query",
    ];
    for secret in secrets {
        let line = log.lines().find(|line| line.contains(secret));
        assert!(line.is_none(), "{secret} is in the log: {line:?}");
    }
}

#[test]
fn proxy_and_direct_listeners_give_the_same_links() {
    let folder = Folder::new();
    succeed(&folder, &["account", "add", "alice", "--no-password"], "");
    let made: serde_json::Value =
        serde_json::from_str(&succeed(&folder, &["key", "add", "alice", "--json"], "")).unwrap();
    let key = made["key"].as_str().unwrap();
    let serving = serve(&folder, "cors_origins = [\"https://app.example\"]\nrequire_consumer_key = false");
    let path = "/social/200909/activity/alice/tofrom";

    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nServicePSK: {key}\r\nConnection: close\r\n\r\n");
    let answer = plain(serving.proxy, &request);
    assert_eq!(answer.status, 200);
    let link = answer.link("self").unwrap();
    assert_eq!(link, format!("https://feeds.example{path}"), "links use the configured address");

    for (path, status) in [("/healthz", 200), ("/readyz", 200), ("/metrics", 200), ("/nothing", 404)] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        assert_eq!(plain(serving.admin, &request).status, status, "{path}");
    }
    let metrics = plain(serving.admin, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_every_metric_has_help(metrics.text());

    let client = serving.client(&folder);
    let (psk, origin) = (("ServicePSK", key), ("Origin", "https://app.example"));
    let answer = client.get(path, &[psk, origin]);
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example"));
    assert!(answer.header("access-control-expose-headers").unwrap().contains("ETag"));
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    let stranger = client.get(path, &[psk, ("Origin", "https://evil.example")]);
    assert_eq!((stranger.status, stranger.header("access-control-allow-origin")), (200, None));
    let preflight = client.send("OPTIONS", path, &[origin, ("Access-Control-Request-Method", "GET")], &[]);
    assert_eq!(preflight.status, 204);
    assert!(preflight.header("access-control-allow-headers").unwrap().contains("ServicePSK"));
    assert_eq!(
        client.get("/200909/activity/alice/tofrom", &[psk]).status,
        404,
        "paths outside the prefix are 404"
    );
    serving.stop();
}

fn assert_every_metric_has_help(text: &str) {
    let typed = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let typed: Vec<&str> = typed.collect();
    assert!(typed.contains(&"tofrom_build_info") && typed.contains(&"process_cpu_seconds_total"), "{text}");
    for name in typed {
        assert!(text.contains(&format!("# HELP {name} ")), "{name} has no help");
    }
}

#[test]
fn an_application_can_be_required() {
    let folder = Folder::new();
    succeed(&folder, &["account", "add", "alice", "--no-password"], "");
    let made = |arguments: &[&str]| -> serde_json::Value {
        serde_json::from_str(&succeed(&folder, arguments, "")).unwrap()
    };
    let key = made(&["key", "add", "alice", "--json"])["key"].as_str().unwrap().to_owned();
    let app = made(&["app", "add", "App", "--callback", "https://app.example/", "--json"])["key"].clone();
    let serving = serve(&folder, "require_consumer_key = true");
    let client = serving.client(&folder);
    let path = "/social/200909/whoami";
    assert_eq!(client.get(path, &[("ServicePSK", &key)]).status, 401);
    assert_eq!(
        client.get(path, &[("ServicePSK", &key), ("ServiceConsumerKey", app.as_str().unwrap())]).status,
        200
    );

    // Commands take effect while the service runs: a new key immediately, a revoked one within 5 s.
    let second = made(&["key", "add", "alice", "--json"]);
    let headers =
        [("ServicePSK", second["key"].as_str().unwrap()), ("ServiceConsumerKey", app.as_str().unwrap())];
    assert_eq!(client.get(path, &headers).status, 200);
    succeed(&folder, &["key", "revoke", "alice", second["id"].as_str().unwrap()], "");
    let status = || client.get(path, &headers).status;
    let last = wait_for(Duration::from_secs(5), status, |status| *status != 200);
    assert_ne!(last, 200, "a revoked key is still valid");
    serving.stop();
}

#[test]
fn a_changed_certificate_is_reloaded() {
    let folder = Folder::new();
    let serving = serve(&folder, "");
    assert_eq!(serving.client(&folder).get("/social/docs/categories", &[]).status, 200);
    write_certificate(folder.path());
    let client = serving.client(&folder);
    let changed = StealAdjustedClock::now();
    // Until the service has loaded it, the handshake fails: the client trusts only the new certificate.
    loop {
        let mut stream = client.connect();
        if stream
            .write_all(b"GET /social/docs/categories HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            .is_ok()
        {
            break;
        }
        assert!(changed.elapsed() < Duration::from_secs(30), "the new certificate was not loaded");
        std::thread::sleep(Duration::from_millis(200));
    }
    serving.stop();
}

//! No fetch reaches a forbidden address: not a typed one, nor a redirect, a page's link, a hub or an icon.

use super::super::support::demo::BINARY;
use super::fixture::{SourceFixture, atom, becomes, fixture, post, request_count, url};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Output, Stdio};
use test_server::{CannedResponse, Server};

/// Spellings of forbidden hosts. The fetcher's own tests have more of them, and DNS names.
#[rustfmt::skip]
const LITERALS: &[&str] = &[
"127.0.0.1", "127.0.0.2", "127.1", "0x7f.1", "0x7f000001", "2130706433", "017700000001", "0177.0.0.1",
"127.0.0.1.", "１２７.０.０.１", "127。0。0。1", "%31%32%37.0.0.1", "0", "0.0.0.0", "localhost", "LOCALHOST.",
"a.localhost", "loc%61lhost", "10.0.0.1", "0xa.1", "100.64.0.1", "169.254.169.254", "0xa9fea9fe",
"172.16.0.1", "192.168.0.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "[::]", "[::1]",
"[::ffff:127.0.0.1]", "[::ffff:169.254.169.254]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]",
"[2002:7f00:1::]", "[2001:0:7f00:1::f7f7:f7f7]", "[fe80::1]", "[fd00:ec2::254]", "[ff02::1]",
];

/// Requests that an account may make within a minute.
const MAX_PER_MINUTE: usize = 14;

/// Listeners at forbidden addresses, on the allowed port.
fn traps(fixture: &SourceFixture) -> Vec<Server> {
    let hosts =
        ["127.0.0.1", "127.0.0.2", "127.0.0.3", "[::1]"].map(|host| format!("{host}:{}", fixture.port));
    // Not every machine has IPv6.
    let free = hosts.iter().filter(|host| std::net::TcpListener::bind(host.as_str()).is_ok());
    let traps: Vec<Server> = free.map(|host| fixture.runtime.block_on(Server::at(host))).collect();
    assert!(traps.len() >= 3);
    traps
}

fn caught(traps: &[Server]) -> usize {
    traps.iter().map(Server::connections).sum()
}

/// Runs a command with no allowed network, but all ports.
fn without_networks(fixture: &SourceFixture, arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(BINARY)
        .args(arguments)
        .arg("--data")
        .arg(fixture.folder.path())
        .env("TOFROM_SOURCES__PORTS", fixture.port.to_string())
        .env_remove("TOFROM_BASE_URL")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn is_refusal(words: &str) -> bool {
    [
        "The address is, or redirects to, a private one: ",
        "No public server was found for the host name: ",
        "The address is, or redirects to, this server: ",
    ]
    .iter()
    .any(|refusal| words.contains(refusal))
}

/// A single test, because there is one port for the traps.
#[test]
fn no_fetch_reaches_a_forbidden_address() {
    let fixture = fixture();
    let traps = traps(fixture);
    check_typed(fixture);
    check_redirected(fixture);
    check_linked(fixture, &traps);
    assert_eq!(caught(&traps), 0);
}

fn check_typed(fixture: &'static SourceFixture) {
    let address = |host: &str| format!("http://{host}:{}/feed", fixture.port);
    for some in LITERALS.chunks(MAX_PER_MINUTE) {
        let person = fixture.person("typed");
        for host in some {
            for (method, target) in
                [("PUT", person.target("blog")), ("POST", format!("/200909/user/{}/sources", person.name))]
            {
                let refused = person.request(method, &target, &json!({ "Address": address(host) }));
                let document = refused.json();
                assert_eq!(
                    (refused.status, document["field"].as_str()),
                    (422, Some("Address")),
                    "{host}: {document}"
                );
                assert!(is_refusal(document["detail"].as_str().unwrap()), "{host}: {document}");
            }
        }
    }
    let person = fixture.person("typed");
    for host in ["127.9.0.1", "127.1", "localhost", "[::ffff:127.0.0.1]"] {
        for more in [&[][..], &["--preview"]] {
            let address = address(host);
            let arguments = [&["source", "add", &person.name, &address], more].concat();
            let output = without_networks(fixture, &arguments, "");
            let document = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{host}");
            assert!(is_refusal(&document), "{host}: {document}");
        }
    }
    let outlines = LITERALS.iter().map(|host| format!("<outline xmlUrl=\"{}\"/>", address(host)));
    let list = format!("<opml version=\"2.0\"><body>{}</body></opml>", outlines.collect::<String>());
    let output = without_networks(fixture, &["source", "import", &person.name, "-", "--json"], &list);
    assert_eq!(output.status.code(), Some(1));
    let lines = String::from_utf8(output.stdout).unwrap();
    assert!(lines.lines().count() > LITERALS.len() / 2, "many spellings are the same address: {lines}");
    for line in lines.lines() {
        let document: Value = serde_json::from_str(line).unwrap();
        assert!(is_refusal(document["error"].as_str().unwrap()), "{document}");
    }
}

/// From an allowed server to a forbidden one.
fn check_redirected(fixture: &'static SourceFixture) {
    let person = fixture.person("redirected");
    let server = fixture.server();
    for (number, to) in
        ["127.0.0.3", "127.0.0.1", "169.254.169.254", "10.0.0.1", "localhost"].iter().enumerate()
    {
        let (lure, to) = (format!("/{number}"), format!("http://{to}:{}/feed", fixture.port));
        server.on(&lure, CannedResponse::redirect(if number % 2 == 0 { 301 } else { 302 }, to));
        let refused = person.put("blog", json!({ "Address": url(&server, &lure) }));
        assert_eq!(refused.status, 422);
        assert!(is_refusal(refused.json()["detail"].as_str().unwrap()), "{}", refused.text());
    }
    // A feed that redirects there later.
    let server = fixture.server();
    server.on("/feed", CannedResponse::feed(atom(&[post(1)])));
    person.connect("blog", &url(&server, "/feed"));
    person.settled("blog");
    server.on("/feed", CannedResponse::redirect(301, format!("http://127.0.0.3:{}/feed", fixture.port)));
    for _ in 0..3 {
        assert!(is_refusal(&person.check_fails("blog")));
    }
    let description = person.source("blog");
    assert!(is_refusal(description["Health"].as_str().unwrap()), "{description}");
    assert_eq!(description["Address"], url(&server, "/feed"));
}

fn check_linked(fixture: &'static SourceFixture, traps: &[Server]) {
    let (person, server) = (fixture.person("linked"), fixture.server());
    let trap = |path: &str| format!("http://127.0.0.3:{}{path}", fixture.port);
    let page =
        format!("<!doctype html><link rel=alternate type=application/atom+xml href=\"{}\">", trap("/feed"));
    server.on("/page", CannedResponse::page(page));
    let refused = person.put("blog", json!({ "Address": url(&server, "/page") }));
    assert_eq!(refused.status, 422, "{}", refused.text());
    assert!(is_refusal(refused.json()["detail"].as_str().unwrap()), "{}", refused.text());

    let links = format!(
        "<link rel=\"hub\" href=\"{}\"/><link rel=\"self\" href=\"{}\"/><link rel=\"alternate\" href=\"{}\"/>\
         <icon>{}</icon><logo>/logo.png</logo>",
        trap("/hub"),
        url(&server, "/feed"),
        trap("/page"),
        trap("/icon.png")
    );
    let feed = atom(&[post(1).replace("<published>", "<media:thumbnail url=\"/thumb.png\"/><published>")]);
    let feed = feed.replace("<title>A blog</title>", &format!("<title>A blog</title>{links}"));
    server.on(
        "/feed",
        CannedResponse::feed(feed).with("Link", format!("<{}>; rel=hub", trap("/hub-by-header"))),
    );
    person.connect("blog", &url(&server, "/feed"));
    becomes(vec!["Post 1".to_owned()], || person.titles());
    let description = person.settled("blog");
    assert!(!description["Health"].as_str().unwrap().contains("A hub sends updates"), "{description}");
    assert_eq!(caught(traps), 0);
    assert_eq!(
        request_count(&server, "/logo.png") + request_count(&server, "/thumb.png"),
        0,
        "pictures are not fetched"
    );
}

//! Independent OAuth clients complete the whole flow, and so do the commands of docs/oauth.md.

use super::super::support::browser::Browser;
use super::super::support::demo::{BINARY, Demo};
use super::super::support::folder::Folder;
use super::SET_UP;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const METHODS: [&str; 4] = ["HMAC-SHA1", "HMAC-SHA256", "RSA-SHA1", "PLAINTEXT"];
const PLACES: [&str; 3] = ["header", "query", "body"];

/// A path below the folder where scripts/setup installs the clients' packages.
pub(crate) fn cached(path: &str) -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = cache.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"));
    let path = cache.join("tofrom").join(path);
    assert!(path.exists(), "{} is missing: {SET_UP}", path.display());
    path
}

/// A command that finds the packages of the clients.
fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env("NODE_PATH", cached("clients/node_modules")).env("no_proxy", "*");
    command
}

/// A program of `tests/clients`, in Python or JavaScript, that trusts the demo's authority.
pub(super) fn client(file: &str) -> Command {
    client_of(Demo::shared(), file)
}

/// The same for another demo.
pub(super) fn client_of(demo: &Demo, file: &str) -> Command {
    let mut command =
        if file.ends_with(".py") { command(cached("python/bin/python")) } else { command("node") };
    if file.ends_with(".py") {
        command.arg("-B");
    }
    for variable in ["NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"] {
        command.env(variable, demo.ready["ca_cert"].as_str().unwrap());
    }
    command.arg(format!("{}/tests/clients/{file}", env!("CARGO_MANIFEST_DIR")));
    command
}

/// The demo's folder.
fn data() -> &'static Path {
    Path::new(Demo::shared().ready["ca_cert"].as_str().unwrap()).parent().unwrap()
}

/// Registers an application with the demo.
pub(super) fn register(name: &str, callback: &str, more: &[&str]) -> Value {
    let run = Command::new(BINARY)
        .args(["app", "add", name, "--callback", callback, "--json", "--data"])
        .arg(data())
        .args(more)
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    serde_json::from_slice(&run.stdout).unwrap()
}

/// The parameters of a client: addresses and credentials of the demo.
pub(super) fn client_parameters() -> Value {
    static RSA: LazyLock<(Value, String)> = LazyLock::new(|| {
        let folder = Folder::new();
        let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (private, public) = (file("private.pem"), file("public.pem"));
        for arguments in
            [&["genrsa", "-out", &private, "2048"][..], &["rsa", "-in", &private, "-pubout", "-out", &public]]
        {
            let run = Command::new("openssl").args(arguments).output();
            let run = run.unwrap_or_else(|error| panic!("openssl failed to start ({error}): {SET_UP}"));
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        }
        let consumer = register("Photo wall", "http://localhost/", &["--rsa-key", &public]);
        (consumer, std::fs::read_to_string(&private).unwrap())
    });
    let demo = Demo::shared();
    json!({
        "base": demo.client.base,
        "ca": demo.ready["ca_cert"],
        "account": "alice",
        "password": demo.password("alice"),
        "key": demo.key("alice"),
        "consumer": demo.ready["consumer"],
        "rsa_consumer": RSA.0,
        "rsa_key": RSA.1,
    })
}

/// Runs a program with these parameters on its standard input; returns the lines that it prints.
pub(super) fn lines(command: &mut Command, parameters: &Value) -> BTreeSet<String> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?} failed to start ({error}): {SET_UP}"));
    child.stdin.take().unwrap().write_all(parameters.to_string().as_bytes()).unwrap();
    let run = child.wait_with_output().unwrap();
    let printed = String::from_utf8(run.stdout).unwrap();
    assert!(run.status.success(), "{printed}{}\n{SET_UP}", String::from_utf8_lossy(&run.stderr));
    printed.lines().map(str::to_owned).collect()
}

/// Runs a client: every method works in every location, and the further lines are printed.
fn check(file: &str, name: &str, methods: &[&str], places: &[&str], more: &[&str]) {
    let flows = methods.iter().flat_map(|method| places.iter().map(move |place| format!("{method} {place}")));
    let more = more.iter().map(|&line| line.to_owned());
    let expected: BTreeSet<String> = flows.chain(more).map(|line| format!("{name} {line}")).collect();
    assert_eq!(lines(&mut client(file), &client_parameters()), expected);
}

#[test]
fn requests_oauthlib() {
    let more = [
        "refused",
        "quirk: a callback with escapes in the query",
        "quirk: a callback with escapes in the body",
        "quirk: a GET with a body",
    ];
    check("requests_oauthlib_flow.py", "requests-oauthlib", &METHODS, &PLACES, &more);
}

#[test]
fn authlib() {
    let more = ["refused", "quirk: a callback with escapes", "quirk: an apostrophe in a query"];
    check("authlib_flow.py", "authlib", &["HMAC-SHA1", "RSA-SHA1", "PLAINTEXT"], &PLACES, &more);
}

#[test]
fn npm_oauth_1_0a() {
    let more = [
        "quirk: a bare plus",
        "quirk: another spelling of the host",
        "quirk: a name twice, first without a value",
        "quirk: a body hash with a key",
    ];
    check("oauth_1_0a_flow.js", "oauth-1.0a", &METHODS, &PLACES, &more);
}

#[test]
fn npm_oauth() {
    let more = ["quirk: a name twice", "quirk: version 1.0A"];
    check("node_oauth_flow.js", "oauth", &METHODS, &["header", "query"], &more);
}

/// A block of a page: the number of its first line, its language, its text.
struct Block<'a> {
    line: usize,
    language: &'a str,
    text: String,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut inside = false;
    for (at, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), inside) {
            (Some(language), false) => blocks.push(Block { line: at + 2, language, text: String::new() }),
            (Some(_), true) => {}
            (None, true) => blocks.last_mut().unwrap().text.push_str(&format!("{line}\n")),
            (None, false) => continue,
        }
        inside ^= line.starts_with("```");
    }
    assert!(!inside, "unterminated block");
    blocks
}

/// Reads the output of a program that sends a person to the authorize page and waits for the displayed code; acts as
/// that person each time.
fn with_a_person(child: &mut Child) -> String {
    let demo = Demo::shared();
    let mut answers = child.stdin.take().unwrap();
    let mut seen = String::new();
    let mut printed = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while printed.read_line(&mut line).unwrap() > 0 {
        seen.push_str(&line);
        if let Some(at) = line.find("https://").filter(|_| line.contains("/oauth/authorize?oauth_token=")) {
            let mut browser = Browser::new(&demo.client, &demo.client.base);
            let sign_in = browser.visit(line[at..].trim()).form("password").unwrap();
            let credentials = [("username", "alice"), ("password", demo.password("alice"))];
            let consent = browser.submit(&sign_in, &credentials).form("decision").unwrap();
            let shown = browser.submit(&consent, &[("decision", "allow")]);
            writeln!(answers, "{}", shown.element("verifier").unwrap()).unwrap();
        }
        line.clear();
    }
    seen
}

#[test]
fn the_commands_of_the_page_work() {
    let demo = Demo::shared();
    let page = std::fs::read_to_string(format!("{ROOT}/docs/oauth.md")).unwrap();
    let blocks: Vec<Block<'_>> = blocks(&page).into_iter().filter(|block| block.language == "sh").collect();
    // One shell runs all of them, and prints a marker before each.
    let begins = |line: usize| format!("\n@@ line {line}\n");
    let mut script = "exec 2>&1\n".to_owned();
    for block in &blocks {
        script.push_str(&format!("printf '{}'\n{}", begins(block.line).replace('\n', "\\n"), block.text));
    }
    let path = [Path::new(BINARY).parent().unwrap(), cached("python/bin/python").parent().unwrap()]
        .map(|folder| folder.to_str().unwrap().to_owned())
        .join(":");
    let mut shell = command("sh")
        .args(["-euc", &script])
        .current_dir(ROOT)
        .env("PATH", format!("{path}:{}", std::env::var("PATH").unwrap()))
        .env("BASE", &demo.client.base)
        .env("CA", demo.ready["ca_cert"].as_str().unwrap())
        .env("DATA", data())
        .env("CONSUMER", demo.ready["consumer"]["key"].as_str().unwrap())
        .env("CONSUMER_SECRET", demo.ready["consumer"]["secret"].as_str().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let printed = with_a_person(&mut shell);
    let status = shell.wait().unwrap();
    assert!(status.success(), "{status} after\n{printed}");
    // The output that the programs must have.
    let newest = demo.alice("count=3&publishedsince=2009-09-01T00:00:00%2B02:00").activities();
    let titles = newest.iter().map(|activity| activity["Title"].as_str().unwrap().to_owned());
    let titles: Vec<String> = titles.collect();
    let (mut rest, mut programs) = (printed.as_str(), 0);
    for (at, block) in blocks.iter().enumerate() {
        rest = rest.split_once(&begins(block.line)).unwrap().1;
        let next = blocks.get(at + 1).and_then(|next| rest.split_once(&begins(next.line)));
        let output = next.map_or(rest, |(output, _)| output);
        let mut expected: Vec<&str> =
            block.text.lines().filter_map(|line| line.strip_prefix("# prints: ")).collect();
        if block.text.contains(" --example client") || block.text.contains("/client.") {
            expected.extend(titles.iter().map(String::as_str));
            programs += 1;
        }
        for expected in expected {
            assert!(output.contains(expected), "line {}: no {expected:?} in\n{output}", block.line);
        }
    }
    assert_eq!(programs, 3, "in Python, JavaScript and Rust");
}

#[test]
fn the_code_of_the_page_is_taken_from_the_programs() {
    let page = std::fs::read_to_string(format!("{ROOT}/docs/oauth.md")).unwrap();
    for (language, file) in [
        ("python", "examples/oauth/client.py"),
        ("js", "examples/oauth/client.js"),
        ("rust", "crates/oauth1/examples/client.rs"),
    ] {
        let program = std::fs::read_to_string(format!("{ROOT}/{file}")).unwrap();
        let shown: Vec<Block<'_>> =
            blocks(&page).into_iter().filter(|block| block.language == language).collect();
        assert!(!shown.is_empty(), "no block in {language}");
        for block in shown {
            assert!(program.contains(&block.text), "line {} is not in {file}", block.line);
        }
    }
}

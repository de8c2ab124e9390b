//! Unread counts and seen positions, over HTTPS.

use super::support::client::Answer;
use super::support::demo::Demo;
use super::support::folder::Folder;
use super::support::steal_adjusted_clock::becomes;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

const JSON: &str = "application/json";
const SOON: Duration = Duration::from_secs(10);

fn demo() -> &'static Demo {
    static DEMO: OnceLock<(Demo, Folder)> = OnceLock::new();
    let start = || {
        let folder = Folder::new();
        (Demo::start(folder.path(), &["--admin", "127.0.0.1:0"]), folder)
    };
    &DEMO.get_or_init(start).0
}

fn send(method: &str, target: &str, key: &str, body: Option<Value>) -> Answer {
    let headers = [("ServicePSK", key), ("Accept", JSON), ("Content-Type", JSON)];
    match body {
        None => demo().client.send(method, target, &headers[..2], &[]),
        Some(body) => demo().client.send(method, target, &headers, body.to_string().as_bytes()),
    }
}

/// A new account with a key.
fn person(name: &str) -> (String, String) {
    let ops = demo().key("ops");
    let made = send("PUT", &format!("/200909/user/{name}"), ops, Some(json!({ "Public": true })));
    assert_eq!(made.status, 201, "{}", made.text());
    let key = send("POST", &format!("/200909/user/{name}/keys"), ops, Some(json!({ "Scope": "write" })));
    (name.to_owned(), key.json()["Key"]["Key"].as_str().unwrap().to_owned())
}

fn wrote(user: &str, key: &str, service: &str, id: &str, category: &str) {
    let object = category.strip_suffix("Shared").or(category.strip_suffix("Posted")).unwrap();
    let activity = json!({ "Category": category, "Title": id, object: { "Title": "t" } });
    let answer = send("PUT", &format!("/200909/activity/{user}/from/{service}/{id}"), key, Some(activity));
    assert_eq!(answer.status, 201, "{}", answer.text());
}

fn unread(user: &str, key: &str, collection: &str, query: &str) -> Value {
    let target = format!("/200909/activity/{user}/{collection}/unread?{query}");
    let answer = send("GET", &target, key, None);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["Unread"].clone()
}

fn count(user: &str, key: &str, collection: &str, query: &str) -> (String, String) {
    let unread = unread(user, key, collection, query);
    (unread["Count"].as_str().unwrap().to_owned(), unread["AtLeast"].as_str().unwrap().to_owned())
}

fn exactly(number: usize) -> (String, String) {
    (number.to_string(), "false".to_owned())
}

fn seen(user: &str, key: &str, collection: &str, cursor: Option<&str>) -> Answer {
    let body = cursor.map(|cursor| json!({ "Cursor": cursor }));
    send("PUT", &format!("/200909/activity/{user}/{collection}/seen"), key, body)
}

/// The cursor of the updates link of a page.
fn cursor(user: &str, key: &str, collection: &str, query: &str) -> String {
    let page = send("GET", &format!("/200909/activity/{user}/{collection}?count=0&{query}"), key, None);
    let link = page.link("updates").unwrap();
    link.split("cursor=").nth(1).unwrap().split('&').next().unwrap().to_owned()
}

#[test]
fn what_arrived_after_the_seen_position_is_unread() {
    let (user, key) = person("una");
    assert_eq!(count(&user, &key, "from", ""), exactly(0), "never set, and nothing there");
    for (id, category) in [("1", "BookmarkShared"), ("2", "PhotoPosted"), ("3", "BookmarkShared")] {
        wrote(&user, &key, "here", id, category);
    }
    becomes(SOON, exactly(3), || count(&user, &key, "from", ""));
    assert_eq!(count(&user, &key, "tofrom", "type=photo"), exactly(1));
    let url = unread(&user, &key, "from", "type=bookmark")["Url"].as_str().unwrap().to_owned();
    let walked = demo().client.follow(&url, &[("ServicePSK", &key), ("Accept", JSON)]);
    assert_eq!(walked.activities().len(), 2, "{url}");

    let middle = cursor(&user, &key, "from", "type=photo");
    wrote(&user, &key, "here", "4", "BookmarkShared");
    becomes(SOON, exactly(4), || count(&user, &key, "from", ""));
    assert_eq!(seen(&user, &key, "from", Some(&middle)).status, 204, "under any filters");
    assert_eq!(count(&user, &key, "from", ""), exactly(1));
    assert_eq!(count(&user, &key, "tofrom", ""), exactly(4), "each collection has its own position");
    assert_eq!(seen(&user, &key, "from", None).status, 204);
    assert_eq!(seen(&user, &key, "from", Some(&middle)).status, 204);
    assert_eq!(count(&user, &key, "from", ""), exactly(0), "it only moves forward");

    // Before its delivery is logged.
    wrote(&user, &key, "here", "5", "BookmarkShared");
    assert_eq!(seen(&user, &key, "from", None).status, 204);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(count(&user, &key, "from", ""), exactly(0), "what a page showed is seen");
}

#[test]
fn a_cursor_of_something_else_moves_nothing() {
    let (user, key) = person("unb");
    let (other, others_key) = person("unc");
    wrote(&user, &key, "here", "1", "BookmarkShared");
    becomes(SOON, exactly(1), || count(&user, &key, "from", ""));
    let mine = cursor(&user, &key, "from", "");
    let page = send("GET", &format!("/200909/activity/{user}/from?count=1"), &key, None);
    assert!(page.link("next").is_none());
    for foreign in [
        cursor(&user, &key, "to", ""),
        cursor(&other, &others_key, "from", ""),
        format!("{}AA", &mine[..mine.len() - 2]),
        "word".to_owned(),
    ] {
        let refused = seen(&user, &key, "from", Some(&foreign));
        assert_eq!(
            (refused.status, refused.json()["parameter"].as_str()),
            (400, Some("Cursor")),
            "{foreign}"
        );
    }
    let target = format!("/200909/activity/{user}/from/seen");
    let typed = [("ServicePSK", key.as_str()), ("Content-Type", "text/plain")];
    assert_eq!(demo().client.send("PUT", &target, &typed, b"x").status, 415);
    assert_eq!(count(&user, &key, "from", ""), exactly(1));
}

#[test]
fn only_the_account_and_operators_see_the_count() {
    let (user, key) = person("und");
    let (_, stranger) = person("une");
    let target = format!("/200909/activity/{user}/from");
    for (method, below) in [("GET", "unread"), ("PUT", "seen")] {
        let status = |key: &str| send(method, &format!("{target}/{below}"), key, None).status;
        assert_eq!(status(&stranger), 404, "as for a private account: {below}");
        assert_eq!(status(demo().key("ops")), if method == "GET" { 200 } else { 204 });
    }
    let read_key = json!({ "Scope": "read" });
    let read_key = send("POST", &format!("/200909/user/{user}/keys"), &key, Some(read_key)).json();
    let read_key = read_key["Key"]["Key"].as_str().unwrap();
    assert_eq!(
        seen(&user, read_key, "from", None).status,
        204,
        "the reader's own place needs no right to write"
    );
    assert_eq!(send("POST", &format!("{target}/seen"), &key, None).status, 405);
    assert_eq!(send("PUT", &format!("{target}/unread"), &key, None).status, 405);
    let atom = demo()
        .client
        .get(&format!("{target}/unread"), &[("ServicePSK", &key), ("Accept", "application/atom+xml")]);
    assert_eq!(atom.status, 406);
}

/// Reads a stream in the background: its lines so far.
fn stream(target: &str, key: &str) -> Arc<Mutex<Vec<String>>> {
    let mut connection = demo().client.connect();
    let request =
        format!("GET {target} HTTP/1.1\r\nHost: x\r\nServicePSK: {key}\r\nAccept: text/event-stream\r\n\r\n");
    connection.write_all(request.as_bytes()).unwrap();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let written = Arc::clone(&lines);
    std::thread::spawn(move || {
        for line in BufReader::new(connection).lines().map_while(Result::ok) {
            written.lock().unwrap().push(line);
        }
    });
    becomes(SOON, true, || lines.lock().unwrap().iter().any(|line: &String| line == ":"));
    lines
}

#[test]
fn the_accounts_own_streams_are_notified() {
    let (user, key) = person("unf");
    let (_, stranger) = person("ung");
    let target = format!("/200909/activity/{user}/from");
    let own = [stream(&target, &key), stream(&format!("{target}?service=here"), &key)];
    let others = [stream(&target, &stranger), stream(&format!("/200909/activity/{user}/to"), &key)];
    let notices = |stream: &Arc<Mutex<Vec<String>>>| {
        stream.lock().unwrap().iter().filter(|line| *line == "event: seen").count()
    };
    let old = cursor(&user, &key, "from", "");
    for moves in 1..3 {
        wrote(&user, &key, "here", &moves.to_string(), "BookmarkShared");
        becomes(SOON, exactly(1), || count(&user, &key, "from", ""));
        assert_eq!(seen(&user, &key, "from", None).status, 204);
        for stream in &own {
            becomes(SOON, moves, || notices(stream));
        }
        assert_eq!(seen(&user, &key, "from", Some(&old)).status, 204);
    }
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(own.each_ref().map(notices), [2, 2], "an older cursor is no move");
    assert_eq!(others.each_ref().map(notices), [0, 0]);
    let lines = own[0].lock().unwrap().clone();
    let at = lines.iter().position(|line| line == "event: seen").unwrap();
    let data: Value = serde_json::from_str(lines[at + 1].strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(seen(&user, &key, "from", data["Cursor"].as_str()).status, 204, "its cursor is one");
}

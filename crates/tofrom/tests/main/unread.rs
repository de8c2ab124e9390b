//! Unread counts and seen positions, over HTTPS: in the API and on the pages.

use super::support::browser::{Browser, Page};
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

/// A new account in a browser, with its key.
fn reader(name: &str) -> (String, String, Browser) {
    let (user, key) = person(name);
    let mut ops = Browser::new(&demo().client, &demo().client.base);
    let form = visit(&mut ops, "/sign-in").form("username").unwrap();
    ops.submit(&form, &[("username", "ops"), ("password", demo().password("ops"))]);
    let accounts = visit(&mut ops, &format!("/operator/accounts?name={name}"));
    let reset = accounts.forms().into_iter().find(|form| form.action.contains(&format!("/{name}/reset")));
    let link = ops.submit(&reset.unwrap(), &[]).element("link").unwrap();
    let target = link.strip_prefix(&demo().client.base).unwrap();
    let password = "correct horse battery";
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let set = demo().client.send("POST", target, &[form], format!("password={password}").as_bytes());
    assert_eq!(set.status, 303, "{}", set.text());
    let mut browser = Browser::new(&demo().client, &demo().client.base);
    let form = visit(&mut browser, "/sign-in").form("username").unwrap();
    let page = browser.submit(&form, &[("username", name), ("password", password)]);
    assert!(page.status() == 200 && page.form("password").is_none(), "{}", page.text());
    (user, key, browser)
}

fn visit(browser: &mut Browser, path: &str) -> Page {
    browser.visit(&format!("{}{path}", demo().client.base))
}

/// What the page says about unread activities: the number in its heading, the items above and below the line, and how many
/// items have a label.
fn said(page: &Page) -> (Option<String>, Option<(usize, usize)>, usize) {
    let html = page.html();
    let heading = html.split_once("<p><b>").and_then(|(_, rest)| rest.split_once(" unread</b>"));
    let items = |html: &str| html.matches("id=\"a-").count();
    let line = html.split_once("Already read").map(|(above, below)| (items(above), items(below)));
    let labels = html.matches(">Unread</b>").count();
    (heading.map(|(number, _)| number.to_owned()), line, labels)
}

/// The badge beside the feed, as the script asks for it.
fn badge(browser: &mut Browser) -> String {
    let page = visit(browser, "/feed/unread");
    assert_eq!(page.answer.header("cache-control"), Some("no-store"));
    page.html().to_owned()
}

fn number(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn a_page_divides_unread_from_read_activities() {
    let (user, key, mut browser) = reader("unh");
    assert_eq!(said(&visit(&mut browser, "/feed")), (None, None, 0), "nothing there");
    for id in ["1", "2", "3"] {
        wrote(&user, &key, id, id, "BookmarkShared");
    }
    becomes(SOON, "3".to_owned(), || badge(&mut browser));
    let page = visit(&mut browser, "/feed");
    assert_eq!(said(&page), (number("3"), None, 0), "nothing is read yet, so nothing divides");
    assert!(page.html().contains("3<span class=\"hidden\"> unread</span>"), "the badge");
    let form = page.form("cursor").unwrap();
    assert_eq!(badge(&mut browser), "3", "a page that is read marks nothing");

    // The form marks what its page knew, and not what arrived since.
    wrote(&user, &key, "4", "4", "PhotoPosted");
    becomes(SOON, "4".to_owned(), || badge(&mut browser));
    let page = browser.submit(&form, &[]);
    assert!(page.text().contains("Marked as read."), "{}", page.text());
    assert_eq!(said(&page), (number("1"), Some((1, 3)), 0));
    assert_eq!(count(&user, &key, "tofrom", ""), exactly(1), "the API has the same position");
    wrote(&user, &key, "5", "5", "BookmarkShared");
    becomes(SOON, "2".to_owned(), || badge(&mut browser));
    assert_eq!(said(&visit(&mut browser, "/feed")), (number("2"), Some((2, 3)), 0));
    assert_eq!(said(&visit(&mut browser, "/feed?count=4")), (number("2"), Some((2, 2)), 0));

    // Elsewhere each activity says it, and no form marks what the page does not show.
    for (path, labels) in [
        ("/feed?count=2", 2),
        ("/feed?orderby=pubDate", 2),
        ("/feed?type=photo", 1),
        ("/feed?type=bookmark", 1),
        ("/feed?start=1", 1),
        ("/feed?collection=from", 0),
        ("/user/unh", 0),
    ] {
        let page = visit(&mut browser, path);
        let (_, line, shown) = said(&page);
        assert_eq!((line, shown), (None, labels), "{path}");
        assert_eq!(page.form("cursor").is_some(), path == "/feed?count=2", "{path}");
    }
    let page = visit(&mut browser, "/feed");
    let all = browser.submit(&page.form("cursor").unwrap(), &[]);
    assert_eq!((said(&all), badge(&mut browser)), ((None, None, 0), "0".to_owned()));
    let again = browser.submit(&form, &[]);
    assert_eq!(said(&again), (None, None, 0), "it only moves forward");
}

#[test]
fn late_deliveries_are_labelled() {
    let (writer, writers_key) = person("uni");
    wrote(&writer, &writers_key, "here", "1", "BookmarkShared");
    let (user, key, mut browser) = reader("unj");
    wrote(&user, &key, "here", "2", "BookmarkShared");
    becomes(SOON, "1".to_owned(), || badge(&mut browser));
    let form = visit(&mut browser, "/feed").form("cursor").unwrap();
    assert_eq!(said(&browser.submit(&form, &[])), (None, None, 0));
    // A follow brings what was received before.
    let follow = send("PUT", &format!("/200909/user/{user}/following/{writer}"), &key, None);
    assert!(follow.status < 300, "{}", follow.text());
    becomes(SOON, "1".to_owned(), || badge(&mut browser));
    assert_eq!(said(&visit(&mut browser, "/feed")), (number("1"), None, 1), "below what is read");
    wrote(&user, &key, "here", "3", "BookmarkShared");
    becomes(SOON, "2".to_owned(), || badge(&mut browser));
    assert_eq!(said(&visit(&mut browser, "/feed")), (number("2"), None, 2), "above and below");
    assert_eq!(said(&visit(&mut browser, "/feed?count=2")), (number("2"), None, 1), "on a later page");
    assert_eq!(said(&visit(&mut browser, "/feed?collection=to")), (None, None, 1));
}

#[test]
fn a_badge_counts_to_99() {
    let (user, key, mut browser) = reader("unk");
    for at in 0..101 {
        wrote(&user, &key, "here", &at.to_string(), "BookmarkShared");
    }
    becomes(SOON, "99+".to_owned(), || badge(&mut browser));
    let page = visit(&mut browser, "/feed");
    assert_eq!(said(&page), (number("20+"), None, 0), "a page counts as far as it has items");
    assert!(!page.html().contains("data-count"), "the script marks nothing that it does not know");
    let form = page.form("cursor").unwrap();
    // A position of another collection, another account, or no account.
    for foreign in [cursor(&user, &key, "from", ""), "word".to_owned(), String::new()] {
        let refused = browser.submit(&form, &[("cursor", &foreign)]);
        assert_eq!(refused.status(), 400, "{foreign}: {}", refused.text());
    }
    assert_eq!(browser.submit(&form, &[("csrf", "AAAA")]).status(), 403);
    assert_eq!(badge(&mut browser), "99+");
    browser.submit(&form, &[]);
    assert_eq!(badge(&mut browser), "0");
    let mut visitor = Browser::new(&demo().client, &demo().client.base);
    assert!(visit(&mut visitor, "/feed/unread").form("password").is_some());
}

//! `tofrom source`, as operators use it.

use super::fixture::{atom, becomes, fixture, host, post, url};
use serde_json::{Value, json};
use test_server::CannedResponse;

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
}

#[test]
fn a_source_is_added_polled_paused_and_removed() {
    let (fixture, server) = (fixture(), fixture().server());
    server.on("/feed", CannedResponse::feed(atom(&[post(2), post(1)])));
    let person = fixture.person("command");
    let (name, address, service) = (person.name.as_str(), url(&server, "/feed"), host(&server));
    assert_eq!(read(&fixture.succeed(&["source", "list", name, "--json"])), json!([]));

    let preview = read(&fixture.succeed(&["source", "add", name, &address, "--preview", "--json"]));
    let expected_preview = |number: usize| {
        json!({ "title": format!("Gil posted an article: Post {number}"), "category": "ArticlePosted",
"url": format!("https://blog.example/{number}"), "published": "2026-01-02T03:04:05.000Z" })
    };
    let expected = json!({ "address": address, "title": "A blog", "service": service, "name": service,
"activities": [expected_preview(2), expected_preview(1)] });
    assert_eq!(preview, expected);
    assert!(
        fixture
            .succeed(&["source", "add", name, &address, "--preview"])
            .contains("Gil posted an article: Post 1")
    );
    assert_eq!(person.activities().len(), 0, "a preview stores nothing");

    let added = read(&fixture.succeed(&["source", "add", name, &address, "--name", "blog", "--json"]));
    assert_eq!(added, json!({ "name": "blog", "service": service, "new": true, "activities": 2 }));
    becomes(2, || person.activities().len());
    person.settled("blog");
    let repeated = fixture.succeed(&["source", "add", name, &address]);
    assert_eq!(repeated, format!("{name} is already connected to it, as blog\n"));

    let listed = read(&fixture.succeed(&["source", "list", name, "--json"]))[0].clone();
    let health = listed["health"].as_str().unwrap();
    assert!(health.starts_with("Checked "), "{health}");
    let expected = json!({ "name": "blog", "service": service, "address": address, "paused": false,
"verified": false, "well": true, "health": health });
    assert_eq!(listed, expected);

    server.on("/feed", CannedResponse::feed(atom(&[post(3), post(2), post(1)])));
    assert_eq!(fixture.succeed(&["source", "check", name, "blog"]), "blog: 1 new\n");
    assert_eq!(fixture.succeed(&["source", "check", name, "blog"]), "blog: nothing new\n");
    assert_eq!(fixture.succeed(&["source", "pause", name, "blog"]), "blog paused\n");
    assert_eq!(person.source("blog")["Paused"], "true");
    let resumed = read(&fixture.succeed(&["source", "resume", name, "blog", "--json"]));
    assert_eq!(resumed, json!({ "name": "blog", "paused": false }));
    let removed = read(&fixture.succeed(&["source", "remove", name, "blog", "--with-activities", "--json"]));
    assert_eq!(removed, json!({ "name": "blog", "removed": true, "activities": 3 }));
    becomes(0, || person.activities().len());
    assert_eq!(read(&fixture.succeed(&["source", "list", name, "--json"])), json!([]));
}

#[test]
fn lists_are_imported_and_exported_as_opml() {
    let (fixture, person, other) = (fixture(), fixture().person("list"), fixture().person("list"));
    // More sources than an account may fetch in a minute through the service, each at its own host.
    let servers: Vec<_> = (0..31).map(|_| fixture.server()).collect();
    let mut outlines = String::new();
    for (number, server) in servers.iter().enumerate() {
        server.on("/feed", CannedResponse::feed(atom(&[post(number)])));
        outlines.push_str(&format!("<outline><outline xmlUrl=\"{}\"/></outline>", url(server, "/feed")));
    }
    let bad = url(&servers[0], "/nothing");
    let list = |more: &str| format!("<opml version=\"2.0\"><body>{more}{outlines}</body></opml>");
    let with_bad = list(&format!("<outline text=\"bad\" xmlUrl=\"{bad}\"/>"));
    let output = fixture.run(&["source", "import", &person.name, "-", "--json"], &with_bad);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("1 of 32 feeds could not be connected"), "{error}");
    let lines: Vec<Value> = std::str::from_utf8(&output.stdout).unwrap().lines().map(read).collect();
    let error = "Nothing was found at this address (status 404): check the spelling.";
    assert_eq!(lines[0], json!({ "address": bad, "name": null, "error": error }));
    for (line, server) in lines[1..].iter().zip(&servers) {
        assert_eq!(*line, json!({ "address": url(server, "/feed"), "name": host(server), "error": null }));
    }
    becomes(31, || person.activities().len());

    let exported = fixture.succeed(&["source", "export", &person.name]);
    let output = fixture.run(&["source", "import", &other.name, "-"], &exported);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let repeated = fixture.succeed(&["source", "export", &other.name]);
    assert_eq!(repeated.replace(&other.name, &person.name), exported);
    for no_list in ["", "<rss/>", "<opml><body>"] {
        let output = fixture.run(&["source", "import", &other.name, "-"], no_list);
        assert_eq!(output.status.code(), Some(1), "{no_list}");
    }
}

#[test]
fn errors_name_the_problem_and_the_remedy() {
    let (fixture, person) = (fixture(), fixture().person("wrong"));
    let name = person.name.as_str();
    for command in ["check", "pause", "resume", "remove"] {
        let error = fixture.fail(&["source", command, name, "none"]);
        let right =
            format!("source none of {name} not found; run tofrom source list {name} to see all sources");
        assert!(error.contains(&right), "{error}");
        let error = fixture.fail(&["source", command, "missing-at-all", "none"]);
        assert!(error.contains("account missing-at-all not found; run tofrom account list"), "{error}");
    }
    for arguments in [&["list"][..], &["export"], &["import"], &["add"]] {
        let more: &[&str] = match arguments[0] {
            "import" => &["-"],
            "add" => &["https://example.org/"],
            _ => &[],
        };
        let output = fixture
            .run(&[&["source"], arguments, &["missing-at-all"], more].concat(), "<opml><body/></opml>");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("account missing-at-all not found"));
    }
    let error = fixture.fail(&["source", "add", name, "https://example.org/", "--name", "Bad Name"]);
    assert!(error.contains("Invalid source name: expected 1 to 64 of a-z 0-9 . _ -"), "{error}");
    let server = fixture.server();
    server.on("/feed", CannedResponse::feed(atom(&[post(1)])));
    server.on("/other", CannedResponse::feed(atom(&[post(2)])));
    person.connect("blog", &url(&server, "/feed"));
    let error = fixture.fail(&["source", "add", name, &url(&server, "/other"), "--name", "blog"]);
    assert!(error.contains("A source with the name blog already exists: remove it first"), "{error}");
}

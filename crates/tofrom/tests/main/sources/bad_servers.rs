//! Servers with bad behaviour: the health of a source names the problem in a sentence, imported activities stay, and
//! the import continues once the server behaves.

use super::fixture::{Person, atom, becomes, fixture, post, url};
use serde_json::json;
use test_server::{Authority, Behaviour, CannedResponse, Coding};

const TOO_LARGE: &str = "The document at this address is too large: enter the address of a shorter feed.";
const TOO_SLOW: &str = "The server took too long to answer: try again later.";
const LOOP: &str = "Too many redirects: enter the final address.";
const ENDS_EARLY: &str = "Invalid response from the server: it ended too early.";
const NOT_A_FEED: &str = "This is not a feed: expected Atom, RSS, JSON Feed or a page with h-entry.";

fn status(status: u16) -> String {
    format!("The server answered with status {status}: expected 200.")
}

/// Each behaviour with its expected message.
fn behaviours() -> Vec<(Behaviour, String)> {
    let bomb = CannedResponse::feed("").with_coded_body(Coding::Gzip, Coding::Gzip.bomb(50));
    let no_feed = CannedResponse::feed("<?xml version='1.0'?><recipe/>");
    let broken = CannedResponse::feed(atom(&[post(1)]).replace("</title>", ""));
    let bytes = |text: &str| Behaviour::Raw(text.as_bytes().to_vec());
    let sign_in = "This address requires signing in (status 403): enter a public one.";
    vec![
        (
            CannedResponse::status(404).into(),
            "Nothing was found at this address (status 404): check the spelling.".to_owned(),
        ),
        (CannedResponse::status(403).into(), sign_in.to_owned()),
        (CannedResponse::status(500).into(), status(500)),
        (CannedResponse::redirect(302, "/feed").into(), LOOP.to_owned()),
        (Behaviour::Endless, TOO_LARGE.to_owned()),
        (bomb.into(), TOO_LARGE.to_owned()),
        (Behaviour::EndlessHead, "Invalid response from the server: its head is too long.".to_owned()),
        (Behaviour::HangsUp, ENDS_EARLY.to_owned()),
        (bytes("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n<feed>"), ENDS_EARLY.to_owned()),
        (bytes("220 mail.example ESMTP\r\n"), "Invalid response from the server: it is not HTTP.".to_owned()),
        (no_feed.into(), NOT_A_FEED.to_owned()),
        (broken.into(), "The feed is broken: ".to_owned()),
        (Behaviour::Silent, TOO_SLOW.to_owned()),
    ]
}

#[test]
fn the_health_of_a_source_names_the_problem() {
    let (fixture, person) = (fixture(), fixture().person("ill"));
    let cases: Vec<_> = behaviours()
        .into_iter()
        .enumerate()
        .map(|(number, (manner, words))| {
            let server = fixture.server();
            server.on("/feed", CannedResponse::feed(atom(&[post(number)])));
            let source = format!("s{number}");
            person.connect(&source, &url(&server, "/feed"));
            (server, source, manner, words)
        })
        .collect();
    let settle = |person: &Person| cases.iter().for_each(|(_, source, _, _)| drop(person.settled(source)));
    settle(&person);
    let count = cases.len();
    std::thread::scope(|scope| {
        for (server, source, manner, words) in &cases {
            let person = &person;
            scope.spawn(move || {
                let before = server.connections();
                server.on("/feed", manner.clone());
                let message = person.check_fails(source);
                assert!(message.contains(words), "{source}: {message}");
                let description = person.source(source);
                let health = description["Health"].as_str().unwrap();
                assert!(health.starts_with(words), "{source}: {health}");
                assert!(
                    health.contains(" Last tried ") && health.contains(" ago; next in "),
                    "{source}: {health}"
                );
                assert_eq!(description["Well"], "false", "{source}");
                assert_eq!(server.connections(), before + 1, "{source}: no retry");
            });
        }
    });
    assert_eq!(person.activities().len(), count, "imported activities stay");
    for (server, source, _, _) in &cases {
        server.on("/feed", CannedResponse::feed(atom(&[post(999)])));
        person.check(source);
        assert_eq!(person.source(source)["Well"], "true");
    }
}

#[test]
fn an_unreadable_source_cannot_be_connected() {
    let (fixture, person, server) = (fixture(), fixture().person("unread"), fixture().server());
    let before_tls = "The server's certificate is ";
    let wrong_name = fixture.secure_server(|_| fixture.authority.certificate("other.example"));
    let expired = fixture.secure_server(|host| fixture.authority.expired(host));
    let self_signed = fixture.secure_server(Authority::self_signed);
    server.on("/no-feed", CannedResponse::page("<p>Nothing here."));
    server.on("/broken", CannedResponse::feed("<feed xmlns=\"http://www.w3.org/2005/Atom\"><entry>"));
    server.on("/gone", CannedResponse::status(410));
    let no_feed =
        "No feed found at this address, and the page links to none. Enter the address of the feed itself.";
    for (address, words) in [
        (url(&wrong_name, "/"), format!("{before_tls}for another host name: check the spelling.")),
        (
            url(&expired, "/"),
            "The server's certificate has expired or is not yet valid: its operator has to renew it."
                .to_owned(),
        ),
        (
            url(&self_signed, "/"),
            format!("{before_tls}from an unknown authority: its operator has to replace it."),
        ),
        (url(&server, "/no-feed"), no_feed.to_owned()),
        (url(&server, "/broken"), "The feed is broken: ".to_owned()),
        (url(&server, "/gone"), "The feed was removed permanently ".to_owned()),
        ("not an address".to_owned(), "This is not the address of a page or a feed: ".to_owned()),
    ] {
        let refused = person.put("blog", json!({ "Address": address }));
        let message = refused.json();
        assert_eq!((refused.status, message["field"].as_str()), (422, Some("Address")), "{message}");
        let detail = message["detail"].as_str().unwrap();
        assert!(detail.starts_with(&words) && detail.ends_with('.'), "{detail}");
        assert_eq!(person.request("GET", &person.target("blog"), &json!(null)).status, 404);
    }
}

#[test]
fn tls_servers_and_other_encodings_are_read() {
    let fixture = fixture();
    let server = fixture.secure_server(|host| fixture.authority.certificate(host));
    let greeting = |encoding: &str| atom(&[post(1).replace("Post 1", "Grüße")]).replace("utf-8", encoding);
    let latin: Vec<u8> =
        greeting("iso-8859-1").chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let person = fixture.person("odd");
    for (source, body, kind) in [
        ("latin", latin, "application/atom+xml"),
        ("lies", greeting("utf-16").into_bytes(), "text/xml"),
        ("unknown", greeting("utf-8").into_bytes(), "application/atom+xml; charset=utf8mb4"),
    ] {
        let answer = CannedResponse::page(body);
        server.on(&format!("/{source}"), answer.retyped(kind));
        person.connect(source, &url(&server, &format!("/{source}")));
    }
    becomes(vec!["Grüße".to_owned()], || person.titles());
}

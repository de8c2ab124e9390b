//! Where redirects lead.

use super::support::{ATOM, get, sentence, server};
use fetcher::Failure;
use test_server::{Answer, Authority, Server};

#[tokio::test]
async fn all_redirects_are_followed_and_permanent_ones_remembered() {
    let (server, setting) = server().await;
    server.on("/c", Answer::feed(ATOM));
    let at = |path: &str| server.url("feeds.example", path);
    for (first, second, moved) in [
        (301, 308, Some("/c")),
        (308, 301, Some("/c")),
        (301, 302, Some("/b")),
        (308, 307, Some("/b")),
        (302, 301, None),
        (303, 307, None),
    ] {
        server.on("/a", Answer::redirect(first, "/b"));
        server.on("/b", Answer::redirect(second, at("/c")));
        let answer = setting.get(&at("/a")).await.unwrap();
        assert_eq!((answer.url.as_str(), answer.hops), (at("/c").as_str(), 2));
        assert_eq!(answer.moved.map(String::from), moved.map(at), "{first}, {second}");
    }
}

#[tokio::test]
async fn loops_and_long_ways_end() {
    let (server, setting) = server().await;
    let words = "This address leads to another one too many times: give the one where it ends.";
    server.on("/self", Answer::redirect(302, "/self"));
    server.on("/a", Answer::redirect(301, "/b"));
    server.on("/b", Answer::redirect(301, "/a"));
    assert_eq!(sentence(setting.get(&server.url("feeds.example", "/self")).await), words);
    assert_eq!(server.connections(), 1);
    assert_eq!(sentence(setting.get(&server.url("feeds.example", "/a")).await), words);
    assert_eq!(server.connections(), 3);
    for step in 0..9 {
        server.on(&format!("/{step}"), Answer::redirect(302, format!("/{}", step + 1)));
    }
    assert_eq!(sentence(setting.get(&server.url("feeds.example", "/0")).await), words);
    assert_eq!(server.connections(), 3 + 6, "the first and five more");
    server.on("/5", Answer::feed(ATOM));
    assert_eq!(setting.get(&server.url("feeds.example", "/0")).await.unwrap().hops, 5);
}

#[tokio::test]
async fn validators_stay_with_their_origin() {
    let (server, setting) = server().await;
    server.on("/a", Answer::redirect(302, "/b"));
    server.on("/b", Answer::redirect(302, server.url("other.example", "/c")));
    server.on("/c", Answer::feed(ATOM).with("ETag", "\"1\""));
    let mut request = get(&server.url("feeds.example", "/a"));
    (request.etag, request.modified) = (Some("\"1\"".to_owned()), Some("then".to_owned()));
    assert!(setting.fetcher().get(&request).await.is_ok());
    let sent: Vec<bool> =
        server.asked().iter().map(|asked| asked.header("if-none-match").is_some()).collect();
    assert_eq!(sent, [true, true, false]);
    assert!(
        server
            .asked()
            .iter()
            .all(|asked| asked.header("referer").is_none() && asked.header("cookie").is_none())
    );
}

#[tokio::test]
async fn a_redirect_must_lead_somewhere() {
    let (server, setting) = server().await;
    let url = server.url("feeds.example", "/feed");
    for (answer, words) in [
        (Answer::status(302), "The server's answer cannot be read: it leads elsewhere and says not where."),
        (
            Answer::redirect(302, "http://"),
            "This is not the address of a page: write one like https://example.org/feed.",
        ),
        (
            Answer::redirect(302, "file:///etc/passwd"),
            "Only addresses that begin with https:// or http:// are read.",
        ),
        (
            Answer::redirect(302, format!("/{}", "x".repeat(3_000))),
            "The address is too long: at most 2,048 characters are read.",
        ),
        (
            Answer::redirect(302, "http://user:word@feeds.example/"),
            "The address has a user name or a password in it: give one without.",
        ),
        (
            Answer::redirect(302, "http://feeds.example:22/"),
            "The address has a port that is not asked, or leads to one: give one without a port.",
        ),
        (
            Answer::redirect(302, server.url("tofrom.example", "/")),
            "The address is one of this service itself, or leads to one: give the address of another.",
        ),
    ] {
        server.on("/feed", answer);
        assert_eq!(sentence(setting.get(&url).await), words);
    }
    assert_eq!(setting.names.asked().len(), 7, "only the first hop is looked up");
}

#[tokio::test]
async fn nothing_leads_from_https_to_http() {
    let authority = Authority::new();
    let secure = Server::secure(&authority.certificate("feeds.example")).await;
    let plain = Server::start().await;
    let mut setting = super::support::Setting::new(&[&secure, &plain]);
    setting.authority = authority;
    secure.on("/feed", Answer::redirect(301, plain.url("feeds.example", "/feed")));
    plain.on("/feed", Answer::feed(ATOM));
    let outcome = setting.get(&secure.url("feeds.example", "/feed")).await;
    assert!(matches!(outcome, Err(Failure::Refused(_))));
    assert_eq!(
        sentence(outcome),
        "The address leads from https to http, which is not followed: give one that stays with https."
    );
    assert_eq!(plain.connections(), 0);
    // The other way is fine.
    plain.on("/feed", Answer::redirect(301, secure.url("feeds.example", "/safe")));
    secure.on("/safe", Answer::feed(ATOM));
    assert!(setting.get(&plain.url("feeds.example", "/feed")).await.is_ok());
}

//! Redirects.

use super::support::{ATOM, get, sentence, server};
use fetcher::FetchError;
use test_server::{Authority, CannedResponse, Server};

#[tokio::test]
async fn all_redirects_are_followed_and_permanent_ones_reported() {
    let (server, env) = server().await;
    server.on("/c", CannedResponse::feed(ATOM));
    let at = |path: &str| server.url("feeds.example", path);
    for (first, second, moved) in [
        (301, 308, Some("/c")),
        (308, 301, Some("/c")),
        (301, 302, Some("/b")),
        (308, 307, Some("/b")),
        (302, 301, None),
        (303, 307, None),
    ] {
        server.on("/a", CannedResponse::redirect(first, "/b"));
        server.on("/b", CannedResponse::redirect(second, at("/c")));
        let answer = env.get(&at("/a")).await.unwrap();
        assert_eq!((answer.url.as_str(), answer.hops), (at("/c").as_str(), 2));
        assert_eq!(answer.moved.map(String::from), moved.map(at), "{first}, {second}");
    }
}

#[tokio::test]
async fn loops_and_long_chains_are_rejected() {
    let (server, env) = server().await;
    let words = "Too many redirects: enter the final address.";
    server.on("/self", CannedResponse::redirect(302, "/self"));
    server.on("/a", CannedResponse::redirect(301, "/b"));
    server.on("/b", CannedResponse::redirect(301, "/a"));
    assert_eq!(sentence(env.get(&server.url("feeds.example", "/self")).await), words);
    assert_eq!(server.connections(), 1);
    assert_eq!(sentence(env.get(&server.url("feeds.example", "/a")).await), words);
    assert_eq!(server.connections(), 3);
    for step in 0..9 {
        server.on(&format!("/{step}"), CannedResponse::redirect(302, format!("/{}", step + 1)));
    }
    assert_eq!(sentence(env.get(&server.url("feeds.example", "/0")).await), words);
    assert_eq!(server.connections(), 3 + 6, "the first request and five redirects");
    server.on("/5", CannedResponse::feed(ATOM));
    assert_eq!(env.get(&server.url("feeds.example", "/0")).await.unwrap().hops, 5);
}

#[tokio::test]
async fn validators_stay_with_their_origin() {
    let (server, env) = server().await;
    server.on("/a", CannedResponse::redirect(302, "/b"));
    server.on("/b", CannedResponse::redirect(302, server.url("other.example", "/c")));
    server.on("/c", CannedResponse::feed(ATOM).with("ETag", "\"1\""));
    let mut request = get(&server.url("feeds.example", "/a"));
    (request.etag, request.modified) = (Some("\"1\"".to_owned()), Some("then".to_owned()));
    assert!(env.fetcher().get(&request).await.is_ok());
    let sent: Vec<bool> =
        server.requests().iter().map(|request| request.header("if-none-match").is_some()).collect();
    assert_eq!(sent, [true, true, false]);
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.header("referer").is_none() && request.header("cookie").is_none())
    );
}

#[tokio::test]
async fn invalid_redirects_are_rejected() {
    let (server, env) = server().await;
    let url = server.url("feeds.example", "/feed");
    for (answer, words) in [
        (CannedResponse::status(302), "Invalid response from the server: its redirect has no Location."),
        (
            CannedResponse::redirect(302, "http://"),
            "This is not a web address: expected one like https://example.org/feed.",
        ),
        (
            CannedResponse::redirect(302, "file:///etc/passwd"),
            "Unsupported address: expected one that begins with https:// or http://.",
        ),
        (
            CannedResponse::redirect(302, format!("/{}", "x".repeat(3_000))),
            "The address is too long: expected at most 2,048 characters.",
        ),
        (
            CannedResponse::redirect(302, "http://user:word@feeds.example/"),
            "The address contains a user name or a password: enter one without.",
        ),
        (
            CannedResponse::redirect(302, "http://feeds.example:22/"),
            "The address has, or redirects to, a port that is not allowed: enter one without a port.",
        ),
        (
            CannedResponse::redirect(302, server.url("tofrom.example", "/")),
            "The address is, or redirects to, this server: enter the address of another one.",
        ),
    ] {
        server.on("/feed", answer);
        assert_eq!(sentence(env.get(&url).await), words);
    }
    assert_eq!(env.names.lookups().len(), 7, "only the first hop is resolved");
}

#[tokio::test]
async fn redirects_from_https_to_http_are_refused() {
    let authority = Authority::new();
    let secure = Server::secure(&authority.certificate("feeds.example")).await;
    let plain = Server::start().await;
    let mut env = super::support::FetcherEnv::new(&[&secure, &plain]);
    env.authority = authority;
    secure.on("/feed", CannedResponse::redirect(301, plain.url("feeds.example", "/feed")));
    plain.on("/feed", CannedResponse::feed(ATOM));
    let outcome = env.get(&secure.url("feeds.example", "/feed")).await;
    assert!(matches!(outcome, Err(FetchError::Refused(_))));
    assert_eq!(
        sentence(outcome),
        "The address redirects from https to http, which is not followed: enter an https address."
    );
    assert_eq!(plain.connections(), 0);
    // The opposite direction is allowed.
    plain.on("/feed", CannedResponse::redirect(301, secure.url("feeds.example", "/safe")));
    secure.on("/safe", CannedResponse::feed(ATOM));
    assert!(env.get(&plain.url("feeds.example", "/feed")).await.is_ok());
}

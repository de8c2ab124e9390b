//! Requests, validators, and hints of servers.

use super::support::{AGENT, ATOM, get, sentence, server};
use fetcher::{Content, FEED, FetchError};
use std::time::Duration;
use test_server::{Behaviour, CannedResponse};

const TAG: &str = "W/\"a strange, tag\"";
const TIME: &str = "Sat, 14 Nov 2026 10:00:00 GMT";

#[tokio::test]
async fn a_request_has_exactly_the_expected_headers() {
    let (server, env) = server().await;
    server.on("/feed", CannedResponse::feed(ATOM));
    let url = server.url("feeds.example", "/feed?a=b%20c#part");
    let answer = env.get(&url).await.unwrap();
    assert_eq!((answer.hops, answer.moved, answer.fresh_for), (0, None, None));
    assert_eq!(answer.url.as_str(), url.trim_end_matches("#part"));
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!((requests[0].method.as_str(), requests[0].path.as_str()), ("GET", "/feed?a=b%20c"));
    let mut headers = requests[0].headers.clone();
    headers.sort();
    let host = format!("feeds.example:{}", server.address().port());
    let expected = [
        ("accept", FEED),
        ("accept-encoding", "gzip, br, zstd"),
        ("connection", "close"),
        ("host", &host),
        ("user-agent", AGENT),
    ];
    assert_eq!(headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[tokio::test]
async fn unusual_paths_are_sent_unchanged() {
    let (server, env) = server().await;
    for path in [
        "/a|b^c[d]`e{f}\"<>?q=|^[]{}'`\"<>",
        "//double//slash",
        "/ü ?ß",
        "/%zz%",
        "/.a/./b/../c",
        "/\\a",
        "/?",
    ] {
        let url = server.url("feeds.example", path);
        let parsed = url::Url::parse(&url).unwrap();
        server.on(parsed.path(), CannedResponse::feed(ATOM));
        let answer = env.get(&url).await;
        assert!(answer.is_ok(), "{url}: {answer:?}");
        let path = server.requests().pop().unwrap().path;
        assert_eq!(path, parsed[url::Position::BeforePath..].to_owned(), "{url}");
    }
}

#[tokio::test]
async fn validators_are_sent_back_unchanged() {
    let (server, env) = server().await;
    let url = server.url("feeds.example", "/feed");
    for (tag, time) in [(Some(TAG), None), (None, Some(TIME)), (Some(TAG), Some(TIME))] {
        let mut feed = CannedResponse::feed(ATOM)
            .with("Link", "<https://hub.example/>; rel=\"hub\"")
            .with("Link", "<a>; rel=self");
        feed = tag.into_iter().fold(feed, |feed, tag| feed.with("ETag", tag));
        feed = time.into_iter().fold(feed, |feed, time| feed.with("Last-Modified", time));
        server.on("/feed", feed);
        let answer = env.get(&url).await.unwrap();
        let links = vec!["<https://hub.example/>; rel=\"hub\"".to_owned(), "<a>; rel=self".to_owned()];
        assert_eq!(
            answer.content,
            Content::Fresh {
                body: ATOM.to_vec(),
                content_type: Some("application/atom+xml; charset=utf-8".to_owned()),
                etag: tag.map(str::to_owned),
                modified: time.map(str::to_owned),
                links,
            }
        );
        let mut again = get(&url);
        (again.etag, again.modified) = (tag.map(str::to_owned), time.map(str::to_owned));
        assert_eq!(env.fetcher().get(&again).await.unwrap().content, Content::Unchanged);
        let last = server.requests().pop().unwrap();
        assert_eq!((last.header("if-none-match"), last.header("if-modified-since")), (tag, time));
    }
}

#[tokio::test]
async fn not_modified_without_a_validator_is_an_error() {
    let (server, env) = server().await;
    server.on("/feed", CannedResponse::status(304));
    assert_eq!(env.get(&server.url("feeds.example", "/feed")).await.unwrap_err(), FetchError::Status(304));
}

#[tokio::test]
async fn freshness_is_returned() {
    let (server, env) = server().await;
    server.on("/feed", CannedResponse::feed(ATOM).with("Cache-Control", "max-age=1800, public"));
    let answer = env.get(&server.url("feeds.example", "/feed")).await.unwrap();
    assert_eq!(answer.fresh_for, Some(Duration::from_secs(1_800)));
    let mut known =
        CannedResponse::feed(ATOM).with("ETag", TAG).with("Expires", "Sat, 14 Nov 2026 11:00:00 GMT");
    known = known.with("Date", TIME);
    server.on("/feed", known);
    let mut again = get(&server.url("feeds.example", "/feed"));
    again.etag = Some(TAG.to_owned());
    let answer = env.fetcher().get(&again).await.unwrap();
    assert_eq!((answer.content, answer.fresh_for), (Content::Unchanged, Some(Duration::from_secs(3_600))));
}

#[tokio::test]
async fn every_status_has_its_error() {
    let (server, env) = server().await;
    let url = server.url("feeds.example", "/feed");
    let busy = FetchError::Busy { retry_after: None };
    for (status, failure, words) in [
        (
            410,
            FetchError::Gone,
            "The feed was removed permanently (status 410): enter its new address, if it has one.",
        ),
        (404, FetchError::NotFound, "Nothing was found at this address (status 404): check the spelling."),
        (
            401,
            FetchError::NeedsSignIn(401),
            "This address requires signing in (status 401): enter a public one.",
        ),
        (
            403,
            FetchError::NeedsSignIn(403),
            "This address requires signing in (status 403): enter a public one.",
        ),
        (429, busy.clone(), "The server is busy. It will be tried again later; no action is needed."),
        (503, busy, "The server is busy. It will be tried again later; no action is needed."),
        (500, FetchError::Status(500), "The server answered with status 500: expected 200."),
        (206, FetchError::Status(206), "The server answered with status 206: expected 200."),
        (300, FetchError::Status(300), "The server answered with status 300: expected 200."),
    ] {
        server.on("/feed", CannedResponse::status(status));
        let outcome = env.get(&url).await;
        assert_eq!(outcome.as_ref().unwrap_err(), &failure);
        assert_eq!(sentence(outcome), words);
    }
    assert_eq!(server.connections(), 9, "no request is repeated");
}

#[tokio::test]
async fn retry_after_is_returned() {
    let (server, env) = server().await;
    let url = server.url("feeds.example", "/feed");
    server.on("/feed", CannedResponse::status(429).with("Retry-After", "120"));
    let busy = env.get(&url).await.unwrap_err();
    assert_eq!(busy, FetchError::Busy { retry_after: Some(Duration::from_secs(120)) });
    // The year 2100, as a date and as a time beyond the maximum.
    server.on("/feed", CannedResponse::status(503).with("Retry-After", "Fri, 01 Jan 2100 00:00:00 GMT"));
    let busy = env.get(&url).await.unwrap_err();
    assert_eq!(busy, FetchError::Busy { retry_after: Some(Duration::from_secs(366 * 86_400)) });
}

#[tokio::test]
async fn a_failure_does_not_affect_the_next_request() {
    let (server, env) = server().await;
    let turns =
        vec![CannedResponse::status(503).into(), Behaviour::HangsUp, CannedResponse::feed(ATOM).into()];
    server.on("/feed", Behaviour::InTurn(turns));
    let fetcher = env.fetcher();
    let request = get(&server.url("feeds.example", "/feed"));
    assert_eq!(fetcher.get(&request).await.unwrap_err(), FetchError::Busy { retry_after: None });
    assert!(matches!(fetcher.get(&request).await, Err(FetchError::InvalidResponse(_))));
    assert!(fetcher.get(&request).await.is_ok());
    assert_eq!((server.connections(), server.requests().len()), (3, 3));
}

#[tokio::test]
async fn long_headers_are_left_out() {
    let (server, env) = server().await;
    let mut feed = CannedResponse::feed(ATOM).with("ETag", format!("\"{}\"", "x".repeat(2_000)));
    for link in 0..50 {
        feed = feed.with("Link", format!("<https://example.org/{link}>"));
    }
    server.on("/feed", feed);
    let answer = env.get(&server.url("feeds.example", "/feed")).await.unwrap();
    let Content::Fresh { etag, links, .. } = answer.content else { panic!("expected new content") };
    assert_eq!((etag, links.len()), (None, 16));
}

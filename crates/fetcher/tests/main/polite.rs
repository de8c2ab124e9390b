//! What is asked, and how servers' wishes are heard.

use super::support::{AGENT, ATOM, get, sentence, server};
use fetcher::{Content, FEED, Failure};
use std::time::Duration;
use test_server::{Answer, Behaviour};

const TAG: &str = "W/\"a strange, tag\"";
const TIME: &str = "Sat, 14 Nov 2026 10:00:00 GMT";

#[tokio::test]
async fn a_request_says_what_it_should_and_nothing_else() {
    let (server, setting) = server().await;
    server.on("/feed", Answer::feed(ATOM));
    let url = server.url("feeds.example", "/feed?a=b%20c#part");
    let answer = setting.get(&url).await.unwrap();
    assert_eq!((answer.hops, answer.moved, answer.fresh_for), (0, None, None));
    assert_eq!(answer.url.as_str(), url.trim_end_matches("#part"));
    let asked = server.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!((asked[0].method.as_str(), asked[0].path.as_str()), ("GET", "/feed?a=b%20c"));
    let mut headers = asked[0].headers.clone();
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
async fn strange_paths_are_asked_as_they_are() {
    let (server, setting) = server().await;
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
        server.on(parsed.path(), Answer::feed(ATOM));
        let answer = setting.get(&url).await;
        assert!(answer.is_ok(), "{url}: {answer:?}");
        let asked = server.asked().pop().unwrap().path;
        assert_eq!(asked, parsed[url::Position::BeforePath..].to_owned(), "{url}");
    }
}

#[tokio::test]
async fn validators_go_back_as_they_came() {
    let (server, setting) = server().await;
    let url = server.url("feeds.example", "/feed");
    for (tag, time) in [(Some(TAG), None), (None, Some(TIME)), (Some(TAG), Some(TIME))] {
        let mut feed = Answer::feed(ATOM)
            .with("Link", "<https://hub.example/>; rel=\"hub\"")
            .with("Link", "<a>; rel=self");
        feed = tag.into_iter().fold(feed, |feed, tag| feed.with("ETag", tag));
        feed = time.into_iter().fold(feed, |feed, time| feed.with("Last-Modified", time));
        server.on("/feed", feed);
        let answer = setting.get(&url).await.unwrap();
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
        assert_eq!(setting.fetcher().get(&again).await.unwrap().content, Content::Unchanged);
        let last = server.asked().pop().unwrap();
        assert_eq!((last.header("if-none-match"), last.header("if-modified-since")), (tag, time));
    }
}

#[tokio::test]
async fn unchanged_means_nothing_to_who_knows_nothing() {
    let (server, setting) = server().await;
    server.on("/feed", Answer::status(304));
    assert_eq!(setting.get(&server.url("feeds.example", "/feed")).await.unwrap_err(), Failure::Status(304));
}

#[tokio::test]
async fn how_long_it_stays_fresh_is_heard() {
    let (server, setting) = server().await;
    server.on("/feed", Answer::feed(ATOM).with("Cache-Control", "max-age=1800, public"));
    let answer = setting.get(&server.url("feeds.example", "/feed")).await.unwrap();
    assert_eq!(answer.fresh_for, Some(Duration::from_secs(1_800)));
    let mut known = Answer::feed(ATOM).with("ETag", TAG).with("Expires", "Sat, 14 Nov 2026 11:00:00 GMT");
    known = known.with("Date", TIME);
    server.on("/feed", known);
    let mut again = get(&server.url("feeds.example", "/feed"));
    again.etag = Some(TAG.to_owned());
    let answer = setting.fetcher().get(&again).await.unwrap();
    assert_eq!((answer.content, answer.fresh_for), (Content::Unchanged, Some(Duration::from_secs(3_600))));
}

#[tokio::test]
async fn every_status_has_its_meaning() {
    let (server, setting) = server().await;
    let url = server.url("feeds.example", "/feed");
    let busy = Failure::Busy { retry_after: None };
    for (status, failure, words) in [
        (
            410,
            Failure::Gone,
            "What was there is gone for good, its server says: give its new address, if it has one.",
        ),
        (404, Failure::NotFound, "Nothing is found at this address: check how it is written."),
        (
            401,
            Failure::NeedsSignIn(401),
            "This address is not open to everybody (status 401): give one that can be read without signing in.",
        ),
        (
            403,
            Failure::NeedsSignIn(403),
            "This address is not open to everybody (status 403): give one that can be read without signing in.",
        ),
        (429, busy.clone(), "The server is busy and asks to come later: nothing has to be done here."),
        (503, busy, "The server is busy and asks to come later: nothing has to be done here."),
        (500, Failure::Status(500), "The server answered with status 500, where 200 is expected."),
        (206, Failure::Status(206), "The server answered with status 206, where 200 is expected."),
        (300, Failure::Status(300), "The server answered with status 300, where 200 is expected."),
    ] {
        server.on("/feed", Answer::status(status));
        let outcome = setting.get(&url).await;
        assert_eq!(outcome.as_ref().unwrap_err(), &failure);
        assert_eq!(sentence(outcome), words);
    }
    assert_eq!(server.connections(), 9, "nothing is asked twice");
}

#[tokio::test]
async fn busy_servers_say_when_to_come_again() {
    let (server, setting) = server().await;
    let url = server.url("feeds.example", "/feed");
    server.on("/feed", Answer::status(429).with("Retry-After", "120"));
    let busy = setting.get(&url).await.unwrap_err();
    assert_eq!(busy, Failure::Busy { retry_after: Some(Duration::from_secs(120)) });
    // The year 2100: as a date, and for longer than anybody waits.
    server.on("/feed", Answer::status(503).with("Retry-After", "Fri, 01 Jan 2100 00:00:00 GMT"));
    let busy = setting.get(&url).await.unwrap_err();
    assert_eq!(busy, Failure::Busy { retry_after: Some(Duration::from_secs(366 * 86_400)) });
}

#[tokio::test]
async fn a_failure_leaves_nothing_behind() {
    let (server, setting) = server().await;
    let turns = vec![Answer::status(503).into(), Behaviour::HangsUp, Answer::feed(ATOM).into()];
    server.on("/feed", Behaviour::InTurn(turns));
    let fetcher = setting.fetcher();
    let request = get(&server.url("feeds.example", "/feed"));
    assert_eq!(fetcher.get(&request).await.unwrap_err(), Failure::Busy { retry_after: None });
    assert!(matches!(fetcher.get(&request).await, Err(Failure::Garbled(_))));
    assert!(fetcher.get(&request).await.is_ok());
    assert_eq!((server.connections(), server.asked().len()), (3, 3));
}

#[tokio::test]
async fn headers_that_are_too_long_are_left_out() {
    let (server, setting) = server().await;
    let mut feed = Answer::feed(ATOM).with("ETag", format!("\"{}\"", "x".repeat(2_000)));
    for link in 0..50 {
        feed = feed.with("Link", format!("<https://example.org/{link}>"));
    }
    server.on("/feed", feed);
    let answer = setting.get(&server.url("feeds.example", "/feed")).await.unwrap();
    let Content::Fresh { etag, links, .. } = answer.content else { panic!("it is fresh") };
    assert_eq!((etag, links.len()), (None, 16));
}

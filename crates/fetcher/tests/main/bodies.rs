//! Bodies that are compressed, long, or bombs.

use super::support::{ATOM, sentence, server};
use fetcher::{Content, Failure};
use std::time::{Duration, Instant};
use test_server::{Answer, Behaviour, Coding};

const TOO_LARGE: &str = "There is more at this address than is read: give one of a shorter feed.";

#[tokio::test]
async fn every_coding_is_understood() {
    let (server, setting) = server().await;
    let url = server.url("feeds.example", "/feed");
    let twice = Answer::feed(ATOM).coded(Coding::Gzip).coded(Coding::Gzip);
    let mixed = Answer::feed(ATOM).coded(Coding::Brotli).coded(Coding::Zstd);
    let answers =
        Coding::ALL.map(|coding| Answer::feed(ATOM).coded(coding)).into_iter().chain([twice, mixed]);
    for answer in answers {
        server.on("/feed", answer);
        let content = setting.get(&url).await.unwrap().content;
        assert!(matches!(content, Content::Fresh { body, .. } if body == ATOM));
    }
}

#[tokio::test]
async fn bombs_are_not_inflated() {
    let (server, setting) = server().await;
    let url = server.url("feeds.example", "/feed");
    for coding in Coding::ALL {
        let bomb = coding.bomb(64);
        let hidden = Coding::Gzip.encode(&bomb);
        for answer in [
            Answer::feed("").with_coded_body(coding, bomb),
            Answer::feed("").with("Content-Encoding", coding.name()).with_coded_body(Coding::Gzip, hidden),
        ] {
            server.on("/feed", answer);
            let begun = Instant::now();
            assert_eq!(sentence(setting.get(&url).await), TOO_LARGE, "{coding:?}");
            assert!(begun.elapsed() < Duration::from_secs(10), "{coding:?}: {:?}", begun.elapsed());
        }
    }
}

#[tokio::test]
async fn what_is_too_long_is_not_read_to_its_end() {
    let (server, setting) = server().await;
    let url = server.url("feeds.example", "/feed");
    for manner in [
        Behaviour::Endless,
        Answer::feed(vec![b' '; (1 << 20) + 1]).into(),
        // Only the head says so: nothing of the body is waited for.
        Behaviour::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n".to_vec()),
    ] {
        server.on("/feed", manner);
        let outcome = setting.get(&url).await;
        assert_eq!(outcome.as_ref().unwrap_err(), &Failure::TooLarge);
        assert_eq!(sentence(outcome), TOO_LARGE);
    }
    server.on("/feed", Answer::feed(vec![b' '; 1 << 20]));
    assert!(setting.get(&url).await.is_ok(), "just as long as is read");
}

#[tokio::test]
async fn codings_that_are_not_what_they_say_are_refused() {
    let (server, setting) = server().await;
    let url = server.url("feeds.example", "/feed");
    let thrice = Answer::feed(ATOM).coded(Coding::Gzip).coded(Coding::Gzip).coded(Coding::Gzip);
    for (answer, words) in [
        (Answer::feed(ATOM).with("Content-Encoding", "gzip"), "it cannot be decompressed"),
        (
            Answer::feed(ATOM).with("Content-Encoding", "compress"),
            "it is compressed in a way that was not asked for",
        ),
        (thrice, "it is compressed more than twice"),
    ] {
        server.on("/feed", answer);
        let expected = format!("The server's answer cannot be read: {words}.");
        assert_eq!(sentence(setting.get(&url).await), expected);
    }
}

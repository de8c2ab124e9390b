//! Compressed and long bodies, and decompression bombs.

use super::support::{ATOM, sentence, server};
use fetcher::{Content, FetchError};
use std::time::{Duration, Instant};
use test_server::{Behaviour, CannedResponse, Coding};

const TOO_LARGE: &str = "The document at this address is too large: enter the address of a shorter feed.";

#[tokio::test]
async fn every_coding_is_decoded() {
    let (server, env) = server().await;
    let url = server.url("feeds.example", "/feed");
    let twice = CannedResponse::feed(ATOM).coded(Coding::Gzip).coded(Coding::Gzip);
    let mixed = CannedResponse::feed(ATOM).coded(Coding::Brotli).coded(Coding::Zstd);
    let answers =
        Coding::ALL.map(|coding| CannedResponse::feed(ATOM).coded(coding)).into_iter().chain([twice, mixed]);
    for answer in answers {
        server.on("/feed", answer);
        let content = env.get(&url).await.unwrap().content;
        assert!(matches!(content, Content::Fresh { body, .. } if body == ATOM));
    }
}

#[tokio::test]
async fn bombs_are_not_inflated() {
    let (server, env) = server().await;
    let url = server.url("feeds.example", "/feed");
    for coding in Coding::ALL {
        let bomb = coding.bomb(64);
        let hidden = Coding::Gzip.encode(&bomb);
        for answer in [
            CannedResponse::feed("").with_coded_body(coding, bomb),
            CannedResponse::feed("")
                .with("Content-Encoding", coding.name())
                .with_coded_body(Coding::Gzip, hidden),
        ] {
            server.on("/feed", answer);
            let start = Instant::now();
            assert_eq!(sentence(env.get(&url).await), TOO_LARGE, "{coding:?}");
            assert!(start.elapsed() < Duration::from_secs(10), "{coding:?}: {:?}", start.elapsed());
        }
    }
}

#[tokio::test]
async fn reading_stops_at_the_limit() {
    let (server, env) = server().await;
    let url = server.url("feeds.example", "/feed");
    for manner in [
        Behaviour::Endless,
        CannedResponse::feed(vec![b' '; (1 << 20) + 1]).into(),
        // The length header is enough: the body is not read.
        Behaviour::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n".to_vec()),
    ] {
        server.on("/feed", manner);
        let outcome = env.get(&url).await;
        assert_eq!(outcome.as_ref().unwrap_err(), &FetchError::TooLarge);
        assert_eq!(sentence(outcome), TOO_LARGE);
    }
    server.on("/feed", CannedResponse::feed(vec![b' '; 1 << 20]));
    assert!(env.get(&url).await.is_ok(), "exactly the maximum length");
}

#[tokio::test]
async fn invalid_codings_are_rejected() {
    let (server, env) = server().await;
    let url = server.url("feeds.example", "/feed");
    let thrice = CannedResponse::feed(ATOM).coded(Coding::Gzip).coded(Coding::Gzip).coded(Coding::Gzip);
    for (answer, words) in [
        (CannedResponse::feed(ATOM).with("Content-Encoding", "gzip"), "its body cannot be decompressed"),
        (
            CannedResponse::feed(ATOM).with("Content-Encoding", "compress"),
            "its content coding is not supported",
        ),
        (thrice, "it has more than two content codings"),
    ] {
        server.on("/feed", answer);
        let expected = format!("Invalid response from the server: {words}.");
        assert_eq!(sentence(env.get(&url).await), expected);
    }
}

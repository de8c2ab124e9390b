//! Slow, broken and unreachable servers.

use super::support::{ATOM, sentence, server};
use fetcher::{FetchError, Unreachable};
use std::time::{Duration, Instant};
use test_server::{Behaviour, CannedResponse, Server};

const TOO_SLOW: &str = "The server took too long to answer: try again later.";
const TOO_EARLY: &str = "Invalid response from the server: it ended too early.";

#[tokio::test]
async fn slow_servers_time_out() {
    let (server, mut env) = server().await;
    server.on("/silent", Behaviour::Silent);
    server.on("/slow", Behaviour::Slow(CannedResponse::feed(ATOM), Duration::from_millis(200)));
    for (path, head, total) in [("/silent", 300, 30_000), ("/slow", 30_000, 500)] {
        env.rules.head = Duration::from_millis(head);
        env.rules.total = Duration::from_millis(total);
        let start = Instant::now();
        assert_eq!(sentence(env.get(&server.url("feeds.example", path)).await), TOO_SLOW, "{path}");
        assert!(start.elapsed() < Duration::from_secs(10), "{path}: {:?}", start.elapsed());
    }
    // With a longer timeout the same feed succeeds.
    env.rules.total = Duration::from_secs(30);
    server.on("/slow", Behaviour::Slow(CannedResponse::feed(ATOM), Duration::from_millis(5)));
    assert!(env.get(&server.url("feeds.example", "/slow")).await.is_ok());
}

#[tokio::test]
async fn invalid_http_is_rejected() {
    let (server, env) = server().await;
    let url = server.url("feeds.example", "/feed");
    for (manner, words) in [
        (Behaviour::HangsUp, TOO_EARLY),
        (Behaviour::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n<feed/>".to_vec()), TOO_EARLY),
        (
            Behaviour::Raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n<fee".to_vec()),
            TOO_EARLY,
        ),
        (Behaviour::Raw(b"HTTP/1.1 200".to_vec()), TOO_EARLY),
        (
            Behaviour::Raw(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()),
            "Invalid response from the server: it is not HTTP.",
        ),
        (
            Behaviour::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n<feed/>".to_vec()),
            "Invalid response from the server: it is not HTTP.",
        ),
        (Behaviour::EndlessHead, "Invalid response from the server: its head is too long."),
        (
            Behaviour::Raw([b"HTTP/1.1 200 OK\r\nX: ", &[b'x'; 70_000][..], b"\r\n\r\n"].concat()),
            "Invalid response from the server: its head is too long.",
        ),
    ] {
        server.on("/feed", manner);
        let outcome = env.get(&url).await;
        assert!(matches!(outcome, Err(FetchError::InvalidResponse(_))), "{outcome:?}");
        assert_eq!(sentence(outcome), words);
    }
}

#[tokio::test]
async fn a_body_ends_where_its_length_says() {
    let (server, env) = server().await;
    server
        .on("/feed", Behaviour::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n<feed/>and more".to_vec()));
    let answer = env.get(&server.url("feeds.example", "/feed")).await.unwrap();
    assert!(matches!(answer.content, fetcher::Content::Fresh { body, .. } if body == b"<feed/>"));
}

#[tokio::test]
async fn a_closed_port_is_unreachable() {
    let (server, env) = server().await;
    let url = server.url("feeds.example", "/feed");
    drop(server);
    // The listener is closed when its task ends.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let outcome = env.get(&url).await;
    assert_eq!(outcome.as_ref().unwrap_err(), &FetchError::Unreachable(Unreachable::NoConnection));
    assert_eq!(sentence(outcome), "The server cannot be reached: check the address, or try again later.");
}

#[tokio::test]
async fn unknown_names_are_reported() {
    let (server, env) = server().await;
    env.names.set("empty.example", &[]);
    for host in ["unknown.example", "empty.example"] {
        let outcome = env.get(&server.url(host, "/feed")).await;
        assert_eq!(sentence(outcome), "No public server was found for the host name: check the spelling.");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn the_next_address_is_tried() {
    let server = Server::at("127.0.0.3:0").await;
    let env = super::support::FetcherEnv::new(&[&server]);
    server.on("/feed", CannedResponse::feed(ATOM));
    // The first address refuses connections.
    env.names.set("feeds.example", &["127.0.0.2", "127.0.0.3"]);
    assert!(env.get(&server.url("feeds.example", "/feed")).await.is_ok());
    assert_eq!(env.names.lookups(), ["feeds.example"], "a host is resolved once");
}

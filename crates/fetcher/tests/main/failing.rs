//! Servers that are slow, broken, or not there.

use super::support::{ATOM, sentence, server};
use fetcher::{Failure, Unreachable};
use std::time::{Duration, Instant};
use test_server::{Answer, Behaviour, Server};

const TOO_SLOW: &str = "The server took too long to answer: try again later.";
const TOO_EARLY: &str = "The server's answer cannot be read: it ended too early.";

#[tokio::test]
async fn slow_servers_are_not_waited_for() {
    let (server, mut setting) = server().await;
    server.on("/silent", Behaviour::Silent);
    server.on("/slow", Behaviour::Slow(Answer::feed(ATOM), Duration::from_millis(200)));
    for (path, head, total) in [("/silent", 300, 30_000), ("/slow", 30_000, 500)] {
        setting.rules.head = Duration::from_millis(head);
        setting.rules.total = Duration::from_millis(total);
        let begun = Instant::now();
        assert_eq!(sentence(setting.get(&server.url("feeds.example", path)).await), TOO_SLOW, "{path}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{path}: {:?}", begun.elapsed());
    }
    // The same feed comes through for who has the time.
    setting.rules.total = Duration::from_secs(30);
    server.on("/slow", Behaviour::Slow(Answer::feed(ATOM), Duration::from_millis(5)));
    assert!(setting.get(&server.url("feeds.example", "/slow")).await.is_ok());
}

#[tokio::test]
async fn what_is_not_http_is_not_read() {
    let (server, setting) = server().await;
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
            "The server's answer cannot be read: it is not HTTP.",
        ),
        (
            Behaviour::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n<feed/>".to_vec()),
            "The server's answer cannot be read: it is not HTTP.",
        ),
        (Behaviour::EndlessHead, "The server's answer cannot be read: its head is too long."),
        (
            Behaviour::Raw([b"HTTP/1.1 200 OK\r\nX: ", &[b'x'; 70_000][..], b"\r\n\r\n"].concat()),
            "The server's answer cannot be read: its head is too long.",
        ),
    ] {
        server.on("/feed", manner);
        let outcome = setting.get(&url).await;
        assert!(matches!(outcome, Err(Failure::Garbled(_))), "{outcome:?}");
        assert_eq!(sentence(outcome), words);
    }
}

#[tokio::test]
async fn a_body_ends_where_its_length_says() {
    let (server, setting) = server().await;
    server
        .on("/feed", Behaviour::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n<feed/>and more".to_vec()));
    let answer = setting.get(&server.url("feeds.example", "/feed")).await.unwrap();
    assert!(matches!(answer.content, fetcher::Content::Fresh { body, .. } if body == b"<feed/>"));
}

#[tokio::test]
async fn where_nobody_listens_there_is_no_connection() {
    let (server, setting) = server().await;
    let url = server.url("feeds.example", "/feed");
    drop(server);
    // The listener is gone once its task is.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let outcome = setting.get(&url).await;
    assert_eq!(outcome.as_ref().unwrap_err(), &Failure::Unreachable(Unreachable::NoConnection));
    assert_eq!(sentence(outcome), "The server cannot be reached: check the address, or try again later.");
}

#[tokio::test]
async fn names_that_lead_nowhere_are_told() {
    let (server, setting) = server().await;
    setting.names.lead("empty.example", &[]);
    for host in ["unknown.example", "empty.example"] {
        let outcome = setting.get(&server.url(host, "/feed")).await;
        assert_eq!(
            sentence(outcome),
            "No public server is found for the host name in this address: check how it is written."
        );
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn the_next_address_is_tried() {
    let server = Server::at("127.0.0.3:0").await;
    let setting = super::support::Setting::new(&[&server]);
    server.on("/feed", Answer::feed(ATOM));
    // Nobody listens at the first.
    setting.names.lead("feeds.example", &["127.0.0.2", "127.0.0.3"]);
    assert!(setting.get(&server.url("feeds.example", "/feed")).await.is_ok());
    assert_eq!(setting.names.asked(), ["feeds.example"], "a host is looked up once");
}

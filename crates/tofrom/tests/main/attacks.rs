//! Denial of service: unfinished bodies, bodies for unknown subscriptions, endless connections.

use super::support::demo::Demo;
use super::support::folder::Folder;
use super::support::http2::Target;
use axum::body::Bytes;
use h2::RecvStream;
use h2::client::ResponseFuture;
use http::Response;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const MIB: u64 = 1 << 20;

fn address(third: u8, last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(127, 30, third, last))
}

/// A demo, and a target for one protocol.
fn attacked(folder: &Folder, protocol: &str) -> (Demo, Target) {
    let demo = Demo::start(folder.path(), &[]);
    let ca = demo.ready["ca_cert"].as_str().unwrap().to_owned();
    let target = Target::new(demo.client.address, ca.as_ref(), protocol);
    (demo, target)
}

/// How many of these reads of bob's page are answered with 200.
async fn answered(target: &Target, key: &str, reads: usize) -> usize {
    let mut requests = target.http2(address(255, 1)).await.unwrap();
    let mut right = 0;
    for _ in 0..reads {
        let request = target.request("GET", "/200909/activity/bob/from?count=5", &[("ServicePSK", key)]);
        requests = requests.ready().await.unwrap();
        let (answer, _) = requests.send_request(request, true).unwrap();
        right += usize::from(answer.await.unwrap().status() == 200);
    }
    right
}

#[tokio::test]
async fn thousands_of_unfinished_bodies_do_not_block_readers() {
    let folder = Folder::new();
    let (demo, target) = attacked(&folder, "h2");
    let headers = [("ServicePSK", demo.key("bob")), ("Content-Type", "application/x-ndjson")];
    answered(&target, demo.key("bob"), 20).await;
    let (before, mut held) = (demo.resident_bytes(), Vec::new());
    for connection in 0..66 {
        let mut requests = target.http2(address(connection, 1)).await.unwrap();
        for _ in 0..64 {
            requests = requests.ready().await.unwrap();
            let request = target.request("POST", "/200909/activity/bob/from", &headers);
            held.push(requests.send_request(request, false).unwrap());
        }
    }
    assert_eq!(held.len(), 4_224, "more bodies than request slots");
    let began = Instant::now();
    assert_eq!(answered(&target, demo.key("bob"), 100).await, 100);
    let (took, more) = (began.elapsed(), demo.resident_bytes().saturating_sub(before));
    eprintln!("100 reads beside 4,224 unfinished bodies: {took:?}, {} MiB more memory", more / MIB);
    assert!(more < 200 * MIB, "{} MiB", more / MIB);
}

#[tokio::test]
async fn bodies_for_unknown_subscriptions_are_refused_unread() {
    let folder = Folder::new();
    let (demo, target) = attacked(&folder, "h2");
    answered(&target, demo.key("bob"), 20).await;
    let before = demo.resident_bytes();
    let mut sent = Vec::new();
    let connections =
        [target.http2(address(0, 2)).await.unwrap(), target.http2(address(0, 2)).await.unwrap()];
    for number in 0..100 {
        let mut requests = connections[number % 2].clone().ready().await.unwrap();
        let request =
            target.request("POST", &format!("/websub/{number:032x}"), &[("Content-Length", "5242880")]);
        let (answer, mut body) = requests.send_request(request, false).unwrap();
        // As much as the flow-control windows take; the rest waits in this process.
        body.send_data(Bytes::from(vec![b'x'; 5 << 20]), false).unwrap();
        sent.push((answer, body));
    }
    for (answer, _body) in sent {
        assert_eq!(status(answer).await, 404);
    }
    let more = demo.resident_bytes().saturating_sub(before);
    eprintln!("100 bodies of 5 MiB for unknown subscriptions: {} MiB more memory", more / MIB);
    assert!(more < 100 * MIB, "{} MiB", more / MIB);
    assert_eq!(answered(&target, demo.key("bob"), 5).await, 5);
}

async fn status(answer: ResponseFuture) -> u16 {
    let response: Response<RecvStream> = answer.await.unwrap();
    response.status().as_u16()
}

#[tokio::test]
async fn one_account_has_a_limited_share_of_the_body_bytes_in_flight() {
    let folder = Folder::new();
    let (demo, target) = attacked(&folder, "h2");
    let post = async |user: &str, mebibytes: usize, end: bool| {
        let mut requests = target.http2(address(0, 3)).await.unwrap().ready().await.unwrap();
        let path = format!("/200909/activity/{user}/from");
        let headers = [("ServicePSK", demo.key(user)), ("Content-Type", "application/x-ndjson")];
        let (answer, mut body) =
            requests.send_request(target.request("POST", &path, &headers), false).unwrap();
        // Blank lines are not activities.
        body.send_data(Bytes::from(vec![b'\n'; mebibytes << 20]), end).unwrap();
        (requests, answer, body)
    };
    let (_first, waits, _more) = post("bob", 6, false).await;
    // It must have arrived before the next one counts.
    assert!(tokio::time::timeout(Duration::from_secs(2), waits).await.is_err(), "the body is not finished");
    let (_second, answer, _more) = post("bob", 3, true).await;
    assert_eq!(status(answer).await, 429, "6 and 3 MiB are more than 8");
    let (_third, answer, _more) = post("carol", 3, true).await;
    assert_eq!(status(answer).await, 200, "another account has its own share");
}

#[tokio::test]
async fn a_stalled_body_is_408() {
    let folder = Folder::new();
    let (demo, target) = attacked(&folder, "http/1.1");
    let mut line = target.connect(address(0, 4)).await.unwrap();
    let header = format!(
        "PUT /200909/activity/bob/from/A/1 HTTP/1.1\r\nHost: x\r\nServicePSK: {}\r\nContent-Type: application/json\r\n\
         Content-Length: 100\r\n\r\n{{",
        demo.key("bob")
    );
    line.write_all(header.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let _ = line.read_to_string(&mut answer).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("/docs/problems/stalled"), "{answer}");
}

#[tokio::test]
async fn a_caller_is_authenticated_before_the_body_is_read() {
    let folder = Folder::new();
    let (_demo, target) = attacked(&folder, "http/1.1");
    for path in ["/200909/activity/bob/from/A/1", "/200909/user/bob"] {
        let mut line = target.connect(address(0, 5)).await.unwrap();
        let header = format!(
            "PUT {path} HTTP/1.1\r\nHost: x\r\nServicePSK: tfk_wrong\r\nContent-Type: \
             application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\n"
        );
        line.write_all(header.as_bytes()).await.unwrap();
        let mut start = [0; 12];
        line.read_exact(&mut start).await.unwrap();
        assert_eq!(&start, b"HTTP/1.1 401", "answered before the body");
    }
}

#[tokio::test]
async fn one_address_may_have_256_connections() {
    let folder = Folder::new();
    let (demo, target) = attacked(&folder, "http/1.1");
    let request = format!(
        "GET /200909/whoami HTTP/1.1\r\nHost: x\r\nServicePSK: {}\r\nContent-Length: 0\r\n\r\n",
        demo.key("bob")
    );
    let mut open = Vec::new();
    for _ in 0..256 {
        open.push(target.connect(address(0, 6)).await.expect("256 connections are allowed"));
    }
    assert!(target.connect(address(0, 6)).await.is_err(), "the 257th is closed");
    let mut other = target.connect(address(0, 7)).await.expect("another address has its own count");
    other.write_all(request.as_bytes()).await.unwrap();
    let mut start = [0; 12];
    other.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    drop(open);
    for _ in 0..100 {
        if target.connect(address(0, 6)).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("closed connections still count");
}

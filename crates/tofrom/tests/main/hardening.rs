//! Lines of the table in docs/security.md that no other test holds.

use super::oauth::service::Service;
use super::support::client::read_answer;
use super::support::demo::Demo;
use super::support::folder::Folder;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A body cannot set what its sender may not: unknown fields are ignored.
#[test]
fn a_profile_sets_no_other_field() {
    let service = Service::start(Folder::new(), "", "info");
    service.add_account("alice", &[]);
    service.add_account("victim", &[]);
    let key = |scope: &str| -> String {
        let made = service.run(&["key", "add", "alice", "--scope", scope, "--json"], "");
        serde_json::from_str::<serde_json::Value>(&made).unwrap()["key"].as_str().unwrap().to_owned()
    };
    let (write, json) = (key("write"), ("Content-Type", "application/json"));
    let accept = ("Accept", "application/json");
    let body = br#"{"GivenName":"A","Operator":true,"operator":true,"Disabled":true,"Removed":true,"Uid":"1",
        "UserIdentifier":"victim","Password":"x","CredentialEpoch":9,"Version":"1","SecondFactor":null}"#;
    let target = "/social/200909/user/alice";
    let answer = service.client.send("PUT", target, &[("ServicePSK", &write), json], body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let listed: serde_json::Value =
        serde_json::from_str(&service.run(&["account", "list", "--json"], "")).unwrap();
    let alice = listed.as_array().unwrap().iter().find(|account| account["name"] == "alice").unwrap();
    let expected = (&"A".into(), &false.into(), &false.into(), &true.into());
    assert_eq!((&alice["given_name"], &alice["operator"], &alice["disabled"], &alice["password"]), expected);
    let victim = service.client.get("/social/200909/user/victim", &[("ServicePSK", &write)]);
    assert_eq!(victim.status, 404);
    let minted = br#"{"Name":"k","Scope":"read","Id":"0000000000000001","Key":"tfk_chosen","Owner":"victim","Revoked":null}"#;
    let keys = "/social/200909/user/alice/keys";
    let made = service.client.send("POST", keys, &[("ServicePSK", &write), json, accept], minted).json();
    assert!(made["Key"]["Key"] != "tfk_chosen" && made["Key"]["Id"] != "0000000000000001", "{made}");
}

/// Messages whose length two readers could see differently are refused, and nothing after them is read.
#[test]
fn ambiguous_lengths_are_refused() {
    let demo = Demo::shared();
    let (name, host) = ("bob", demo.client.base.trim_start_matches("https://").to_owned());
    let smuggled = format!("GET /200909/whoami HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let length = smuggled.len();
    for lengths in [
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {length}"),
        format!("Content-Length: 0\r\nContent-Length: {length}"),
        format!("Content-Length: 0, {length}"),
        "Content-Length: +5".to_owned(),
        "Content-Length: 0x5".to_owned(),
        "Transfer-Encoding: chunked, identity".to_owned(),
        "Transfer-Encoding: xchunked".to_owned(),
        "Transfer-Encoding : chunked".to_owned(),
        " Transfer-Encoding: chunked".to_owned(),
    ] {
        let mut stream = demo.client.connect();
        let request = format!(
            "POST /200909/activity/{name}/from HTTP/1.1\r\nHost: {host}\r\nServicePSK: {}\r\n{lengths}\r\n\r\n0\r\n\r\n{smuggled}",
            demo.key(name)
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut all = Vec::new();
        // The server closes the connection, with or without a farewell.
        let _ = stream.read_to_end(&mut all);
        let answers = all.windows(9).filter(|window| window.starts_with(b"HTTP/1.1 ")).count();
        let first = read_answer(all.as_slice(), false);
        // A chunked body that ends, with a length beside it, may be served, if the connection ends with it.
        assert!(
            matches!(first.status, 400 | 408 | 415 | 501),
            "{lengths}: {} {}",
            first.status,
            first.text()
        );
        assert_eq!(answers, 1, "{lengths}: the rest was taken for a request");
    }
}

/// A handshake that offers at most this version; returns the type of the record that comes back.
fn handshake(address: &str, version: [u8; 2]) -> Option<u8> {
    let random = [7; 32];
    // ECDHE and RSA suites with AES in CBC mode, which servers of that time had.
    let suites: [u8; 8] = [0xc0, 0x13, 0xc0, 0x14, 0x00, 0x2f, 0x00, 0x35];
    let hello = [&version[..], &random, &[0], &[0, 8], &suites, &[1, 0]].concat();
    let length = u8::try_from(hello.len()).unwrap();
    let message = [&[1, 0, 0, length][..], &hello].concat();
    let record = [&[22, 3, 1, 0, length + 4][..], &message].concat();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(&record).unwrap();
    let mut first = [0];
    stream.read_exact(&mut first).ok().map(|()| first[0])
}

#[test]
fn old_versions_of_tls_are_refused() {
    const HANDSHAKE: u8 = 22;
    let address = Demo::shared().client.base.trim_start_matches("https://");
    for version in [[3, 0], [3, 1], [3, 2]] {
        let answer = handshake(address, version);
        assert_ne!(answer, Some(HANDSHAKE), "{version:?}");
    }
}

//! Refused writes, and their problems.

use super::fixture::{JSON, activity, fixture, fresh, item, refusal, with};
use serde_json::json;

#[test]
fn refusals_name_the_wrong_field() {
    let (fixture, service) = (fixture(), fresh("refused"));
    for (field, more) in [
        ("Title", json!({ "Title": "" })),
        ("Category", json!({ "Category": null })),
        ("Bookmark", json!({ "Bookmark": { "Description": "d" } })),
        ("Bookmark.Url", json!({ "Bookmark": { "Url": "javascript:alert(1)" } })),
        ("Visibility", json!({ "Visibility": "friends" })),
        ("PublishedDate", json!({ "PublishedDate": "yesterday" })),
        ("PublishedDate", json!({ "PublishedDate": "2999-01-01T00:00:00Z" })),
        ("CommentCount", json!({ "CommentCount": -1 })),
        ("CommentCount", json!({ "CommentCount": 2_147_483_648_u32 })),
        ("LikeCount", json!({ "LikeCount": "2147483648" })),
        ("LikeCount", json!({ "LikeCount": "9".repeat(30) })),
        ("Title", json!({ "Title": "a\u{0}b" })),
    ] {
        let answer = fixture.put("bob", &service, "1", &with(activity("x"), more));
        assert_eq!(refusal(&answer, "field"), (422, field.to_owned()));
        assert!(answer.json()["detail"].as_str().unwrap().starts_with(field), "{}", answer.text());
    }
    for (id, field) in [("%FF", "SourceId"), ("%0A", "SourceId"), (&"a".repeat(513), "SourceId")] {
        let target = format!("/200909/activity/bob/from/{service}/{id}");
        let answer = fixture.send("PUT", &target, "bob", &activity("x"));
        assert_eq!(refusal(&answer, "field"), (422, field.to_owned()));
        assert_eq!(fixture.request("GET", &target, "bob").status, 404);
        assert_eq!(fixture.request("DELETE", &target, "bob").status, 404);
    }
    let target = item("bob", "a%2Cb", "1");
    let answer = fixture.send("PUT", &target, "bob", &activity("x"));
    assert_eq!(refusal(&answer, "field"), (422, "SourceService.Name".to_owned()));
    assert_eq!(fixture.titles("bob", "bob", "from", &service), [""; 0], "refused writes store nothing");
}

#[test]
fn a_body_must_match_its_content_type() {
    let (fixture, service) = (fixture(), fresh("refused"));
    let target = item("bob", &service, "1");
    let put = |kind: &str, body: &str| {
        fixture.by_key("PUT", &target, fixture.demo.key("bob"), kind, body.as_bytes())
    };
    let good = activity("x").to_string();
    for (kind, body) in [
        (JSON, "{"),
        (JSON, "[]"),
        (JSON, ""),
        ("application/xml", "<Activity>"),
        ("application/xml", "<Nothing/>"),
        ("application/xml", &good),
        ("application/atom+xml", "<entry><title>x</title></entry>"),
        ("application/fastinfoset", &good),
    ] {
        let answer = if body.is_empty() {
            let headers = [("ServicePSK", fixture.demo.key("bob")), ("Content-Type", kind)];
            fixture.demo.client.send("PUT", &target, &headers, &[])
        } else {
            put(kind, body)
        };
        let (status, _) = refusal(&answer, "detail");
        assert!(matches!(status, 400 | 422), "{kind} {body}: {}", answer.text());
    }
    for kind in ["text/plain", "text/html", "application/x-ndjson", "application/json; charset=latin1"] {
        let (status, accepts) = refusal(&put(kind, &good), "accepts");
        assert_eq!((status, accepts.matches("application/").count()), (415, 4), "{kind}: {accepts}");
    }
    let untyped = fixture.demo.client.send("PUT", &target, &[("ServicePSK", fixture.demo.key("bob"))], b"{}");
    assert_eq!(untyped.status, 415);
    let headers =
        [("ServicePSK", fixture.demo.key("bob")), ("Content-Type", JSON), ("Content-Encoding", "gzip")];
    let coded = fixture.demo.client.send("PUT", &target, &headers, good.as_bytes());
    assert_eq!((coded.status, coded.header("accept-encoding")), (415, Some("identity")));
    assert_eq!(put("application/json; charset=UTF-8", &good).status, 201);
}

#[test]
fn an_early_refusal_reaches_the_client() {
    let (fixture, service) = (fixture(), fresh("refused"));
    let long = "x".repeat(60_000);
    for _ in 0..10 {
        let target = item("carol", &service, "1");
        let answer = fixture.by_key("PUT", &target, fixture.demo.key("bob"), JSON, long.as_bytes());
        assert_eq!(refusal(&answer, "reason"), (403, "not-yours".to_owned()));
    }
}

#[test]
fn too_large_bodies_are_refused() {
    let (fixture, service) = (fixture(), fresh("refused"));
    let text = activity("x").to_string();
    let padded = |length: usize| format!("{text}{}", " ".repeat(length - text.len()));
    let put = |id: &str, length: usize| {
        let body = padded(length);
        fixture.by_key("PUT", &item("bob", &service, id), fixture.demo.key("bob"), JSON, body.as_bytes())
    };
    assert_eq!(put("fits", 64 * 1024).status, 201);
    let large = put("large", 64 * 1024 + 1);
    assert_eq!(refusal(&large, "detail"), (413, "The body is larger than 64 KiB.".to_owned()));
    // Without a declared length the limit applies while reading.
    let mut chunked = b"10001\r\n".to_vec();
    chunked.extend(padded(0x1_0001).into_bytes());
    chunked.extend(b"\r\n0\r\n\r\n");
    let lines = format!(
        "PUT {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nServicePSK: {}\r\nContent-Type: {JSON}\r\n\
         Transfer-Encoding: chunked\r\n\r\n",
        item("bob", &service, "chunked"),
        fixture.demo.key("bob")
    );
    use std::io::Write;
    let mut stream = fixture.demo.client.connect();
    stream.write_all(lines.as_bytes()).unwrap();
    stream.write_all(&chunked).unwrap();
    stream.flush().unwrap();
    assert_eq!(super::super::support::client::read_answer(stream, false).status, 413);
    assert_eq!(fixture.titles("bob", "bob", "from", &service), ["x"]);
}

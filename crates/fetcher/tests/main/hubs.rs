//! Forms for hubs, and the test hub.

use super::support::{FetcherEnv, server};
use fetcher::{FetchError, Refusal};
use std::sync::Arc;
use test_server::{Authority, Behaviour, CannedResponse, Hub, HubMode, Server};

const TOPIC: &str = "https://feeds.example/feed";

#[tokio::test]
async fn a_form_is_sent_and_its_status_returned() {
    let (server, setting) = server().await;
    server.on("/hub", CannedResponse::status(422).with("X", "y"));
    let url = server.url("feeds.example", "/hub").parse().unwrap();
    let posted =
        setting.fetcher().post_form(&url, &[("hub.mode", "subscribe"), ("hub.topic", "a b&c=ü")]).await;
    assert_eq!(posted.unwrap().status, 422);
    let requests = server.requests();
    assert_eq!(requests[0].method, "POST");
    assert_eq!(requests[0].header("content-type"), Some("application/x-www-form-urlencoded"));
    let form = [("hub.mode", "subscribe"), ("hub.topic", "a b&c=ü")];
    assert_eq!(requests[0].form(), form.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[tokio::test]
async fn only_redirects_that_keep_the_form_are_followed() {
    let (server, setting) = server().await;
    let fetcher = setting.fetcher();
    server.on("/hub", CannedResponse::status(202));
    let url = server.url("feeds.example", "/old").parse().unwrap();
    for status in [307, 308] {
        server.on("/old", CannedResponse::redirect(status, "/hub"));
        assert_eq!(fetcher.post_form(&url, &[("a", "b")]).await.unwrap().status, 202);
        let last = server.requests().pop().unwrap();
        assert_eq!((last.method.as_str(), last.body.as_slice()), ("POST", &b"a=b"[..]));
    }
    for status in [301, 302, 303] {
        server.on("/old", CannedResponse::redirect(status, "/hub"));
        assert_eq!(fetcher.post_form(&url, &[("a", "b")]).await.unwrap().status, status);
    }
    server.on("/old", CannedResponse::redirect(307, "http://10.0.0.1/"));
    let refused = fetcher.post_form(&url, &[]).await.unwrap_err();
    assert_eq!(refused, FetchError::Refused(Refusal::Port));
    server.on("/old", CannedResponse::redirect(307, "/old"));
    assert_eq!(fetcher.post_form(&url, &[]).await.unwrap_err(), FetchError::RedirectLoop);
}

#[tokio::test]
async fn only_an_excerpt_of_the_body_is_kept() {
    let (server, setting) = server().await;
    server.on("/hub", Behaviour::Endless);
    let url = server.url("feeds.example", "/hub").parse().unwrap();
    let posted = setting.fetcher().post_form(&url, &[]).await.unwrap();
    assert_eq!((posted.status, posted.body.len()), (200, 4_096));
}

/// A subscriber that answers the challenge and records notifications.
async fn subscribe(mode: HubMode, authority: Authority, subscriber: &Server) -> (Server, Hub, bool) {
    subscriber.on(
        "/callback",
        Behaviour::Dynamic(Arc::new(|request| {
            let url = url::Url::parse(&format!("http://x{}", request.path)).unwrap();
            let challenge = url.query_pairs().find(|(name, _)| name == "hub.challenge");
            CannedResponse::feed(challenge.map(|(_, value)| value.into_owned()).unwrap_or_default()).into()
        })),
    );
    let server = Server::start().await;
    let hub = Hub::open(&server, "/hub", mode, authority.roots());
    let setting = FetcherEnv::new(&[&server]);
    let callback = subscriber.url("localhost", "/callback");
    let form = [
        ("hub.mode", "subscribe"),
        ("hub.topic", TOPIC),
        ("hub.callback", &callback),
        ("hub.secret", "secret"),
    ];
    let url = server.url("feeds.example", "/hub").parse().unwrap();
    assert_eq!(setting.fetcher().post_form(&url, &form).await.unwrap().status, 202);
    let verified = mode != HubMode::NeverVerifies && hub.verified().await;
    (server, hub, verified)
}

#[tokio::test]
async fn a_good_hub_verifies_and_pushes_with_the_right_signature() {
    // HMAC-SHA256 of "<feed/>" under "secret", computed independently.
    let right = "sha256=bc34c1a93cc52a1e89787d5bfca33388be4a3190ed87910472a44e4bbb8122c2";
    for (mode, is_right) in [(HubMode::Good, true), (HubMode::WrongSignature, false)] {
        let authority = Authority::new();
        let subscriber = Server::secure(&authority.certificate("localhost")).await;
        let (_server, hub, verified) = subscribe(mode, authority, &subscriber).await;
        assert!(verified);
        assert_eq!(hub.push(TOPIC, "application/atom+xml", b"<feed/>").await, [200]);
        assert!(hub.push("https://feeds.example/other", "application/atom+xml", b"<feed/>").await.is_empty());
        let pushed = subscriber.requests().pop().unwrap();
        assert_eq!((pushed.method.as_str(), pushed.body.as_slice()), ("POST", &b"<feed/>"[..]));
        assert_eq!(pushed.header("x-hub-signature") == Some(right), is_right);
    }
}

#[tokio::test]
async fn a_hub_may_deny_or_never_verify() {
    let subscriber = Server::start().await;
    let (_server, hub, verified) = subscribe(HubMode::Denies, Authority::new(), &subscriber).await;
    assert!(!verified && subscriber.requests()[0].path.contains("hub.mode=denied"));
    assert!(hub.push(TOPIC, "application/atom+xml", b"<feed/>").await.is_empty());
    let subscriber = Server::start().await;
    let (_server, hub, verified) = subscribe(HubMode::NeverVerifies, Authority::new(), &subscriber).await;
    assert!(!verified && subscriber.requests().is_empty() && hub.subscriptions()[0].verified.is_none());
}

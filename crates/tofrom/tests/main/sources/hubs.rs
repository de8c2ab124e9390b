//! WebSub hubs: subscriptions are requested and verified, notifications need a valid signature, and a silent hub is not
//! relied on.

use super::super::support::client::Client;
use super::super::support::signer::encode;
use super::super::support::steal_adjusted_clock::StealAdjustedClock;
use super::fixture::{Person, atom, becomes, fixture, post, request_count, seconds_until, url, wait_for};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::time::Duration;
use test_server::{CannedResponse, Hub, HubMode, RecordedSubscription, Server};

const HOUR: i64 = 3_600;
const HUB_HEALTH: &str = " A hub sends updates immediately.";

/// A feed with a hub, and an account that is connected to it.
struct HubFixture {
    server: Server,
    hub: Hub,
    person: Person,
}

/// Trusts the demo's certificate.
fn roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let file = fixture().demo.ready["ca_cert"].as_str().unwrap();
    for certificate in CertificateDer::pem_file_iter(file).unwrap() {
        roots.add(certificate.unwrap()).unwrap();
    }
    roots
}

fn client() -> &'static Client {
    &fixture().demo.client
}

impl HubFixture {
    /// The feed itself names its hub.
    fn new(mode: HubMode) -> HubFixture {
        HubFixture::with(mode, None, false)
    }

    fn with(mode: HubMode, lease: Option<u64>, by_header: bool) -> HubFixture {
        let server = fixture().server();
        let hub = Hub::open(&server, "/hub", mode, roots());
        if let Some(lease) = lease {
            hub.grant(lease);
        }
        let hub_fixture = HubFixture { server, hub, person: fixture().person("hub") };
        hub_fixture.publish(&[post(1)], by_header);
        hub_fixture.person.connect("blog", &hub_fixture.topic());
        hub_fixture
    }

    fn topic(&self) -> String {
        url(&self.server, "/feed")
    }

    /// Replaces the content of the feed.
    fn publish(&self, entries: &[String], by_header: bool) {
        let (hub, own) = (url(&self.server, "/hub"), self.topic());
        let feed = atom(entries);
        let answer = if by_header {
            CannedResponse::feed(feed).with("Link", format!("<{hub}>; rel=\"hub\", <{own}>; rel=\"self\""))
        } else {
            let links = format!("<link rel=\"hub\" href=\"{hub}\"/><link rel=\"self\" href=\"{own}\"/>");
            CannedResponse::feed(
                feed.replace("<title>A blog</title>", &format!("<title>A blog</title>{links}")),
            )
        };
        self.server.on("/feed", answer);
    }

    /// Waits until the hub has verified the subscription.
    fn subscribed(&self) -> RecordedSubscription {
        let is_done =
            |all: &Vec<RecordedSubscription>| all.last().is_some_and(|last| last.verified.is_some());
        let mut all = wait_for(|| self.hub.subscriptions(), is_done);
        assert!(is_done(&all), "{all:?}");
        all.pop().unwrap()
    }

    fn push(&self, entries: &[String]) -> Vec<u16> {
        let feed = atom(entries);
        fixture().runtime.block_on(self.hub.push(&self.topic(), "application/atom+xml", feed.as_bytes()))
    }

    /// Sends a request to the hub's callback.
    fn send(&self, callback: &str, signature: Option<&str>) -> u16 {
        let headers =
            [("Content-Type", "application/atom+xml"), ("X-Hub-Signature", signature.unwrap_or_default())];
        let headers = &headers[..1 + usize::from(signature.is_some())];
        client().send("POST", callback, headers, atom(&[post(66)]).as_bytes()).status
    }
}

/// The path of a callback address.
fn target(subscription: &RecordedSubscription) -> String {
    subscription.callback.path().to_owned()
}

#[test]
fn a_hub_notification_is_imported_immediately_without_a_fetch() {
    for by_header in [false, true] {
        let hub_fixture = HubFixture::with(HubMode::Good, None, by_header);
        let subscription = hub_fixture.subscribed();
        assert_eq!(subscription.verified, Some(true), "the challenge was returned");
        assert_eq!((subscription.mode.as_str(), subscription.topic), ("subscribe", hub_fixture.topic()));
        assert!(subscription.callback.as_str().starts_with(&format!("{}/websub/", client().base)));
        assert!(subscription.secret.is_some_and(|secret| secret.len() >= 40));
        let description = hub_fixture.person.settled("blog");
        let health = wait_for(|| hub_fixture.person.health("blog"), |health| health.ends_with(HUB_HEALTH));
        assert!(health.ends_with(HUB_HEALTH), "{health}");
        let before = request_count(&hub_fixture.server, "/feed");
        let started = StealAdjustedClock::now();
        assert_eq!(hub_fixture.push(&[post(2)]), [202]);
        becomes(vec!["Post 1".to_owned(), "Post 2".to_owned()], || hub_fixture.person.titles());
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
        assert_eq!(hub_fixture.push(&[post(2)]), [202], "a repeated notification changes nothing");
        assert_eq!(hub_fixture.person.titles().len(), 2);
        assert_eq!(request_count(&hub_fixture.server, "/feed"), before);
        assert!(seconds_until(&description["NextDate"]) > 0);
    }
}

#[test]
fn the_secret_of_a_hub_is_stored_sealed() {
    let secret = HubFixture::new(HubMode::Good).subscribed().secret.unwrap();
    let holds = |path: &std::path::Path, text: &str| {
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    let files = std::fs::read_dir(fixture().folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| path.is_file()).collect();
    assert!(files.iter().any(|path| holds(path, "hub")), "the search covers the store");
    for path in &files {
        assert!(!holds(path, &secret), "{}", path.display());
    }
}

#[test]
fn only_signed_notifications_are_accepted() {
    let hub_fixture = HubFixture::new(HubMode::WrongSignature);
    let callback = target(&hub_fixture.subscribed());
    assert_eq!(hub_fixture.push(&[post(2)]), [202]);
    let zeros = format!("sha256={}", "0".repeat(64));
    for signature in
        [None, Some(""), Some("sha256="), Some("sha256=zz"), Some("md5=00"), Some(zeros.as_str())]
    {
        assert_eq!(hub_fixture.send(&callback, signature), 202, "{signature:?}");
    }
    assert_eq!(hub_fixture.person.titles(), ["Post 1"]);
}

#[test]
fn callbacks_reveal_no_unknown_subscriptions() {
    let hub_fixture = HubFixture::new(HubMode::Good);
    let subscription = hub_fixture.subscribed();
    let callback = target(&subscription);
    let unknown = format!("/websub/{}", "0".repeat(32));
    assert!(matches!(hub_fixture.send(&unknown, None), 404 | 410));
    assert_eq!(hub_fixture.send("/websub/x", None), 404);
    let request = |path: &str, query: &str| client().get(&format!("{path}?{query}"), &[]);
    let topic = encode(hub_fixture.topic());
    let challenge = "hub.challenge=%3Cscript%3E&hub.lease_seconds=1000";
    let verification = request(&callback, &format!("hub.mode=subscribe&hub.topic={topic}&{challenge}"));
    assert_eq!((verification.status, verification.text()), (200, "<script>"));
    assert!(verification.header("content-type").unwrap().starts_with("text/plain"));
    assert_eq!(verification.header("x-content-type-options"), Some("nosniff"));
    for (path, query) in [
        (&unknown, format!("hub.mode=subscribe&hub.topic={topic}&{challenge}")),
        (&callback, format!("hub.mode=subscribe&hub.topic=https%3A%2F%2Fother.example%2F&{challenge}")),
        (&callback, format!("hub.mode=unsubscribe&hub.topic={topic}&{challenge}")),
        (&callback, format!("hub.mode=publish&hub.topic={topic}&{challenge}")),
        (&callback, String::new()),
    ] {
        assert_eq!(request(path, &query).status, 404, "{path} {query}");
    }
    // After the last connection is removed, the service unsubscribes.
    let deleted =
        hub_fixture.person.request("DELETE", &hub_fixture.person.target("blog"), &serde_json::Value::Null);
    assert_eq!(deleted.status, 204);
    assert_eq!(hub_fixture.push(&[post(2)]), [410]);
    assert_eq!(hub_fixture.person.titles(), ["Post 1"]);
}

#[test]
fn a_denied_subscription_leaves_polling_on() {
    let hub_fixture = HubFixture::new(HubMode::Denies);
    assert_eq!(hub_fixture.subscribed().verified, Some(false));
    let description = hub_fixture.person.settled("blog");
    assert!(!description["Health"].as_str().unwrap().contains(HUB_HEALTH), "{description}");
    hub_fixture.publish(&[post(2), post(1)], false);
    assert_eq!(hub_fixture.person.check("blog"), 1);
    assert_eq!(hub_fixture.hub.subscriptions().len(), 1, "no immediate second subscription");
}

#[test]
fn a_subscription_is_renewed_before_it_ends() {
    // A lease that has already ended.
    let hub_fixture = HubFixture::with(HubMode::Good, Some(0), false);
    let first = hub_fixture.subscribed();
    // At the next poll: within a minute.
    let by = |next: &i64| (1..=75).contains(next);
    let next = wait_for(|| seconds_until(&hub_fixture.person.source("blog")["NextDate"]), by);
    assert!(by(&next), "{next} s");
    hub_fixture.hub.grant(864_000);
    hub_fixture.person.pause("blog", true);
    hub_fixture.person.pause("blog", false);
    let all = wait_for(|| hub_fixture.hub.subscriptions(), |all| all.len() > 1);
    assert_eq!(all.len(), 2);
    assert_eq!((&all[1].callback, &all[1].secret), (&first.callback, &first.secret));
    let health = wait_for(|| hub_fixture.person.health("blog"), |health| health.ends_with(HUB_HEALTH));
    assert!(health.ends_with(HUB_HEALTH), "{health}");
}

#[test]
fn a_silent_hub_is_not_relied_on() {
    let hub_fixture = HubFixture::new(HubMode::Good);
    hub_fixture.subscribed();
    hub_fixture.person.settled("blog");
    // With a working hub the feed is polled rarely.
    assert_eq!(hub_fixture.person.check("blog"), 0);
    let description = hub_fixture.person.source("blog");
    assert!(seconds_until(&description["NextDate"]) > 5 * HOUR, "{description}");
    let new = post(2).replace("2026-01-02", "2026-11-15");
    hub_fixture.publish(&[new.clone(), post(1)], false);
    assert_eq!(hub_fixture.person.check("blog"), 1);
    let description = hub_fixture.person.source("blog");
    assert!(seconds_until(&description["NextDate"]) < HOUR, "{description}");
    assert!(!description["Health"].as_str().unwrap().contains(HUB_HEALTH), "{description}");
    // After a new notification the hub is relied on again.
    assert_eq!(hub_fixture.push(&[post(3)]), [202]);
    let health = wait_for(|| hub_fixture.person.health("blog"), |health| health.ends_with(HUB_HEALTH));
    assert!(health.ends_with(HUB_HEALTH), "{health}");
}

#[test]
fn a_hub_that_notifies_too_often_gets_429() {
    let hub_fixture = HubFixture::new(HubMode::Good);
    let callback = target(&hub_fixture.subscribed());
    let statuses: Vec<u16> = (0..61).map(|_| hub_fixture.send(&callback, None)).collect();
    assert!(statuses[..60].iter().all(|status| *status == 202), "{statuses:?}");
    assert_eq!(statuses[60], 429);
    let late = client().send("POST", &callback, &[("Content-Type", "application/atom+xml")], b"<feed/>");
    assert!(late.header("retry-after").is_some());
}

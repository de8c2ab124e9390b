//! Hubs of WebSub tell of news: they are asked, answered, believed if they sign, and not relied on if they fall silent.

use super::super::support::client::Client;
use super::super::support::signer::encode;
use super::super::support::steal_adjusted_clock::StealAdjustedClock;
use super::stage::{Person, asked, atom, becomes, post, seconds_until, stage, url, wait_for};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::time::Duration;
use test_server::{CannedResponse, Hub, HubMode, RecordedSubscription, Server};

const HOUR: i64 = 3_600;
const TOLD: &str = " A hub sends updates immediately.";

/// A feed with a hub, and somebody who is connected to it.
struct Scene {
    server: Server,
    hub: Hub,
    person: Person,
}

/// Trusts the demo.
fn roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let file = stage().demo.told["ca_cert"].as_str().unwrap();
    for certificate in CertificateDer::pem_file_iter(file).unwrap() {
        roots.add(certificate.unwrap()).unwrap();
    }
    roots
}

fn client() -> &'static Client {
    &stage().demo.client
}

impl Scene {
    /// The feed says where its hub is.
    fn new(mode: HubMode) -> Scene {
        Scene::with(mode, None, false)
    }

    fn with(mode: HubMode, lease: Option<u64>, by_header: bool) -> Scene {
        let server = stage().server();
        let hub = Hub::open(&server, "/hub", mode, roots());
        if let Some(lease) = lease {
            hub.grant(lease);
        }
        let scene = Scene { server, hub, person: stage().person("hub") };
        scene.publish(&[post(1)], by_header);
        scene.person.connect("blog", &scene.topic());
        scene
    }

    fn topic(&self) -> String {
        url(&self.server, "/feed")
    }

    /// From now on that is in the feed.
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

    /// Waits until the hub was asked and has verified it.
    fn subscribed(&self) -> RecordedSubscription {
        let is_done =
            |all: &Vec<RecordedSubscription>| all.last().is_some_and(|last| last.verified.is_some());
        let mut all = wait_for(|| self.hub.subscriptions(), is_done);
        assert!(is_done(&all), "{all:?}");
        all.pop().unwrap()
    }

    fn push(&self, entries: &[String]) -> Vec<u16> {
        let feed = atom(entries);
        stage().runtime.block_on(self.hub.push(&self.topic(), "application/atom+xml", feed.as_bytes()))
    }

    /// Sends something to where the hub would.
    fn send(&self, callback: &str, signature: Option<&str>) -> u16 {
        let headers =
            [("Content-Type", "application/atom+xml"), ("X-Hub-Signature", signature.unwrap_or_default())];
        let headers = &headers[..1 + usize::from(signature.is_some())];
        client().send("POST", callback, headers, atom(&[post(66)]).as_bytes()).status
    }
}

/// The path of an address of the service.
fn target(subscription: &RecordedSubscription) -> String {
    subscription.callback.path().to_owned()
}

#[test]
fn what_a_hub_tells_is_there_at_once_and_nothing_is_fetched() {
    for by_header in [false, true] {
        let scene = Scene::with(HubMode::Good, None, by_header);
        let subscription = scene.subscribed();
        assert_eq!(subscription.verified, Some(true), "its challenge came back");
        assert_eq!((subscription.mode.as_str(), subscription.topic), ("subscribe", scene.topic()));
        assert!(subscription.callback.as_str().starts_with(&format!("{}/websub/", client().base)));
        assert!(subscription.secret.is_some_and(|secret| secret.len() >= 40));
        let said = scene.person.settled("blog");
        let health = wait_for(|| scene.person.health("blog"), |health| health.ends_with(TOLD));
        assert!(health.ends_with(TOLD), "{health}");
        let before = asked(&scene.server, "/feed");
        let started = StealAdjustedClock::now();
        assert_eq!(scene.push(&[post(2)]), [202]);
        becomes(vec!["Post 1".to_owned(), "Post 2".to_owned()], || scene.person.titles());
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
        assert_eq!(scene.push(&[post(2)]), [202], "told again it is the same");
        assert_eq!(scene.person.titles().len(), 2);
        assert_eq!(asked(&scene.server, "/feed"), before);
        assert!(seconds_until(&said["NextDate"]) > 0);
    }
}

#[test]
fn what_a_hub_signs_with_is_stored_sealed() {
    let secret = Scene::new(HubMode::Good).subscribed().secret.unwrap();
    let holds = |path: &std::path::Path, text: &str| {
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    let files = std::fs::read_dir(stage().folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| path.is_file()).collect();
    assert!(files.iter().any(|path| holds(path, "hub")), "the store is among them");
    for path in &files {
        assert!(!holds(path, &secret), "{}", path.display());
    }
}

#[test]
fn only_what_is_signed_is_believed() {
    let scene = Scene::new(HubMode::WrongSignature);
    let callback = target(&scene.subscribed());
    assert_eq!(scene.push(&[post(2)]), [202]);
    let zeros = format!("sha256={}", "0".repeat(64));
    for signature in
        [None, Some(""), Some("sha256="), Some("sha256=zz"), Some("md5=00"), Some(zeros.as_str())]
    {
        assert_eq!(scene.send(&callback, signature), 202, "{signature:?}");
    }
    assert_eq!(scene.person.titles(), ["Post 1"]);
}

#[test]
fn nobody_is_told_of_subscriptions_that_are_not() {
    let scene = Scene::new(HubMode::Good);
    let subscription = scene.subscribed();
    let callback = target(&subscription);
    let unknown = format!("/websub/{}", "0".repeat(32));
    assert!(matches!(scene.send(&unknown, None), 404 | 410));
    assert_eq!(scene.send("/websub/x", None), 404);
    let ask = |path: &str, query: &str| client().get(&format!("{path}?{query}"), &[]);
    let topic = encode(scene.topic());
    let challenge = "hub.challenge=%3Cscript%3E&hub.lease_seconds=1000";
    let wanted = ask(&callback, &format!("hub.mode=subscribe&hub.topic={topic}&{challenge}"));
    assert_eq!((wanted.status, wanted.text()), (200, "<script>"));
    assert!(wanted.header("content-type").unwrap().starts_with("text/plain"));
    assert_eq!(wanted.header("x-content-type-options"), Some("nosniff"));
    for (path, query) in [
        (&unknown, format!("hub.mode=subscribe&hub.topic={topic}&{challenge}")),
        (&callback, format!("hub.mode=subscribe&hub.topic=https%3A%2F%2Fother.example%2F&{challenge}")),
        (&callback, format!("hub.mode=unsubscribe&hub.topic={topic}&{challenge}")),
        (&callback, format!("hub.mode=publish&hub.topic={topic}&{challenge}")),
        (&callback, String::new()),
    ] {
        assert_eq!(ask(path, &query).status, 404, "{path} {query}");
    }
    // Once nobody is connected, the hub is told that it is over.
    let gone = scene.person.ask("DELETE", &scene.person.target("blog"), &serde_json::Value::Null);
    assert_eq!(gone.status, 204);
    assert_eq!(scene.push(&[post(2)]), [410]);
    assert_eq!(scene.person.titles(), ["Post 1"]);
}

#[test]
fn who_is_denied_goes_on_looking() {
    let scene = Scene::new(HubMode::Denies);
    assert_eq!(scene.subscribed().verified, Some(false));
    let said = scene.person.settled("blog");
    assert!(!said["Health"].as_str().unwrap().contains(TOLD), "{said}");
    scene.publish(&[post(2), post(1)], false);
    assert_eq!(scene.person.check("blog"), 1);
    assert_eq!(scene.hub.subscriptions().len(), 1, "it is not asked again at once");
}

#[test]
fn a_subscription_is_renewed_before_it_ends() {
    // A lease that is over as soon as it is there.
    let scene = Scene::with(HubMode::Good, Some(0), false);
    let first = scene.subscribed();
    // As soon as anything is looked at: in a minute.
    let by = |next: &i64| (1..=75).contains(next);
    let next = wait_for(|| seconds_until(&scene.person.source("blog")["NextDate"]), by);
    assert!(by(&next), "{next} s");
    scene.hub.grant(864_000);
    scene.person.pause("blog", true);
    scene.person.pause("blog", false);
    let all = wait_for(|| scene.hub.subscriptions(), |all| all.len() > 1);
    assert_eq!(all.len(), 2);
    assert_eq!((&all[1].callback, &all[1].secret), (&first.callback, &first.secret));
    let health = wait_for(|| scene.person.health("blog"), |health| health.ends_with(TOLD));
    assert!(health.ends_with(TOLD), "{health}");
}

#[test]
fn a_hub_that_keeps_news_to_itself_is_not_relied_on() {
    let scene = Scene::new(HubMode::Good);
    scene.subscribed();
    scene.person.settled("blog");
    // With the hub's word it is looked at rarely.
    assert_eq!(scene.person.check("blog"), 0);
    let said = scene.person.source("blog");
    assert!(seconds_until(&said["NextDate"]) > 5 * HOUR, "{said}");
    let new = post(2).replace("2026-01-02", "2026-11-15");
    scene.publish(&[new.clone(), post(1)], false);
    assert_eq!(scene.person.check("blog"), 1);
    let said = scene.person.source("blog");
    assert!(seconds_until(&said["NextDate"]) < HOUR, "{said}");
    assert!(!said["Health"].as_str().unwrap().contains(TOLD), "{said}");
    // Heard again, it is relied on again.
    assert_eq!(scene.push(&[post(3)]), [202]);
    let health = wait_for(|| scene.person.health("blog"), |health| health.ends_with(TOLD));
    assert!(health.ends_with(TOLD), "{health}");
}

#[test]
fn a_hub_that_tells_too_often_is_told_so() {
    let scene = Scene::new(HubMode::Good);
    let callback = target(&scene.subscribed());
    let statuses: Vec<u16> = (0..61).map(|_| scene.send(&callback, None)).collect();
    assert!(statuses[..60].iter().all(|status| *status == 202), "{statuses:?}");
    assert_eq!(statuses[60], 429);
    let late = client().send("POST", &callback, &[("Content-Type", "application/atom+xml")], b"<feed/>");
    assert!(late.header("retry-after").is_some());
}

//! WebSub hubs: subscriptions are requested and verified, notifications need a valid signature, and a silent hub is not
//! relied on.

use super::super::support::client::Client;
use super::super::support::signer::encode;
use super::super::support::steal_adjusted_clock::StealAdjustedClock;
use super::stage::{Person, asked, atom, becomes, post, seconds_until, stage, url, wait_for};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::time::Duration;
use test_server::{Answer, Hub, Mode, Server, Subscription};

const HOUR: i64 = 3_600;
const TOLD: &str = " A hub tells of news at once.";

/// A feed with a hub, and an account that is connected to it.
struct Scene {
    server: Server,
    hub: Hub,
    person: Person,
}

/// Trusts the demo's certificate.
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
    /// The feed itself names its hub.
    fn new(mode: Mode) -> Scene {
        Scene::with(mode, None, false)
    }

    fn with(mode: Mode, lease: Option<u64>, by_header: bool) -> Scene {
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

    /// Replaces the content of the feed.
    fn publish(&self, entries: &[String], by_header: bool) {
        let (hub, own) = (url(&self.server, "/hub"), self.topic());
        let feed = atom(entries);
        let answer = if by_header {
            Answer::feed(feed).with("Link", format!("<{hub}>; rel=\"hub\", <{own}>; rel=\"self\""))
        } else {
            let links = format!("<link rel=\"hub\" href=\"{hub}\"/><link rel=\"self\" href=\"{own}\"/>");
            Answer::feed(feed.replace("<title>A blog</title>", &format!("<title>A blog</title>{links}")))
        };
        self.server.on("/feed", answer);
    }

    /// Waits until the hub has verified the subscription.
    fn subscribed(&self) -> Subscription {
        let is_done = |all: &Vec<Subscription>| all.last().is_some_and(|last| last.verified.is_some());
        let mut all = wait_for(|| self.hub.subscriptions(), is_done);
        assert!(is_done(&all), "{all:?}");
        all.pop().unwrap()
    }

    fn push(&self, entries: &[String]) -> Vec<u16> {
        let feed = atom(entries);
        stage().runtime.block_on(self.hub.push(&self.topic(), "application/atom+xml", feed.as_bytes()))
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
fn target(subscription: &Subscription) -> String {
    subscription.callback.path().to_owned()
}

#[test]
fn a_hub_notification_is_imported_immediately_without_a_fetch() {
    for by_header in [false, true] {
        let scene = Scene::with(Mode::Good, None, by_header);
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
fn the_secret_of_a_hub_is_stored_sealed() {
    let secret = Scene::new(Mode::Good).subscribed().secret.unwrap();
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
fn only_signed_notifications_are_accepted() {
    let scene = Scene::new(Mode::WrongSignature);
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
fn callbacks_reveal_no_unknown_subscriptions() {
    let scene = Scene::new(Mode::Good);
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
    // After the last connection is removed, the service unsubscribes.
    let gone = scene.person.ask("DELETE", &scene.person.target("blog"), &serde_json::Value::Null);
    assert_eq!(gone.status, 204);
    assert_eq!(scene.push(&[post(2)]), [410]);
    assert_eq!(scene.person.titles(), ["Post 1"]);
}

#[test]
fn a_denied_subscription_leaves_polling_on() {
    let scene = Scene::new(Mode::Denies);
    assert_eq!(scene.subscribed().verified, Some(false));
    let said = scene.person.settled("blog");
    assert!(!said["Health"].as_str().unwrap().contains(TOLD), "{said}");
    scene.publish(&[post(2), post(1)], false);
    assert_eq!(scene.person.check("blog"), 1);
    assert_eq!(scene.hub.subscriptions().len(), 1, "it is not asked again at once");
}

#[test]
fn a_subscription_is_renewed_before_it_ends() {
    // A lease that has already ended.
    let scene = Scene::with(Mode::Good, Some(0), false);
    let first = scene.subscribed();
    // At the next poll: within a minute.
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
fn a_silent_hub_is_not_relied_on() {
    let scene = Scene::new(Mode::Good);
    scene.subscribed();
    scene.person.settled("blog");
    // With a working hub the feed is polled rarely.
    assert_eq!(scene.person.check("blog"), 0);
    let said = scene.person.source("blog");
    assert!(seconds_until(&said["NextDate"]) > 5 * HOUR, "{said}");
    let new = post(2).replace("2026-01-02", "2026-11-15");
    scene.publish(&[new.clone(), post(1)], false);
    assert_eq!(scene.person.check("blog"), 1);
    let said = scene.person.source("blog");
    assert!(seconds_until(&said["NextDate"]) < HOUR, "{said}");
    assert!(!said["Health"].as_str().unwrap().contains(TOLD), "{said}");
    // After a new notification the hub is relied on again.
    assert_eq!(scene.push(&[post(3)]), [202]);
    let health = wait_for(|| scene.person.health("blog"), |health| health.ends_with(TOLD));
    assert!(health.ends_with(TOLD), "{health}");
}

#[test]
fn a_hub_that_notifies_too_often_gets_429() {
    let scene = Scene::new(Mode::Good);
    let callback = target(&scene.subscribed());
    let statuses: Vec<u16> = (0..61).map(|_| scene.send(&callback, None)).collect();
    assert!(statuses[..60].iter().all(|status| *status == 202), "{statuses:?}");
    assert_eq!(statuses[60], 429);
    let late = client().send("POST", &callback, &[("Content-Type", "application/atom+xml")], b"<feed/>");
    assert!(late.header("retry-after").is_some());
}

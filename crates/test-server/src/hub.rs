//! A hub of WebSub.

use crate::behaviour::{Answer, Behaviour};
use crate::caller::Caller;
use crate::recorded_request::RecordedRequest;
use crate::server::Server;
use aws_lc_rs::hmac;
use rustls::RootCertStore;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;
use url::Url;

/// How a hub behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As it should.
    Good,
    /// It takes a subscription, and tells then that it is denied.
    Denies,
    /// It takes a subscription and is never heard of again.
    NeverVerifies,
    /// It signs with a secret that nobody gave it.
    WrongSignature,
}

/// What somebody wanted of the hub.
#[derive(Clone, Debug)]
pub struct Subscription {
    /// `subscribe` or `unsubscribe`.
    pub mode: String,
    /// Where to push.
    pub callback: Url,
    /// What.
    pub topic: String,
    /// To sign with.
    pub secret: Option<String>,
    /// For how long, in seconds.
    pub lease: u64,
    /// What came of verifying it; `None` until then.
    pub verified: Option<bool>,
}

/// A hub of WebSub, at one path of a server.
pub struct Hub {
    state: Arc<State>,
}

struct State {
    mode: Mode,
    caller: Caller,
    subscriptions: Mutex<Vec<Subscription>>,
    changed: Notify,
    challenges: AtomicU64,
    /// What it grants instead of what it is asked for, in seconds.
    granted: Mutex<Option<u64>>,
}

impl Hub {
    /// Opens a hub at a path. Its calls trust those authorities.
    pub fn open(server: &Server, path: &str, mode: Mode, roots: RootCertStore) -> Hub {
        let state = Arc::new(State {
            mode,
            caller: Caller::new(roots),
            subscriptions: Mutex::default(),
            changed: Notify::new(),
            challenges: AtomicU64::new(1),
            granted: Mutex::default(),
        });
        let taking = state.clone();
        server.on(path, Behaviour::By(Arc::new(move |asked| taking.clone().take(asked).into())));
        Hub { state }
    }

    /// From now on subscriptions hold for so many seconds, whatever they were asked for.
    pub fn grant(&self, seconds: u64) {
        *self.state.granted.lock().unwrap() = Some(seconds);
    }

    /// Everything that was wanted so far.
    pub fn subscriptions(&self) -> Vec<Subscription> {
        self.state.subscriptions.lock().unwrap().clone()
    }

    /// Waits until the last subscription is verified, or is not.
    pub async fn verified(&self) -> bool {
        loop {
            let changed = self.state.changed.notified();
            if let Some(verified) = self.subscriptions().last().and_then(|last| last.verified) {
                return verified;
            }
            changed.await;
        }
    }

    /// Pushes to everybody who is verified; gives the statuses of their answers.
    pub async fn push(&self, topic: &str, content_type: &str, body: &[u8]) -> Vec<u16> {
        let mut statuses = Vec::new();
        for subscription in self.current(topic) {
            let link = format!("<{topic}>; rel=\"self\"");
            let mut headers = vec![("Content-Type", content_type), ("Link", link.as_str())];
            let signature = subscription.secret.as_deref().map(|secret| self.state.sign(secret, body));
            headers.extend(signature.as_deref().map(|signature| ("X-Hub-Signature", signature)));
            let (status, _) =
                self.state.caller.call("POST", &subscription.callback, &headers, body).await.unwrap();
            statuses.push(status);
        }
        statuses
    }
}

impl Hub {
    /// Who is to be told about a topic: the last word of each callback counts.
    fn current(&self, topic: &str) -> Vec<Subscription> {
        let mut current: Vec<Subscription> = Vec::new();
        for word in self.subscriptions() {
            if word.topic == topic && word.verified == Some(true) {
                current.retain(|earlier| earlier.callback != word.callback);
                current.push(word);
            }
        }
        current.retain(|last| last.mode == "subscribe");
        current
    }
}

impl State {
    fn take(self: Arc<State>, asked: &RecordedRequest) -> Answer {
        let form = asked.form();
        let field = |name: &str| form.iter().find(|(field, _)| field == name).map(|(_, value)| value.clone());
        let (Some(mode), Some(topic), Some(callback)) = (
            field("hub.mode").filter(|mode| mode == "subscribe" || mode == "unsubscribe"),
            field("hub.topic"),
            field("hub.callback").and_then(|callback| Url::parse(&callback).ok()),
        ) else {
            return Answer::status(400);
        };
        let wanted = field("hub.lease_seconds").and_then(|lease| lease.parse().ok());
        let lease = self.granted.lock().unwrap().or(wanted).unwrap_or(864_000);
        let secret = field("hub.secret");
        let subscription = Subscription { mode, callback, topic, secret, lease, verified: None };
        let place = {
            let mut subscriptions = self.subscriptions.lock().unwrap();
            subscriptions.push(subscription.clone());
            subscriptions.len() - 1
        };
        if self.mode != Mode::NeverVerifies {
            tokio::spawn(async move {
                let verified = self.verify(&subscription).await;
                self.subscriptions.lock().unwrap()[place].verified = Some(verified);
                self.changed.notify_waiters();
            });
        }
        Answer::status(202)
    }

    /// Asks who is to be called whether that is wanted.
    async fn verify(&self, subscription: &Subscription) -> bool {
        let challenge = format!("challenge-{}", self.challenges.fetch_add(1, Ordering::Relaxed));
        let mut url = subscription.callback.clone();
        if self.mode == Mode::Denies {
            url.query_pairs_mut()
                .append_pair("hub.mode", "denied")
                .append_pair("hub.topic", &subscription.topic)
                .append_pair("hub.reason", "not for you");
            let _ = self.caller.call("GET", &url, &[], b"").await;
            return false;
        }
        url.query_pairs_mut()
            .append_pair("hub.mode", &subscription.mode)
            .append_pair("hub.topic", &subscription.topic)
            .append_pair("hub.challenge", &challenge)
            .append_pair("hub.lease_seconds", &subscription.lease.to_string());
        let answer = self.caller.call("GET", &url, &[], b"").await;
        answer.is_ok_and(|(status, body)| (200..300).contains(&status) && body == challenge.as_bytes())
    }

    fn sign(&self, secret: &str, body: &[u8]) -> String {
        let secret = if self.mode == Mode::WrongSignature { "a secret that nobody gave" } else { secret };
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), body);
        let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256={hex}")
    }
}

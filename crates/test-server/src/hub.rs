//! A WebSub hub.

use crate::behaviour::{Behaviour, CannedResponse};
use crate::caller::Caller;
use crate::recorded_request::RecordedRequest;
use crate::server::Server;
use aws_lc_rs::hmac;
use rustls::RootCertStore;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;
use url::Url;

/// The behaviour of a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubMode {
    /// Correct.
    Good,
    /// Accepts a subscription and then reports that it is denied.
    Denies,
    /// Accepts a subscription and never verifies it.
    NeverVerifies,
    /// Signs with a wrong secret.
    WrongSignature,
}

/// A recorded subscription request.
#[derive(Clone, Debug)]
pub struct RecordedSubscription {
    /// `subscribe` or `unsubscribe`.
    pub mode: String,
    /// The callback address.
    pub callback: Url,
    /// The topic.
    pub topic: String,
    /// The secret for signatures.
    pub secret: Option<String>,
    /// The lease in seconds.
    pub lease: u64,
    /// The result of the verification; `None` before it.
    pub verified: Option<bool>,
}

/// A WebSub hub at a path of a server.
pub struct Hub {
    state: Arc<State>,
}

struct State {
    mode: HubMode,
    caller: Caller,
    subscriptions: Mutex<Vec<RecordedSubscription>>,
    changed: Notify,
    challenges: AtomicU64,
    /// The granted lease in seconds, if it differs from the requested one.
    granted: Mutex<Option<u64>>,
}

impl Hub {
    /// Opens a hub at a path. Its requests trust these authorities.
    pub fn open(server: &Server, path: &str, mode: HubMode, roots: RootCertStore) -> Hub {
        let state = Arc::new(State {
            mode,
            caller: Caller::new(roots),
            subscriptions: Mutex::default(),
            changed: Notify::new(),
            challenges: AtomicU64::new(1),
            granted: Mutex::default(),
        });
        let hub_state = state.clone();
        server
            .on(path, Behaviour::Dynamic(Arc::new(move |request| hub_state.clone().accept(request).into())));
        Hub { state }
    }

    /// Grants this lease from now on, ignoring the requested one.
    pub fn grant(&self, seconds: u64) {
        *self.state.granted.lock().unwrap() = Some(seconds);
    }

    /// All subscription requests so far.
    pub fn subscriptions(&self) -> Vec<RecordedSubscription> {
        self.state.subscriptions.lock().unwrap().clone()
    }

    /// Waits until the last subscription is verified or rejected.
    pub async fn verified(&self) -> bool {
        loop {
            let changed = self.state.changed.notified();
            if let Some(verified) = self.subscriptions().last().and_then(|last| last.verified) {
                return verified;
            }
            changed.await;
        }
    }

    /// Notifies all verified subscribers and returns their statuses.
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
    /// The current subscriptions to a topic: the last verified request of each callback counts.
    fn current(&self, topic: &str) -> Vec<RecordedSubscription> {
        let mut current: Vec<RecordedSubscription> = Vec::new();
        for subscription in self.subscriptions() {
            if subscription.topic == topic && subscription.verified == Some(true) {
                current.retain(|earlier| earlier.callback != subscription.callback);
                current.push(subscription);
            }
        }
        current.retain(|last| last.mode == "subscribe");
        current
    }
}

impl State {
    fn accept(self: Arc<State>, request: &RecordedRequest) -> CannedResponse {
        let form = request.form();
        let field = |name: &str| form.iter().find(|(field, _)| field == name).map(|(_, value)| value.clone());
        let (Some(mode), Some(topic), Some(callback)) = (
            field("hub.mode").filter(|mode| mode == "subscribe" || mode == "unsubscribe"),
            field("hub.topic"),
            field("hub.callback").and_then(|callback| Url::parse(&callback).ok()),
        ) else {
            return CannedResponse::status(400);
        };
        let requested = field("hub.lease_seconds").and_then(|lease| lease.parse().ok());
        let lease = self.granted.lock().unwrap().or(requested).unwrap_or(864_000);
        let secret = field("hub.secret");
        let subscription = RecordedSubscription { mode, callback, topic, secret, lease, verified: None };
        let index = {
            let mut subscriptions = self.subscriptions.lock().unwrap();
            subscriptions.push(subscription.clone());
            subscriptions.len() - 1
        };
        if self.mode != HubMode::NeverVerifies {
            tokio::spawn(async move {
                let verified = self.verify(&subscription).await;
                self.subscriptions.lock().unwrap()[index].verified = Some(verified);
                self.changed.notify_waiters();
            });
        }
        CannedResponse::status(202)
    }

    /// Verifies the intent of the subscriber.
    async fn verify(&self, subscription: &RecordedSubscription) -> bool {
        let challenge = format!("challenge-{}", self.challenges.fetch_add(1, Ordering::Relaxed));
        let mut url = subscription.callback.clone();
        if self.mode == HubMode::Denies {
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
        let secret = if self.mode == HubMode::WrongSignature { "a wrong secret" } else { secret };
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), body);
        let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256={hex}")
    }
}

//! WebSub: a hub notifies the server of new items, so that the source is polled less often.
//!
//! A subscription is stored as a record beside its source, under a random identifier that is the last part of the
//! callback address. So notifications and polls never overwrite each other's state. Polls check whether the hub is
//! reliable: if a poll finds new items that the hub did not send, the source is polled as often as without a hub until
//! the next notification.

use super::hub_secret::HubSecret;
use super::poll::{MIN_POLL_INTERVAL, compare};
use super::source::Source;
use super::{Address, Sources};
use aws_lc_rs::hmac;
use feeds::Feed;
use fetcher::{Content, FetchResponse};
use model::{Millis, SourceId, Version};
use seal::{NoRandomness, SealError, random, random_text};
use serde::{Deserialize, Serialize};
use store::{Result, StoreError};
use url::Url;

/// The lease that is requested from hubs.
const LEASE_SECONDS: i64 = 10 * 24 * 3_600;
/// The maximum lease that is accepted from a hub.
const MAX_LEASE: i64 = 30 * 24 * 3_600 * 1_000;
/// How long a hub has to verify a request.
const VERIFICATION_TIMEOUT: i64 = 24 * 3_600 * 1_000;

/// A subscription at a hub.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Subscription {
    /// The source.
    source: SourceId,
    hub: Address,
    topic: String,
    /// The secret that the hub signs with.
    pub(super) secret: HubSecret,
    /// When the subscription was last requested.
    asked: Millis,
    /// Start and end of the lease.
    lease: Option<(Millis, Millis)>,
    /// A poll found new items that the hub did not send.
    quiet: bool,
}

/// The outcome of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotificationOutcome {
    /// The source has no connection left.
    Unwanted,
    /// The signature is wrong or the content is unreadable: ignored.
    Dropped,
    /// The number of created activities.
    Imported(u32),
}

impl Subscription {
    pub(super) fn read(stored: &store::Source) -> Result<Subscription> {
        serde_json::from_slice(&stored.state)
            .map_err(|error| StoreError::Corrupt(format!("subscription: {error}")))
    }

    pub(super) fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| StoreError::Corrupt(error.to_string()))
    }

    /// Whether the hub is active and reliable.
    pub(super) fn is_active(&self, now: Millis) -> bool {
        !self.quiet && self.lease.is_some_and(|(_, until)| until > now)
    }

    /// When to renew the subscription: after four fifths of the lease.
    pub(super) fn renew_at(&self) -> Millis {
        match self.lease {
            Some((since, until)) => Millis(since.0 + (until.0 - since.0) / 5 * 4),
            None => Millis(self.asked.0 + VERIFICATION_TIMEOUT),
        }
    }
}

impl Sources {
    async fn subscription(&self, id: SourceId) -> Result<Option<Subscription>> {
        let stored = self.store.source(id).await?;
        stored.map(|stored| Subscription::read(&stored)).transpose()
    }

    /// Changes a subscription by compare-and-set, or adds it. `change` gets the stored one, if any, and returns the next
    /// one, or `None` to change nothing. It may be called several times.
    async fn change_subscription(
        &self,
        id: SourceId,
        mut change: impl FnMut(Option<Subscription>) -> Option<Subscription>,
    ) -> Result<()> {
        let next = |stored: Option<&store::Source>| {
            let Some(subscription) = change(stored.map(Subscription::read).transpose()?) else {
                return Ok(None);
            };
            let state = subscription.to_bytes()?;
            Ok(Some(store::Source { id, version: Version::default(), shard: 0, due: None, state }))
        };
        let (store, now) = (self.store.as_ref(), self.clock.now());
        store::update::<store::Source, StoreError>(store, &id, now, next).await.map(drop)
    }

    /// The subscription of a source.
    pub(super) async fn subscription_of(&self, source: &Source) -> Result<Option<Subscription>> {
        let Some(id) = source.known.subscription else { return Ok(None) };
        self.subscription(id).await
    }

    /// Subscribes at the hub that a feed names, if there is no subscription or its lease ends soon. A failure is retried
    /// at a later poll; polling continues meanwhile.
    pub(super) async fn subscribe_if_offered(
        &self,
        source: &mut Source,
        feed: &Feed,
        answer: &FetchResponse,
    ) {
        let Some((hub, topic)) = offered(source, feed, answer) else { return };
        if let Err(error) = self.subscribe(source, hub, topic).await {
            tracing::warn!(%error, source = %source.id, "hub subscription not stored");
        }
    }

    async fn subscribe(&self, source: &mut Source, hub: Url, topic: String) -> Result<()> {
        let Some(base) = &self.base_url else { return Ok(()) };
        let now = self.clock.now();
        let known = match source.known.subscription {
            Some(id) => self.subscription(id).await?.map(|subscription| (id, subscription)),
            None => None,
        };
        let known = known.filter(|(_, subscription)| *subscription.hub == hub && subscription.topic == topic);
        // If the secret cannot be opened any longer, a new subscription is requested.
        let known = known.and_then(|(id, subscription)| {
            Some((id, subscription.secret.open(id, &self.secret_keys).ok()?, subscription))
        });
        if known.as_ref().is_some_and(|(.., subscription)| subscription.renew_at() > now) {
            return Ok(());
        }
        // A renewal keeps address and secret: the hub may send under the old lease while it verifies the new one.
        let (id, secret, subscription) = match known {
            Some(known) => known,
            None => {
                let id = SourceId(*random().map_err(no_randomness)?);
                let secret = random_text::<32>("").map_err(no_randomness)?;
                let sealed = HubSecret::seal(&secret, id, &self.secret_keys).map_err(not_sealed)?;
                let subscription = Subscription {
                    source: source.id,
                    hub: Address::from(hub),
                    topic,
                    secret: sealed,
                    asked: now,
                    lease: None,
                    quiet: false,
                };
                (id, secret, subscription)
            }
        };
        // Stored before the request: the hub may verify before it responds.
        let update = |stored: Option<Subscription>| {
            Some(Subscription { asked: now, ..stored.unwrap_or_else(|| subscription.clone()) })
        };
        self.change_subscription(id, update).await?;
        source.known.subscription = Some(id);
        let callback = callback(base, id);
        let lease = LEASE_SECONDS.to_string();
        let form = [
            ("hub.mode", "subscribe"),
            ("hub.topic", &subscription.topic),
            ("hub.callback", &callback),
            ("hub.lease_seconds", &lease),
            ("hub.secret", &secret),
        ];
        match self.fetcher.post_form(&subscription.hub, &form).await {
            Ok(answer) => {
                tracing::debug!(source = %source.id, status = answer.status, "hub subscription requested")
            }
            Err(failure) => tracing::debug!(source = %source.id, %failure, "hub subscription request failed"),
        }
        Ok(())
    }

    /// Unsubscribes from the hub of a source without connections.
    pub(super) async fn unsubscribe(&self, source: &mut Source) -> Result<()> {
        let Some(id) = source.known.subscription.take() else { return Ok(()) };
        let (Some(subscription), Some(base)) = (self.subscription(id).await?, &self.base_url) else {
            return Ok(());
        };
        let callback = callback(base, id);
        let form =
            [("hub.mode", "unsubscribe"), ("hub.topic", &subscription.topic), ("hub.callback", &callback)];
        // A hub that misses the request gets a 410 for its next notification.
        let _ = self.fetcher.post_form(&subscription.hub, &form).await;
        Ok(())
    }

    /// Marks the hub as unreliable, because a poll found new items that it did not send.
    pub(super) async fn mark_hub_quiet(&self, source: &Source) -> Result<()> {
        let Some(id) = source.known.subscription else { return Ok(()) };
        let now = self.clock.now();
        let is_quiet = |stored: Option<Subscription>| {
            stored
                .filter(|subscription| subscription.is_active(now))
                .map(|subscription| Subscription { quiet: true, ..subscription })
        };
        self.change_subscription(id, is_quiet).await
    }

    /// Verification of intent by a hub: whether the server requested this. If so, the response repeats the challenge.
    pub async fn verify(
        &self,
        id: SourceId,
        mode: &str,
        topic: &str,
        lease_seconds: Option<i64>,
    ) -> Result<bool> {
        let Some(subscription) = self.subscription(id).await? else { return Ok(mode == "unsubscribe") };
        if subscription.topic != topic {
            return Ok(false);
        }
        let now = self.clock.now();
        let is_wanted = self.is_wanted(subscription.source).await?;
        match mode {
            "subscribe" if is_wanted && now.0 - subscription.asked.0 < VERIFICATION_TIMEOUT => {
                let lease = lease_seconds.unwrap_or(LEASE_SECONDS).clamp(0, MAX_LEASE / 1_000) * 1_000;
                let lease = Some((now, Millis(now.0 + lease)));
                let update =
                    |stored: Option<Subscription>| Some(Subscription { lease, quiet: false, ..stored? });
                self.change_subscription(id, update).await?;
                let renew_at = Subscription { lease, ..subscription.clone() }.renew_at();
                self.poll_no_later_than(subscription.source, renew_at).await?;
                Ok(true)
            }
            "denied" => {
                let update = |stored: Option<Subscription>| Some(Subscription { lease: None, ..stored? });
                self.change_subscription(id, update).await?;
                Ok(true)
            }
            "unsubscribe" => Ok(!is_wanted),
            _ => Ok(false),
        }
    }

    /// Moves the next poll of a source forward, in time to renew its subscription.
    async fn poll_no_later_than(&self, id: SourceId, by: Millis) -> Result<()> {
        let by = Millis(by.0.max(self.clock.now().0 + MIN_POLL_INTERVAL));
        let update = |stored: Option<Source>| {
            let source = stored.filter(|source| source.due.is_some_and(|due| due > by))?;
            Some(Source { due: Some(by), ..source })
        };
        self.update_source(id, update).await.map(drop)
    }

    /// Whether a subscription with this identifier exists.
    pub async fn has_subscription(&self, id: SourceId) -> Result<bool> {
        Ok(self.subscription(id).await?.is_some())
    }

    /// Counts a notification against the hub's rate limit. `false` if it exceeds the limit.
    pub fn may_notify(&self, id: SourceId) -> bool {
        self.hub_budget.try_spend(id)
    }

    /// Handles a notification: imports new items if the signature is valid.
    pub async fn handle_notification(
        &self,
        id: SourceId,
        signature: Option<&str>,
        content_type: Option<&str>,
        body: &[u8],
    ) -> Result<NotificationOutcome> {
        let Some(subscription) = self.subscription(id).await? else {
            return Ok(NotificationOutcome::Unwanted);
        };
        let Some(signature) = signature else { return Ok(NotificationOutcome::Dropped) };
        let secret = subscription.secret.open(id, &self.secret_keys).map_err(not_sealed)?;
        if !is_signed(&secret, signature, body) {
            return Ok(NotificationOutcome::Dropped);
        }
        let Some(source) = self.source(subscription.source).await? else {
            return Ok(NotificationOutcome::Unwanted);
        };
        if self.store.connections_to(source.id, None, 1).await?.is_empty() {
            return Ok(NotificationOutcome::Unwanted);
        }
        let Ok(feed) = feeds::read(body, content_type, &source.known.address) else {
            return Ok(NotificationOutcome::Dropped);
        };
        let fetched = compare(&source, feed);
        // The source's state stays as of the last poll: a hub may send only a part of the feed.
        let imported = self.import_for_all(&source, &fetched, None).await?;
        if subscription.quiet {
            let update = |stored: Option<Subscription>| Some(Subscription { quiet: false, ..stored? });
            self.change_subscription(id, update).await?;
        }
        Ok(NotificationOutcome::Imported(imported))
    }
}

/// The hub that a feed names, and its topic there. Headers take precedence over the feed.
fn offered(source: &Source, feed: &Feed, answer: &FetchResponse) -> Option<(Url, String)> {
    let Content::Fresh { links, .. } = &answer.content else { return None };
    let links: Vec<_> = links.iter().flat_map(|header| feeds::links(header, &answer.url)).collect();
    let link_with = |rel: &str| links.iter().find(|link| link.rel == rel).map(|link| link.url.to_string());
    let hub = link_with("hub").or_else(|| feed.hubs.first().cloned())?;
    let topic = link_with("self").or_else(|| feed.own_address.clone());
    Some((Url::parse(&hub).ok()?, topic.unwrap_or_else(|| source.known.address.to_string())))
}

/// The callback address for a hub.
fn callback(base: &str, id: SourceId) -> String {
    format!("{base}/websub/{id}")
}

fn not_sealed(error: SealError) -> StoreError {
    StoreError::Corrupt(format!("hub secret cannot be opened (check secret_keys): {error}"))
}

fn no_randomness(none: NoRandomness) -> StoreError {
    StoreError::Unavailable(none.to_string())
}

/// Whether the signature (`sha256=…`) of the body is valid for this secret.
fn is_signed(secret: &str, signature: &str, body: &[u8]) -> bool {
    let Some((method, hex)) = signature.trim().split_once('=') else { return false };
    let algorithm = match method {
        "sha1" => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        "sha256" => hmac::HMAC_SHA256,
        "sha384" => hmac::HMAC_SHA384,
        "sha512" => hmac::HMAC_SHA512,
        _ => return false,
    };
    let digits: Option<Vec<u32>> = hex.chars().map(|digit| digit.to_digit(16)).collect();
    let Some(digits) = digits else { return false };
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes: Vec<u8> = pairs.iter().filter_map(|[high, low]| u8::try_from(high * 16 + low).ok()).collect();
    rest.is_empty() && hmac::verify(&hmac::Key::new(algorithm, secret.as_bytes()), body, &bytes).is_ok()
}

#[cfg(test)]
#[path = "websub_tests.rs"]
mod tests;

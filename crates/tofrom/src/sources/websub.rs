//! WebSub: a hub tells of a source's news, so that it need not be asked so often.
//!
//! A subscription is a record of its own beside its source, under an identifier that nobody can guess: it is the last
//! part of the address that the hub is given. So what a hub says and what a look finds are never written over each other.
//! Whether a hub is to be relied on, looks tell: if one finds news that the hub kept to itself, the source is asked as
//! often as if there were none, until the hub is heard again.

use super::hub_secret::HubSecret;
use super::poll::{LEAST_WAIT, compare};
use super::source::Source;
use super::{Address, Sources};
use crate::auth::{NoRandomness, SealError, random, random_text};
use aws_lc_rs::hmac;
use feeds::Feed;
use fetcher::{Content, FetchResponse};
use model::{Millis, SourceId, Version};
use serde::{Deserialize, Serialize};
use store::{Result, StoreError};
use url::Url;

/// How long a subscription is asked for.
const LEASE_SECONDS: i64 = 10 * 24 * 3_600;
/// The longest that a hub's word counts.
const LONGEST_LEASE: i64 = 30 * 24 * 3_600 * 1_000;
/// How long a hub has to verify what it was asked for.
const TO_VERIFY: i64 = 24 * 3_600 * 1_000;

/// What is known of a subscription.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Subscription {
    /// The source that it is about.
    source: SourceId,
    hub: Address,
    topic: String,
    /// What the hub signs with.
    pub(super) secret: HubSecret,
    /// When the hub was last asked.
    asked: Millis,
    /// Until when the hub will tell, and since when that holds.
    lease: Option<(Millis, Millis)>,
    /// A look found what the hub did not tell.
    quiet: bool,
}

/// What became of what a hub sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Nobody wants it any more.
    Nobody,
    /// It is not from the hub, or nothing that can be read: let go.
    Dropped,
    /// So many activities are new.
    Brought(u32),
}

impl Subscription {
    pub(super) fn read(stored: &store::Source) -> Result<Subscription> {
        serde_json::from_slice(&stored.state)
            .map_err(|error| StoreError::Corrupt(format!("subscription: {error}")))
    }

    pub(super) fn written(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| StoreError::Corrupt(error.to_string()))
    }

    /// Whether the hub can be relied on for now.
    pub(super) fn tells(&self, now: Millis) -> bool {
        !self.quiet && self.lease.is_some_and(|(_, until)| until > now)
    }

    /// When it is to be asked for again: when four fifths of its time are over.
    pub(super) fn renew_at(&self) -> Millis {
        match self.lease {
            Some((since, until)) => Millis(since.0 + (until.0 - since.0) / 5 * 4),
            None => Millis(self.asked.0 + TO_VERIFY),
        }
    }
}

impl Sources {
    async fn subscription(&self, id: SourceId) -> Result<Option<Subscription>> {
        let stored = self.store.source(id).await?;
        stored.map(|stored| Subscription::read(&stored)).transpose()
    }

    /// Changes a subscription by compare-and-set, or adds it. `change` gets the stored one, if there is one, and returns
    /// the next one, or `None` to leave everything as it is. It may be called several times.
    async fn change_subscription(
        &self,
        id: SourceId,
        mut change: impl FnMut(Option<Subscription>) -> Option<Subscription>,
    ) -> Result<()> {
        let next = |stored: Option<&store::Source>| {
            let Some(one) = change(stored.map(Subscription::read).transpose()?) else { return Ok(None) };
            let state = one.written()?;
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

    /// Asks the hub that a feed names, if it was not asked, or its time is almost over. What does not work is tried
    /// again at a later look: polling goes on all the same.
    pub(super) async fn subscribe_if_offered(
        &self,
        source: &mut Source,
        feed: &Feed,
        answer: &FetchResponse,
    ) {
        let Some((hub, topic)) = offered(source, feed, answer) else { return };
        if let Err(error) = self.subscribe(source, hub, topic).await {
            tracing::warn!(%error, source = %source.id, "a subscription could not be kept");
        }
    }

    async fn subscribe(&self, source: &mut Source, hub: Url, topic: String) -> Result<()> {
        let Some(base) = &self.base_url else { return Ok(()) };
        let now = self.clock.now();
        let known = match source.known.subscription {
            Some(id) => self.subscription(id).await?.map(|one| (id, one)),
            None => None,
        };
        let known = known.filter(|(_, one)| *one.hub == hub && one.topic == topic);
        // Where the key that sealed the secret is gone, the hub is asked anew.
        let known = known.and_then(|(id, one)| Some((id, one.secret.open(id, &self.secret_keys).ok()?, one)));
        if known.as_ref().is_some_and(|(.., one)| one.renew_at() > now) {
            return Ok(());
        }
        // A renewal keeps address and secret: the hub may send by the old lease while it verifies the new one.
        let (id, secret, one) = match known {
            Some(known) => known,
            None => {
                let id = SourceId(*random().map_err(no_randomness)?);
                let secret = random_text::<32>("").map_err(no_randomness)?;
                let sealed = HubSecret::seal(&secret, id, &self.secret_keys).map_err(not_sealed)?;
                let one = Subscription {
                    source: source.id,
                    hub: Address::from(hub),
                    topic,
                    secret: sealed,
                    asked: now,
                    lease: None,
                    quiet: false,
                };
                (id, secret, one)
            }
        };
        // Kept first: the hub may verify before it answers.
        let asks = |stored: Option<Subscription>| {
            Some(Subscription { asked: now, ..stored.unwrap_or_else(|| one.clone()) })
        };
        self.change_subscription(id, asks).await?;
        source.known.subscription = Some(id);
        let callback = callback(base, id);
        let lease = LEASE_SECONDS.to_string();
        let form = [
            ("hub.mode", "subscribe"),
            ("hub.topic", &one.topic),
            ("hub.callback", &callback),
            ("hub.lease_seconds", &lease),
            ("hub.secret", &secret),
        ];
        match self.fetcher.post_form(&one.hub, &form).await {
            Ok(answer) => tracing::debug!(source = %source.id, status = answer.status, "asked a hub"),
            Err(failure) => tracing::debug!(source = %source.id, %failure, "a hub could not be asked"),
        }
        Ok(())
    }

    /// Tells the hub that nobody wants a source any more.
    pub(super) async fn unsubscribe(&self, source: &mut Source) -> Result<()> {
        let Some(id) = source.known.subscription.take() else { return Ok(()) };
        let (Some(one), Some(base)) = (self.subscription(id).await?, &self.base_url) else {
            return Ok(());
        };
        let callback = callback(base, id);
        let form = [("hub.mode", "unsubscribe"), ("hub.topic", &one.topic), ("hub.callback", &callback)];
        // If it does not hear it, it is told 410 when it sends.
        let _ = self.fetcher.post_form(&one.hub, &form).await;
        Ok(())
    }

    /// Notes what a look found that the hub had not told.
    pub(super) async fn note_untold(&self, source: &Source) -> Result<()> {
        let Some(id) = source.known.subscription else { return Ok(()) };
        let now = self.clock.now();
        let is_quiet = |stored: Option<Subscription>| {
            stored.filter(|one| one.tells(now)).map(|one| Subscription { quiet: true, ..one })
        };
        self.change_subscription(id, is_quiet).await
    }

    /// A hub asks whether it was asked. Whether it was; then it is to be told its own challenge.
    pub async fn verify(
        &self,
        id: SourceId,
        mode: &str,
        topic: &str,
        lease_seconds: Option<i64>,
    ) -> Result<bool> {
        let Some(one) = self.subscription(id).await? else { return Ok(mode == "unsubscribe") };
        if one.topic != topic {
            return Ok(false);
        }
        let now = self.clock.now();
        let is_wanted = self.is_wanted(one.source).await?;
        match mode {
            "subscribe" if is_wanted && now.0 - one.asked.0 < TO_VERIFY => {
                let lease = lease_seconds.unwrap_or(LEASE_SECONDS).clamp(0, LONGEST_LEASE / 1_000) * 1_000;
                let lease = Some((now, Millis(now.0 + lease)));
                let tells =
                    |stored: Option<Subscription>| Some(Subscription { lease, quiet: false, ..stored? });
                self.change_subscription(id, tells).await?;
                let renew_at = Subscription { lease, ..one.clone() }.renew_at();
                self.come_again_by(one.source, renew_at).await?;
                Ok(true)
            }
            "denied" => {
                let ends = |stored: Option<Subscription>| Some(Subscription { lease: None, ..stored? });
                self.change_subscription(id, ends).await?;
                Ok(true)
            }
            "unsubscribe" => Ok(!is_wanted),
            _ => Ok(false),
        }
    }

    /// Has a source outcome at in time to ask its hub again.
    async fn come_again_by(&self, id: SourceId, by: Millis) -> Result<()> {
        let by = Millis(by.0.max(self.clock.now().0 + LEAST_WAIT));
        let comes = |stored: Option<Source>| {
            let source = stored.filter(|source| source.due.is_some_and(|due| due > by))?;
            Some(Source { due: Some(by), ..source })
        };
        self.update_source(id, comes).await.map(drop)
    }

    /// Whether there is a subscription with that identifier.
    pub async fn has_subscription(&self, id: SourceId) -> Result<bool> {
        Ok(self.subscription(id).await?.is_some())
    }

    /// Whether a hub may tell of news now, or does so too often.
    pub fn may_tell(&self, id: SourceId) -> bool {
        self.told.once_more(id)
    }

    /// A hub tells of news: brings it, if it is signed as it was agreed.
    pub async fn told(
        &self,
        id: SourceId,
        signature: Option<&str>,
        content_type: Option<&str>,
        body: &[u8],
    ) -> Result<Told> {
        let Some(one) = self.subscription(id).await? else { return Ok(Told::Nobody) };
        let Some(signature) = signature else { return Ok(Told::Dropped) };
        let secret = one.secret.open(id, &self.secret_keys).map_err(not_sealed)?;
        if !is_signed(&secret, signature, body) {
            return Ok(Told::Dropped);
        }
        let Some(source) = self.source(one.source).await? else { return Ok(Told::Nobody) };
        if self.store.connections_to(source.id, None, 1).await?.is_empty() {
            return Ok(Told::Nobody);
        }
        let Ok(feed) = feeds::read(body, content_type, &source.known.address) else {
            return Ok(Told::Dropped);
        };
        let fetched = compare(&source, feed);
        // What the source had at the last look is left as it is: a hub may send only a part of it.
        let imported = self.bring_to_all(&source, &fetched, None).await?;
        if one.quiet {
            let tells = |stored: Option<Subscription>| Some(Subscription { quiet: false, ..stored? });
            self.change_subscription(id, tells).await?;
        }
        Ok(Told::Brought(imported))
    }
}

/// The hub that a feed names, and what the hub knows the feed by: the headers count before the feed.
fn offered(source: &Source, feed: &Feed, answer: &FetchResponse) -> Option<(Url, String)> {
    let Content::Fresh { links, .. } = &answer.content else { return None };
    let links: Vec<_> = links.iter().flat_map(|header| feeds::links(header, &answer.url)).collect();
    let of = |rel: &str| links.iter().find(|link| link.rel == rel).map(|link| link.url.to_string());
    let hub = of("hub").or_else(|| feed.hubs.first().cloned())?;
    let topic = of("self").or_else(|| feed.own_address.clone());
    Some((Url::parse(&hub).ok()?, topic.unwrap_or_else(|| source.known.address.to_string())))
}

/// Where a hub tells its news.
fn callback(base: &str, id: SourceId) -> String {
    format!("{base}/websub/{id}")
}

fn not_sealed(error: SealError) -> StoreError {
    StoreError::Corrupt(format!("the secret of a hub, see secret_keys: {error}"))
}

fn no_randomness(none: NoRandomness) -> StoreError {
    StoreError::Unavailable(none.to_string())
}

/// Whether a signature (`sha256=…`) of a body was made with that secret.
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

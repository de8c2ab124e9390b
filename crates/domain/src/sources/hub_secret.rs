//! Secrets that hubs sign with. They are stored sealed, like those of applications.

use super::websub::Subscription;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use model::{Clock, SourceId};
use seal::{Resealed, SealError, SecretKeys};
use serde::{Deserialize, Serialize};
use store::Store;
use zeroize::Zeroizing;

/// The number of records read in one page.
const PAGE: usize = 500;

/// The stored secret of a subscription: sealed, in base64.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct HubSecret(String);

/// Why sealing the secrets again failed. It can be repeated at any time.
#[derive(Debug, thiserror::Error)]
pub enum ResealError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::StoreError),
    /// None of the keys opens a secret.
    #[error("cannot open the secret of {0}: {1}. Add the key that sealed it to secret_keys")]
    Sealed(String, SealError),
}

/// Binds a sealed secret to its subscription, so that it cannot be moved to another one.
fn context(id: SourceId) -> String {
    format!("websub-secret {id}")
}

impl HubSecret {
    /// Seals the secret of a subscription with the first key.
    pub(super) fn seal(plain: &str, id: SourceId, keys: &SecretKeys) -> Result<HubSecret, SealError> {
        Ok(HubSecret(BASE64_STANDARD.encode(keys.seal(plain.as_bytes(), &context(id))?)))
    }

    /// Opens the secret.
    pub(super) fn open(&self, id: SourceId, keys: &SecretKeys) -> Result<Zeroizing<String>, SealError> {
        let sealed = BASE64_STANDARD.decode(&self.0).map_err(|_| SealError::NotOurs)?;
        let plain = keys.open(&sealed, &context(id))?;
        let plain = std::str::from_utf8(&plain).map_err(|_| SealError::NotOurs)?;
        Ok(Zeroizing::new(plain.to_owned()))
    }

    fn is_newest(&self, keys: &SecretKeys) -> bool {
        BASE64_STANDARD.decode(&self.0).is_ok_and(|sealed| keys.is_newest(&sealed))
    }
}

/// Seals the secrets of all subscriptions with the first key.
pub async fn reseal(store: &dyn Store, clock: &Clock, keys: &SecretKeys) -> Result<Resealed, ResealError> {
    let mut done = Resealed::default();
    let mut after = None;
    loop {
        let page = store.list_sources(after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(done) };
        after = Some(last.id);
        // Sources are stored beside subscriptions and have no secret.
        for id in page
            .iter()
            .filter(|subscription| Subscription::read(subscription).is_ok())
            .map(|subscription| subscription.id)
        {
            done.count(reseal_one(store, clock, keys, id).await?);
        }
    }
}

/// Whether it was resealed: not if the first key sealed it already.
async fn reseal_one(
    store: &dyn Store,
    clock: &Clock,
    keys: &SecretKeys,
    id: SourceId,
) -> Result<bool, ResealError> {
    let mut resealed = false;
    let seal_error = |error| ResealError::Sealed(format!("subscription {id}"), error);
    let update = |stored: Option<&store::Source>| {
        resealed = false;
        let Some(stored) = stored else { return Ok(None) };
        let mut subscription = Subscription::read(stored)?;
        if subscription.secret.is_newest(keys) {
            return Ok(None);
        }
        let plain = subscription.secret.open(id, keys).map_err(seal_error)?;
        subscription.secret = HubSecret::seal(&plain, id, keys).map_err(seal_error)?;
        resealed = true;
        Ok(Some(store::Source { state: subscription.to_bytes()?, ..stored.clone() }))
    };
    store::update::<store::Source, ResealError>(store, &id, clock.now(), update).await?;
    Ok(resealed)
}

//! Secrets that hubs sign with. They are stored sealed, as those of applications are.

use super::websub::Subscription;
use crate::auth::reseal::{ResealError, Resealed};
use crate::auth::{SealError, SecretKeys};
use crate::clock::Clock;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use model::SourceId;
use serde::{Deserialize, Serialize};
use store::Store;
use zeroize::Zeroizing;

/// Sources that are read together.
const PAGE: usize = 500;

/// The secret of a subscription as it is stored: sealed, in base64.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct HubSecret(String);

/// OwnerContext a sealed secret to its subscription, so that one can't be put in another's place.
fn context(id: SourceId) -> String {
    format!("websub-secret {id}")
}

impl HubSecret {
    /// Seals the secret of a subscription with the first key.
    pub(super) fn seal(plain: &str, id: SourceId, keys: &SecretKeys) -> Result<HubSecret, SealError> {
        Ok(HubSecret(BASE64_STANDARD.encode(keys.seal(plain.as_bytes(), &context(id))?)))
    }

    /// The secret itself.
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
        // Sources are kept beside subscriptions and have no secret.
        for id in page.iter().filter(|one| Subscription::read(one).is_ok()).map(|one| one.id) {
            done.count(reseal_one(store, clock, keys, id).await?);
        }
    }
}

/// Whether it was sealed anew: not if the first key sealed it already.
async fn reseal_one(
    store: &dyn Store,
    clock: &Clock,
    keys: &SecretKeys,
    id: SourceId,
) -> Result<bool, ResealError> {
    let mut anew = false;
    let wrong = |error| ResealError::Sealed(format!("subscription {id}"), error);
    let seals = |stored: Option<&store::Source>| {
        anew = false;
        let Some(stored) = stored else { return Ok(None) };
        let mut one = Subscription::read(stored)?;
        if one.secret.is_newest(keys) {
            return Ok(None);
        }
        let plain = one.secret.open(id, keys).map_err(wrong)?;
        one.secret = HubSecret::seal(&plain, id, keys).map_err(wrong)?;
        anew = true;
        Ok(Some(store::Source { state: one.written()?, ..stored.clone() }))
    };
    store::update::<store::Source, ResealError>(store, &id, clock.now(), seals).await?;
    Ok(anew)
}

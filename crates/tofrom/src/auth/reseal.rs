//! The end of a rotation: every secret that is kept is sealed with the newest key, so that the old ones can go.

use super::seal::{SealError, SecretKeys};
use super::{application, oauth};
use store::{Secret, Store, StoreError};

/// How many tokens are looked at in one go.
const PAGE: usize = 500;

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resealed {
    /// Secrets that were sealed anew.
    pub anew: u64,
    /// Secrets that were looked at.
    pub all: u64,
}

/// Why it was not done to the end. It can be begun again at any time.
#[derive(Debug, thiserror::Error)]
pub enum ResealError {
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// None of the keys opens a secret.
    #[error("the secret of {0}: {1}; the key that sealed it must be among secret_keys")]
    Sealed(String, SealError),
}

/// Seals the secrets of all applications and access tokens with the first key (those of hubs are
/// [theirs](crate::sources::reseal)), a revoked token's too: whoever signs
/// with it is told that it was revoked. Temporary credentials are gone within minutes anyway.
pub async fn reseal(store: &dyn Store, keys: &SecretKeys) -> Result<Resealed, ResealError> {
    let mut done = Resealed::default();
    for found in store.applications().await? {
        let context = application::context(&found.key);
        done.count(one(store, keys, Secret::Application(found.key), &found.sealed_secret, &context).await?);
    }
    let mut after = None;
    loop {
        let page = store.list_tokens(after.as_deref(), PAGE).await?;
        let Some(last) = page.last() else { return Ok(done) };
        after = Some(last.key.clone());
        for found in page {
            let context = oauth::token_context(&found.key);
            done.count(one(store, keys, Secret::Token(found.key), &found.sealed_secret, &context).await?);
        }
    }
}

/// Whether the keys open what is kept: the secrets of all applications, and of the first access tokens.
pub async fn check_opens(store: &dyn Store, keys: &SecretKeys) -> Result<(), ResealError> {
    let opens = |key: String, sealed: &[u8], context: &str| {
        keys.open(sealed, context).map(drop).map_err(|error| ResealError::Sealed(key, error))
    };
    for found in store.applications().await? {
        let context = application::context(&found.key);
        opens(found.key, &found.sealed_secret, &context)?;
    }
    for found in store.list_tokens(None, PAGE).await? {
        let context = oauth::token_context(&found.key);
        opens(found.key, &found.sealed_secret, &context)?;
    }
    Ok(())
}

impl Resealed {
    /// One more was looked at.
    pub(crate) fn count(&mut self, anew: bool) {
        self.all += 1;
        self.anew += u64::from(anew);
    }
}

/// Whether it was sealed anew: not if the first key sealed it already, nor if somebody else just did so.
async fn one(
    store: &dyn Store,
    keys: &SecretKeys,
    which: Secret,
    sealed: &[u8],
    context: &str,
) -> Result<bool, ResealError> {
    if keys.is_newest(sealed) {
        return Ok(false);
    }
    let (Secret::Application(name) | Secret::Token(name)) = &which;
    let wrong = |error| ResealError::Sealed(name.clone(), error);
    let plain = keys.open(sealed, context).map_err(wrong)?;
    let anew = keys.seal(&plain, context).map_err(wrong)?;
    Ok(store.reseal(&which, sealed, &anew).await?)
}

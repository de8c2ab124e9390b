//! Completes a key rotation: seals every stored secret with the newest key, so that old keys can be removed.

use super::{application, oauth, second_factor};
use model::SecondFactor;
use seal::{Resealed, SealError, SecretKeys};
use store::{Secret, Store, StoreError, update};

/// Tokens or accounts read per page.
const PAGE: usize = 500;

/// Why a run failed. It can be repeated at any time.
#[derive(Debug, thiserror::Error)]
pub enum ResealError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// None of the keys opens a secret.
    #[error("cannot open the secret of {0}: {1}. Add the key that sealed it to secret_keys")]
    Sealed(String, SealError),
}

/// Seals the secrets of all applications, access tokens and second factors with the first key, also those of revoked tokens: a request
/// signed with one gets the error that it was revoked. The secrets of hubs are sealed separately. Temporary credentials expire within minutes.
pub async fn reseal(store: &dyn Store, keys: &SecretKeys) -> Result<Resealed, ResealError> {
    let mut done = Resealed::default();
    for found in store.applications().await? {
        let context = application::context(&found.key);
        done.count(
            reseal_secret(store, keys, Secret::Application(found.key), &found.sealed_secret, &context)
                .await?,
        );
    }
    let mut after = None;
    loop {
        let page = store.list_tokens(after.as_deref(), PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.key.clone());
        for found in page {
            let context = oauth::token_context(&found.key);
            done.count(
                reseal_secret(store, keys, Secret::Token(found.key), &found.sealed_secret, &context).await?,
            );
        }
    }
    reseal_second_factors(store, keys, &mut done).await?;
    Ok(done)
}

async fn reseal_second_factors(
    store: &dyn Store,
    keys: &SecretKeys,
    done: &mut Resealed,
) -> Result<(), ResealError> {
    let mut after = None;
    loop {
        let page = store.list_accounts(after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.uid);
        for account in page {
            let context = second_factor::context(account.uid);
            let Some(factor) = store.second_factor(account.uid).await? else { continue };
            let Some(sealed) = factor.sealed_secret else { continue };
            if keys.is_newest(&sealed) {
                done.count(false);
                continue;
            }
            let wrong = |error| ResealError::Sealed(format!("the second factor of {}", account.name), error);
            let anew = keys.seal(&keys.open(&sealed, &context).map_err(wrong)?, &context).map_err(wrong)?;
            let replace = |stored: Option<&SecondFactor>| -> Result<_, StoreError> {
                // One that was changed meanwhile has the newest key.
                let same = stored.filter(|factor| factor.sealed_secret.as_ref() == Some(&sealed));
                Ok(same.map(|factor| SecondFactor { sealed_secret: Some(anew.clone()), ..factor.clone() }))
            };
            // The version of a state need not be the time.
            update(store, &account.uid, model::Millis(factor.version.0), replace).await?;
            done.count(true);
        }
    }
}

/// Checks that the keys open the secrets of all applications, and of the first page of access tokens.
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

/// Seals one secret with the first key. `false`: it already was, or another process just did so.
async fn reseal_secret(
    store: &dyn Store,
    keys: &SecretKeys,
    secret: Secret,
    sealed: &[u8],
    context: &str,
) -> Result<bool, ResealError> {
    if keys.is_newest(sealed) {
        return Ok(false);
    }
    let (Secret::Application(name) | Secret::Token(name)) = &secret;
    let wrong = |error| ResealError::Sealed(name.clone(), error);
    let plain = keys.open(sealed, context).map_err(wrong)?;
    let anew = keys.seal(&plain, context).map_err(wrong)?;
    Ok(store.reseal(&secret, sealed, &anew).await?)
}

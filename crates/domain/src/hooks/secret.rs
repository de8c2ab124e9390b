//! The secrets that sign deliveries, stored sealed.

use super::hook::Hook;
use crate::sources::ResealError;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use model::{Clock, HookId, Millis, Uid};
use seal::{NoRandomness, Resealed, SealError, SecretKeys, random};
use serde::{Deserialize, Serialize};
use store::{SHARDS, Store};
use zeroize::Zeroizing;

/// What a secret begins with, by the Standard Webhooks specification.
const PREFIX: &str = "whsec_";
/// How long the secret before a rotation still signs, in milliseconds.
const OVERLAP: i64 = 24 * 60 * 60 * 1_000;
/// The maximum number of secrets that sign, however often they are rotated.
const MAX_SECRETS: usize = 5;
/// Hooks read in one page.
const PAGE: usize = 500;

/// A stored secret: sealed, in base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SealedSecret {
    sealed: String,
    /// It signs until then; `None` for the newest.
    #[serde(default)]
    until: Option<Millis>,
}

/// Binds a sealed secret to its hook, so that it cannot be moved to another one.
fn context(id: HookId) -> String {
    format!("hook-secret {id}")
}

/// A new secret.
pub(super) fn generate() -> Result<Zeroizing<[u8; 32]>, NoRandomness> {
    random::<32>()
}

/// The text of a secret, as its owner sees it once.
pub(super) fn text(secret: &[u8]) -> Zeroizing<String> {
    // The capacity suffices: a string that grows would leave copies of the secret in memory.
    let mut text = Zeroizing::new(String::with_capacity(PREFIX.len() + secret.len() * 2));
    text.push_str(PREFIX);
    BASE64_STANDARD.encode_string(secret, &mut text);
    text
}

impl SealedSecret {
    pub(super) fn seal(plain: &[u8], id: HookId, keys: &SecretKeys) -> Result<SealedSecret, SealError> {
        Ok(SealedSecret { sealed: BASE64_STANDARD.encode(keys.seal(plain, &context(id))?), until: None })
    }

    fn open(&self, id: HookId, keys: &SecretKeys) -> Result<Zeroizing<Vec<u8>>, SealError> {
        let sealed = BASE64_STANDARD.decode(&self.sealed).map_err(|_| SealError::NotOurs)?;
        keys.open(&sealed, &context(id))
    }

    fn is_newest(&self, keys: &SecretKeys) -> bool {
        BASE64_STANDARD.decode(&self.sealed).is_ok_and(|sealed| keys.is_newest(&sealed))
    }
}

/// The secrets after a rotation: the new one, and those that still sign for a day.
pub(super) fn rotated(new: SealedSecret, before: &[SealedSecret], now: Millis) -> Vec<SealedSecret> {
    let until = Some(Millis(now.0.saturating_add(OVERLAP)));
    let before = before.iter().filter(|secret| secret.until.is_none_or(|until| until > now)).cloned();
    let before = before.map(|secret| SealedSecret { until: secret.until.or(until), ..secret });
    [new].into_iter().chain(before).take(MAX_SECRETS).collect()
}

/// The secrets that sign now, the newest first.
pub(super) fn open_all(
    hook: &Hook,
    keys: &SecretKeys,
    now: Millis,
) -> Result<Vec<Zeroizing<Vec<u8>>>, SealError> {
    let signs = |secret: &&SealedSecret| secret.until.is_none_or(|until| until > now);
    hook.config.secrets.iter().filter(signs).map(|secret| secret.open(hook.id, keys)).collect()
}

/// Seals the secrets of all hooks with the first key.
pub async fn reseal(store: &dyn Store, clock: &Clock, keys: &SecretKeys) -> Result<Resealed, ResealError> {
    let mut done = Resealed::default();
    for shard in 0..SHARDS {
        let mut after = None;
        loop {
            let page = store.hooks_in(shard, after, PAGE).await?;
            for listed in &page {
                reseal_one(store, clock, keys, (listed.owner, listed.name.clone()), &mut done).await?;
            }
            let Some(last) = page.last().filter(|_| page.len() == PAGE) else { break };
            after = Some((last.owner, last.name.clone()));
        }
    }
    Ok(done)
}

async fn reseal_one(
    store: &dyn Store,
    clock: &Clock,
    keys: &SecretKeys,
    key: (Uid, String),
    done: &mut Resealed,
) -> Result<(), ResealError> {
    let mut resealed = Vec::new();
    let update = |stored: Option<&store::Hook>| {
        resealed.clear();
        let Some(mut hook) = stored.map(Hook::read).transpose()?.flatten() else { return Ok(None) };
        let failed = |error| ResealError::Sealed(format!("hook {}", hook.name), error);
        let mut secrets = Vec::new();
        for secret in &hook.config.secrets {
            let anew = !secret.is_newest(keys);
            resealed.push(anew);
            secrets.push(match anew {
                true => {
                    let plain = secret.open(hook.id, keys).map_err(failed)?;
                    let sealed = SealedSecret::seal(&plain, hook.id, keys).map_err(failed)?;
                    SealedSecret { until: secret.until, ..sealed }
                }
                false => secret.clone(),
            });
        }
        hook.config.secrets = secrets;
        Ok(Some(hook.to_stored()?))
    };
    store::update::<store::Hook, ResealError>(store, &key, clock.now(), update).await?;
    resealed.into_iter().for_each(|anew| done.count(anew));
    Ok(())
}

//! OAuth 1.0a (RFC 5849): an application acts for an account without its password.
//!
//! `grants` implements the three steps to an access token, `callback` checks callback addresses. This module verifies
//! signed requests and caches access tokens.

pub mod callback;
mod grants;

pub use super::refusal::{Refusal, SignatureBase};
pub use grants::{Issued, PendingGrant};
pub use oauth1::encode;

use super::application::{self, Applications};
use super::last_use::LastUse;
use super::{AuthError, CREDENTIAL_CACHE_TTL, OAuthSettings, Shared};
use model::{AccessToken, Account, Application, Millis};
use moka::sync::Cache;
use oauth1::{Secrets, SignatureMethod, Signed};
use seal::SecretKeys;
use std::net::IpAddr;
use std::sync::Arc;
use store::{Nonce, Store};

/// Allowed difference between a request's timestamp and the server's clock, in seconds.
const WINDOW: u64 = 300;

/// How long a nonce is stored after its timestamp, in seconds: until every server refuses the timestamp, and as long
/// again to allow for clock differences.
const NONCE_TTL: u64 = 2 * WINDOW;

/// Authenticates applications by signature, and grants them access.
pub struct OAuth {
    shared: Shared,
    applications: Arc<Applications>,
    secret_keys: Arc<SecretKeys>,
    tokens: Tokens,
    settings: OAuthSettings,
}

/// The account, application and token of a signed request.
pub(super) struct TokenAccess {
    pub(super) account: Arc<Account>,
    pub(super) application: Arc<Application>,
    pub(super) token: Arc<AccessToken>,
}

impl OAuth {
    pub(super) fn new(
        shared: Shared,
        applications: Arc<Applications>,
        secret_keys: Arc<SecretKeys>,
        settings: OAuthSettings,
    ) -> OAuth {
        let tokens = Tokens::new(Arc::clone(&shared.store));
        OAuth { shared, applications, secret_keys, tokens, settings }
    }

    /// Authenticates a request that is signed with an access token.
    pub(super) async fn open(&self, signed: &Signed, remote: IpAddr) -> Result<TokenAccess, AuthError> {
        let application = self.consumer(signed, remote).await?;
        let key = signed.token().ok_or(Refusal::Absent("oauth_token"))?;
        let token = self.tokens.get(key).await?.filter(|token| token.consumer == application.key);
        let Some(token) = token else {
            return Err(self.wrong(Refusal::TokenRejected, remote));
        };
        let secret = self.secret_keys.open(&token.sealed_secret, &token_context(&token.key))?;
        self.verify(signed, &application, &secret, remote).await?;
        // Only a caller with a valid signature learns whether the token was revoked or has expired.
        let now = self.shared.clock.now();
        let account = self.shared.accounts.get_in_epoch(token.owner, token.epoch).await?;
        let Some(account) = account.filter(|account| account.may_act() && !token.is_ended(account)) else {
            return Err(Refusal::TokenRevoked.into());
        };
        if !token.is_live(now) {
            return Err(Refusal::TokenExpired.into());
        }
        self.tokens.record_use(&token, now);
        Ok(TokenAccess { account, application, token })
    }

    /// The current state of the token's account, if the token is still valid.
    pub(super) async fn revalidate(&self, token: &AccessToken) -> Result<Option<Arc<Account>>, AuthError> {
        let now = self.shared.clock.now();
        let Some(token) = self.tokens.get(&token.key).await?.filter(|token| token.is_live(now)) else {
            return Ok(None);
        };
        if self.applications.live(&token.consumer).await?.is_none() {
            return Ok(None);
        }
        let account = self.shared.accounts.get_in_epoch(token.owner, token.epoch).await?;
        Ok(account.filter(|account| account.may_act() && !token.is_ended(account)))
    }

    /// Revokes an access token, on this server immediately.
    pub async fn revoke(&self, token: &AccessToken) -> Result<(), AuthError> {
        self.shared.store.revoke_token(&token.key, self.shared.clock.now()).await?;
        self.tokens.forget(&token.key);
        Ok(())
    }

    /// The application of a signed request.
    async fn consumer(&self, signed: &Signed, remote: IpAddr) -> Result<Arc<Application>, AuthError> {
        match self.applications.live(signed.consumer_key()).await? {
            Some(application) => Ok(application),
            None => Err(self.wrong(Refusal::UnknownConsumer, remote)),
        }
    }

    /// Checks timestamp, signature and nonce, in this order: the cheap check first, and the nonce last, so that only a
    /// valid request claims a nonce.
    async fn verify(
        &self,
        signed: &Signed,
        application: &Application,
        token_secret: &[u8],
        remote: IpAddr,
    ) -> Result<(), AuthError> {
        let seconds = u64::try_from(self.shared.clock.now().0 / 1_000).unwrap_or(0);
        signed.check_timestamp(seconds, WINDOW).map_err(Refusal::from)?;
        if signed.signature_method() == SignatureMethod::RsaSha1 && application.rsa_key.is_none() {
            return Err(Refusal::NoRsaKey.into());
        }
        let consumer_secret = application::secret(application, &self.secret_keys)?;
        let secrets = Secrets {
            consumer: &consumer_secret,
            token: token_secret,
            rsa_key: application.rsa_key.as_deref(),
        };
        if signed.verify(&secrets).is_err() {
            return Err(self.wrong(Refusal::SignatureInvalid(SignatureBase::of(signed)), remote));
        }
        self.claim_nonce(signed).await
    }

    async fn claim_nonce(&self, signed: &Signed) -> Result<(), AuthError> {
        // A PLAINTEXT signature is the secret itself: an attacker who can replay it could also sign a new request.
        if signed.signature_method() == SignatureMethod::Plaintext {
            return Ok(());
        }
        let (Some(timestamp), Some(text)) = (signed.timestamp(), signed.nonce()) else {
            return Err(Refusal::Absent("oauth_nonce").into());
        };
        let end = timestamp.saturating_add(NONCE_TTL).saturating_mul(1_000);
        let nonce = Nonce {
            hash: nonce_hash(signed.consumer_key(), signed.token().unwrap_or_default(), timestamp, text),
            until: Millis(i64::try_from(end).unwrap_or(i64::MAX)),
        };
        if self.shared.store.claim_nonce(&nonce).await? { Ok(()) } else { Err(Refusal::NonceUsed.into()) }
    }

    /// Counts a wrong credential for its address, and returns the refusal or the throttling error.
    fn wrong(&self, refusal: Refusal, remote: IpAddr) -> AuthError {
        match self.shared.throttle.wrong_key(remote) {
            Ok(()) => refusal.into(),
            Err(exhausted) => exhausted.into(),
        }
    }
}

/// Binds a sealed secret to its token, so that it does not open for another one.
pub(super) fn token_context(key: &str) -> String {
    format!("access-token-secret {key}")
}

/// A cache of access tokens.
struct Tokens {
    store: Arc<dyn Store>,
    cache: Cache<String, Arc<AccessToken>>,
    /// Tokens that changed recently on this server. They bypass the cache, because a concurrent read may still insert
    /// the old state.
    changed: Cache<String, ()>,
    uses: LastUse<String>,
}

impl Tokens {
    fn new(store: Arc<dyn Store>) -> Tokens {
        let cache = Cache::builder().max_capacity(100_000).time_to_live(CREDENTIAL_CACHE_TTL).build();
        let changed = Cache::builder().max_capacity(100_000).time_to_live(2 * CREDENTIAL_CACHE_TTL).build();
        Tokens { store, cache, changed, uses: LastUse::new() }
    }

    async fn get(&self, key: &str) -> store::Result<Option<Arc<AccessToken>>> {
        if self.changed.contains_key(key) {
            return Ok(self.store.token(key).await?.map(Arc::new));
        }
        if let Some(token) = self.cache.get(key) {
            return Ok(Some(token));
        }
        let found = self.store.token(key).await?.map(Arc::new);
        if let Some(token) = &found {
            self.cache.insert(key.to_owned(), Arc::clone(token));
        }
        Ok(found)
    }

    /// Removes a changed token from the cache.
    fn forget(&self, key: &str) {
        self.changed.insert(key.to_owned(), ());
        self.cache.invalidate(key);
    }

    /// Records the use of the token: in the background, at most once per interval.
    fn record_use(&self, token: &AccessToken, now: Millis) {
        if self.uses.is_due(token.key.clone(), token.used, now) {
            let (store, key) = (Arc::clone(&self.store), token.key.clone());
            tokio::spawn(async move {
                if let Err(error) = store.touch_token(&key, now).await {
                    tracing::warn!(%error, token = %key, "last use of token not recorded");
                }
            });
        }
    }
}

/// A hash of 16 bytes over consumer, token, timestamp and nonce.
fn nonce_hash(consumer: &str, token: &str, timestamp: u64, text: &str) -> [u8; 16] {
    let mut all = Vec::with_capacity(consumer.len() + token.len() + text.len() + 24);
    all.extend_from_slice(&timestamp.to_be_bytes());
    // Length prefixes make the encoding unambiguous.
    for part in [consumer, token] {
        all.extend_from_slice(&part.len().to_be_bytes());
        all.extend_from_slice(part.as_bytes());
    }
    all.extend_from_slice(text.as_bytes());
    let (mut hash, digest) = ([0; 16], seal::sha256(&all));
    hash.iter_mut().zip(digest).for_each(|(target, byte)| *target = byte);
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_hash_depends_on_every_part() {
        let first = nonce_hash("app", "token", 7, "nonce");
        assert_eq!(first, nonce_hash("app", "token", 7, "nonce"));
        for other in [
            nonce_hash("appt", "oken", 7, "nonce"),
            nonce_hash("app", "tokenn", 7, "once"),
            nonce_hash("app", "", 7, "nonce"),
            nonce_hash("app", "token", 8, "nonce"),
        ] {
            assert_ne!(first, other);
        }
    }
}

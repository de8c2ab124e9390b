//! Authentication: turns a request with exactly one credential ([`credentials_of`] reads it) into a [`Principal`], or
//! rejects it with an [`AuthError`]. Authorisation is not decided here.
//!
//! - `basic`, `key` and `oauth` each check one kind of credential; `throttle` limits guesses at all of them.
//! - `application` looks up the applications that act for accounts.
//! - `session` keeps browsers signed in on pages; `familiar` recognises browsers and networks of earlier sign-ins.
//! - `sign_up`, `password_change` and `ticket` give people accounts and new passwords.
//!
//! No cache outlives a change by more than seconds: accounts, keys and applications have a short TTL, and a cached
//! password check counts only for the account's present password. Misses are not cached, so a new account or key works
//! immediately.

pub mod application;
mod basic;
mod error;
mod familiar;
mod hashing;
pub mod key;
mod key_file;
mod last_use;
pub mod oauth;
pub mod password;
mod password_change;
mod presented_credential;
mod primitives;
mod principal;
mod queue;
pub mod reseal;
mod revoke;
mod seal;
pub mod session;
mod sign_up;
mod throttle;
pub mod ticket;

pub use error::AuthError;
pub use familiar::FAMILIAR_TTL;
pub use key_file::KeyFileError;
pub use password_change::{PasswordChangeError, PasswordResetError};
pub use presented_credential::{Credential, PresentedCredential, credentials_of, is_secret_in_headers};
pub use primitives::NoRandomness;
pub(crate) use primitives::{random, random_text};
pub use principal::{Method, Principal};
pub use seal::{SealError, SecretKeys};
pub use sign_up::SignUpError;

use crate::accounts::AccountCache;
use crate::clock::Clock;
use application::Applications;
use basic::{Origin, Passwords};
use familiar::Familiar;
use http::{HeaderMap, HeaderValue};
use key::Keys;
use model::{AccessToken, Account, Application, Purpose, Scopes, Session, Ticket, Uid};
use oauth::{Issued, OAuth, PendingGrant, Refusal};
use oauth1::Signed;
use session::{Sessions, SignedIn};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use throttle::Throttle;
use zeroize::Zeroizing;

/// TTL of cached keys, tokens and applications: how long a revoked one may still work on another server.
const CREDENTIAL_CACHE_TTL: Duration = Duration::from_secs(3);

/// Settings of authentication.
#[derive(Clone, Copy, Debug, Default)]
pub struct AuthSettings {
    /// Whether every request must send a consumer key.
    pub require_consumer_key: bool,
    /// Whether people may sign up without an invitation.
    pub open_registration: bool,
    /// Settings of OAuth.
    pub oauth: OAuthSettings,
}

/// Settings of OAuth.
#[derive(Clone, Copy, Debug, Default)]
pub struct OAuthSettings {
    /// Lifetime of access tokens. `None`: forever.
    pub token_lifetime: Option<Duration>,
}

/// The parts of a request that authentication needs.
pub struct AuthRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// Scheme, host and port of the public address. Signatures cover it, never the Host header.
    pub origin: &'a str,
    /// The path as it was sent, including the prefix of the base address.
    pub path: &'a str,
    /// The query as it was sent.
    pub query: &'a [u8],
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The body, if it is a form.
    pub form: Option<&'a [u8]>,
    /// The client's address.
    pub remote: IpAddr,
}

impl<'a> AuthRequest<'a> {
    /// A plain GET with these headers, for callers that need the headers only.
    pub fn plain(headers: &'a HeaderMap, remote: IpAddr) -> AuthRequest<'a> {
        let (method, origin, path) = ("GET", "https://tofrom.invalid", "/");
        AuthRequest { method, origin, path, query: &[], headers, form: None, remote }
    }

    fn as_signed(&self, authorization: Option<&'a HeaderValue>) -> oauth1::Request<'a> {
        oauth1::Request {
            method: self.method,
            origin: self.origin,
            path: self.path,
            query: self.query,
            authorization: authorization.map(HeaderValue::as_bytes),
            form: self.form,
        }
    }
}

/// A browser that signs in.
#[derive(Clone, Copy, Debug)]
pub struct Browser<'a> {
    /// Its `User-Agent`.
    pub agent: &'a str,
    /// Its address.
    pub remote: IpAddr,
    /// Its cookie from earlier sign-ins.
    pub familiar: Option<&'a str>,
}

/// The cookies of a browser after a sign-in.
pub struct Cookies {
    /// The session cookie.
    pub session: Zeroizing<String>,
    /// The cookie that makes the browser familiar.
    pub familiar: String,
}

/// An authenticated request.
pub struct Authenticated {
    /// The caller.
    pub principal: Principal,
    /// Its signature, if it was signed. The caller must still check the body against it.
    pub signed: Option<Box<Signed>>,
}

/// Authenticates requests.
pub struct Authenticator {
    store: Arc<dyn Store>,
    accounts: AccountCache,
    clock: Clock,
    passwords: Passwords,
    keys: Keys,
    applications: Arc<Applications>,
    secret_keys: Arc<SecretKeys>,
    oauth: OAuth,
    sessions: Sessions,
    throttle: Arc<Throttle>,
    familiar: Arc<Familiar>,
    settings: AuthSettings,
}

impl Authenticator {
    /// An authenticator for the store's accounts, keys, applications, tokens and sessions.
    pub fn new(
        store: Arc<dyn Store>,
        accounts: AccountCache,
        clock: Clock,
        secret_keys: Arc<SecretKeys>,
        settings: AuthSettings,
    ) -> Authenticator {
        let throttle = Arc::new(Throttle::new(clock.clone()));
        let applications = Arc::new(Applications::new(Arc::clone(&store)));
        let familiar = Arc::new(Familiar::new(Arc::clone(&store), clock.clone(), &secret_keys));
        Authenticator {
            passwords: Passwords::new(
                Arc::clone(&store),
                accounts.clone(),
                Arc::clone(&throttle),
                Arc::clone(&familiar),
            ),
            keys: Keys::new(Arc::clone(&store), accounts.clone(), Arc::clone(&throttle), clock.clone()),
            sessions: Sessions::new(Arc::clone(&store), accounts.clone(), clock.clone()),
            oauth: OAuth::new(
                Arc::clone(&store),
                accounts.clone(),
                Arc::clone(&applications),
                Arc::clone(&throttle),
                clock.clone(),
                Arc::clone(&secret_keys),
                settings.oauth,
            ),
            secret_keys,
            applications,
            throttle,
            familiar,
            settings,
            store,
            accounts,
            clock,
        }
    }

    /// Messages about wrong credentials, to broadcast to the other servers, so that all count guesses together.
    pub fn wrong_credentials(&self) -> tokio::sync::mpsc::Receiver<Vec<u8>> {
        self.throttle.outgoing()
    }

    /// Counts a wrong credential that another server broadcast.
    pub fn count_remote_failure(&self, message: &[u8]) {
        self.throttle.count_remote(message);
    }

    /// Authenticates a request. The credential is checked before the consumer key, so that a caller without a valid
    /// credential learns nothing about consumer keys.
    pub async fn authenticate(&self, request: &AuthRequest<'_>) -> Result<Authenticated, AuthError> {
        let PresentedCredential { credential, consumer } = credentials_of(request)?;
        let consumer = consumer.as_deref();
        let (account, method, scopes) = match credential {
            Credential::Basic { name, password } => {
                let account = self.passwords.open(&name, &password, Origin::program(request.remote)).await?;
                (account, Method::Basic, Scopes::ReadWrite)
            }
            Credential::Psk(text) => {
                let (account, key) = self.keys.open(&text, request.remote).await?;
                let scopes = key.scopes;
                (account, Method::Psk(key), scopes)
            }
            Credential::OAuth(signed) => {
                let opened = self.oauth.open(&signed, request.remote).await?;
                if consumer.is_some_and(|named| named != opened.application.key) {
                    return Err(AuthError::TwoConsumers);
                }
                let principal = Principal {
                    account: opened.account,
                    scopes: opened.token.scopes,
                    method: Method::OAuth(opened.token),
                    consumer: Some(opened.application),
                };
                return Ok(Authenticated { principal, signed: Some(signed) });
            }
        };
        let consumer = self.consumer(consumer).await?;
        let principal = Principal { account, method, scopes, consumer };
        Ok(Authenticated { principal, signed: None })
    }

    /// Checks whether the credential of an earlier request is still valid. Returns the principal with the account's
    /// current state.
    pub async fn revalidate(&self, principal: &Principal) -> Result<Option<Principal>, AuthError> {
        let account = match &principal.method {
            Method::Basic => self.passwords.revalidate(&principal.account).await?,
            Method::Psk(key) => self.keys.revalidate(key).await?,
            Method::OAuth(token) => self.oauth.revalidate(token).await?,
            Method::Session(cookie) => self.sessions.open(cookie).await?.map(|person| person.account),
        };
        Ok(account.map(|account| Principal { account, ..principal.clone() }))
    }

    /// The first step of OAuth: a signed request for temporary credentials.
    pub async fn request_token(&self, request: &AuthRequest<'_>, body: &[u8]) -> Result<Issued, AuthError> {
        self.oauth.request_token(&*signature_of(request, body)?, request.remote).await
    }

    /// The last step of OAuth: a signed request for an access token.
    pub async fn exchange(&self, request: &AuthRequest<'_>, body: &[u8]) -> Result<Issued, AuthError> {
        self.oauth.exchange(&*signature_of(request, body)?, request.remote).await
    }

    /// The grant that a temporary token asks for, if it is still undecided.
    pub async fn pending_grant(&self, temporary: &str) -> Result<Option<PendingGrant>, AuthError> {
        self.oauth.pending_grant(temporary).await
    }

    /// Allows the grant of a temporary token. Returns the verifier, or `None` if the grant was already decided.
    pub async fn allow(&self, temporary: &str, by: &Account) -> Result<Option<String>, AuthError> {
        self.oauth.allow(temporary, by).await
    }

    /// Refuses the grant of a temporary token. `false`: it was already decided.
    pub async fn refuse(&self, temporary: &str) -> Result<bool, AuthError> {
        self.oauth.refuse(temporary).await
    }

    /// Revokes an access token.
    pub async fn revoke(&self, token: &AccessToken) -> Result<(), AuthError> {
        self.oauth.revoke(token).await
    }

    /// Signs a browser in.
    pub async fn sign_in(
        &self,
        name: &str,
        password: &str,
        browser: &Browser<'_>,
    ) -> Result<Cookies, AuthError> {
        let account = self.passwords.open(name, password, Origin::browser(browser)).await?;
        if let Some(hash) = self.passwords.rehash(&account, password, browser.remote).await {
            // The new hash replaces only the hash that was checked. If that fails, the next sign-in tries again.
            let is_unchanged = |stored: &Account| stored.password == account.password;
            if let Err(error) = self.set_password(account.uid, hash, is_unchanged).await {
                tracing::warn!(reason = error.reason(), "password rehash not stored");
            }
        }
        self.start_session(&account, browser).await
    }

    /// Checks the password of the signed-in account.
    pub async fn check_password(
        &self,
        person: &SignedIn,
        password: &str,
        remote: IpAddr,
    ) -> Result<(), AuthError> {
        let name = person.account.name.as_str();
        self.passwords.open(name, password, Origin::session(remote)).await.map(drop)
    }

    /// Starts a session, and makes the browser and its network familiar to the account.
    async fn start_session(&self, account: &Account, browser: &Browser<'_>) -> Result<Cookies, AuthError> {
        let session = self.sessions.start(account, browser.agent).await?;
        self.familiar.record(account.uid, browser.remote);
        Ok(Cookies { session, familiar: self.familiar.cookie(account.uid, browser.familiar) })
    }

    /// The live application with that consumer key. Cached for seconds.
    pub async fn application(&self, key: &str) -> Result<Option<Arc<Application>>, AuthError> {
        Ok(self.applications.live(key).await?)
    }

    /// Seals an application's secret for the store.
    pub fn seal(&self, generated: &application::GeneratedConsumer) -> Result<Vec<u8>, SealError> {
        generated.sealed_secret(&self.secret_keys)
    }

    /// The person signed in with that session cookie.
    pub async fn signed_in(&self, cookie: &str) -> Result<Option<SignedIn>, AuthError> {
        self.sessions.open(cookie).await
    }

    /// Ends the session with that cookie.
    pub async fn sign_out(&self, cookie: &str) -> Result<(), AuthError> {
        self.sessions.end(cookie).await
    }

    /// The account's live sessions, newest first.
    pub async fn sessions_of(&self, account: &Account) -> Result<Vec<Session>, AuthError> {
        self.sessions.of(account).await
    }

    /// Ends the account's session with that [`session::public_id`]. `false`: there is none.
    pub async fn end_session_of(&self, account: &Account, id: &str) -> Result<bool, AuthError> {
        self.sessions.end_of(account, id).await
    }

    /// Creates an invitation. Returns the text for the link, and the stored ticket.
    pub async fn invite(&self, by: Option<Uid>) -> Result<(Zeroizing<String>, Ticket), AuthError> {
        self.make_ticket(Purpose::Invitation, by).await
    }

    /// Creates a ticket for a password reset. Returns the text for the link, and the stored ticket.
    pub async fn reset_link(
        &self,
        uid: Uid,
        by: Option<Uid>,
    ) -> Result<(Zeroizing<String>, Ticket), AuthError> {
        self.make_ticket(Purpose::Reset(uid), by).await
    }

    /// The ticket with that text, if it is neither used nor expired.
    pub async fn ticket(&self, text: &str) -> Result<Option<Ticket>, AuthError> {
        let Some(hash) = ticket::hash_of(text) else { return Ok(None) };
        let now = self.clock.now();
        Ok(self.store.ticket(&hash).await?.filter(|ticket| now < ticket.expires))
    }

    async fn make_ticket(
        &self,
        purpose: Purpose,
        by: Option<Uid>,
    ) -> Result<(Zeroizing<String>, Ticket), AuthError> {
        let (text, ticket) = ticket::generate(purpose, by, self.clock.now())?;
        self.store.add_ticket(&ticket).await?;
        Ok((text, ticket))
    }

    /// Number of passwords hashed since the start.
    pub fn hashes_computed(&self) -> u64 {
        self.passwords.hashes_computed()
    }

    async fn consumer(&self, key: Option<&str>) -> Result<Option<Arc<Application>>, AuthError> {
        match key {
            Some(key) => match self.applications.live(key).await? {
                Some(application) => Ok(Some(application)),
                None => Err(AuthError::UnknownConsumer),
            },
            None if self.settings.require_consumer_key => Err(AuthError::ConsumerMissing),
            None => Ok(None),
        }
    }
}

/// The signature of a request that must be signed.
fn signature_of(request: &AuthRequest<'_>, body: &[u8]) -> Result<Box<Signed>, AuthError> {
    match credentials_of(request)?.credential {
        Credential::OAuth(signed) => {
            signed.check_body(body).map_err(|_| Refusal::BodyChanged)?;
            Ok(signed)
        }
        _ => {
            Err(AuthError::Malformed("This step of OAuth takes only a request that the application signed."))
        }
    }
}

#[cfg(test)]
mod tests;

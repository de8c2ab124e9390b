//! Who asks. A request comes in with exactly one credential ([`credentials_of`] reads it) and goes on with a
//! [`Principal`], or not at all ([`AuthError`]).
//!
//! `basic`, `key` and `oauth` each know one kind of credential, `throttle` stands before guesses at any of them, and
//! `application` knows the programs that people use. `session` is for pages: people who signed in with a browser;
//! `familiar` knows browsers and networks that signed in before, and `joining`, `changing` and `ticket` are how they get accounts and new passwords. What a caller may then see or do is not
//! decided here.
//!
//! Nothing in this room is remembered longer than it may count after a change: accounts, keys and applications for
//! seconds, and a remembered password only together with the account as it is. Only what was found is remembered, so
//! a new account or key works at once.

pub mod application;
mod basic;
mod changing;
mod error;
mod familiar;
mod hashing;
mod joining;
pub mod key;
mod key_file;
mod last_use;
pub mod oauth;
pub mod password;
mod presented_credential;
mod primitives;
mod principal;
mod queue;
pub mod reseal;
mod revoking;
mod seal;
pub mod session;
mod throttle;
pub mod ticket;

pub use changing::{PasswordChange, PasswordReset};
pub use error::AuthError;
pub use familiar::FAMILIAR_TTL;
pub use joining::Joining;
pub use key_file::KeyFileError;
pub use presented_credential::{Credential, PresentedCredential, credentials_of, is_secret_in_headers};
pub use primitives::NoRandomness;
pub(crate) use primitives::{random, random_text};
pub use principal::{Method, Principal};
pub use seal::{SealError, SecretKeys};

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

/// How long a revoked key or a removed application may still count on a node that did not change it.
const CHANGES_COUNT_AFTER: Duration = Duration::from_secs(3);

/// What an installation decides about authentication.
#[derive(Clone, Copy, Debug, Default)]
pub struct AuthSettings {
    /// Whether every request must name its application.
    pub require_consumer_key: bool,
    /// Whether people may make accounts without an invitation.
    pub open_registration: bool,
    /// About OAuth.
    pub oauth: OAuthSettings,
}

/// What an installation decides about OAuth.
#[derive(Clone, Copy, Debug, Default)]
pub struct OAuthSettings {
    /// How long access tokens live; for ever if nothing is said.
    pub token_lifetime: Option<Duration>,
}

/// A request as far as it matters for who sent it.
pub struct AuthRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// The public address of the service, scheme, host and port: signatures are over it, never over the Host header.
    pub origin: &'a str,
    /// The path as it was sent, with whatever the service is below.
    pub path: &'a str,
    /// The query as it was sent.
    pub query: &'a [u8],
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The body, if it is a form.
    pub form: Option<&'a [u8]>,
    /// Where it comes from.
    pub remote: IpAddr,
}

impl<'a> AuthRequest<'a> {
    /// A GET of nothing in particular, with these headers: for whoever is interested in headers only.
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
    /// What it calls itself.
    pub agent: &'a str,
    /// Where it is.
    pub remote: IpAddr,
    /// The cookie by which it is familiar to accounts that signed in with it before.
    pub familiar: Option<&'a str>,
}

/// The cookies of a browser after a sign-in.
pub struct Cookies {
    /// Of the session.
    pub session: Zeroizing<String>,
    /// By which the browser is familiar from now on.
    pub familiar: String,
}

/// A request whose sender is known.
pub struct Authenticated {
    /// Who sent it.
    pub principal: Principal,
    /// Its signature, if it was signed: the body may still have to be compared.
    pub signed: Option<Box<Signed>>,
}

/// Finds out who asks.
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
    /// One that knows the store's accounts, keys, applications, tokens and sessions.
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

    /// What other processes are to be told of wrong credentials, so that guesses are counted together.
    pub fn wrong_credentials(&self) -> tokio::sync::mpsc::Receiver<Vec<u8>> {
        self.throttle.tell_others()
    }

    /// Another process told of a wrong credential.
    pub fn heard_of_wrong_credential(&self, told: &[u8]) {
        self.throttle.heard(told);
    }

    /// Who sends a request. The credential is looked at before the application: who has no right one learns nothing
    /// about consumer keys.
    pub async fn authenticate(&self, asking: &AuthRequest<'_>) -> Result<Authenticated, AuthError> {
        let PresentedCredential { credential, consumer } = credentials_of(asking)?;
        let consumer = consumer.as_deref();
        let (account, method, scopes) = match credential {
            Credential::Basic { name, password } => {
                let account = self.passwords.open(&name, &password, Origin::program(asking.remote)).await?;
                (account, Method::Basic, Scopes::ReadWrite)
            }
            Credential::Psk(text) => {
                let (account, key) = self.keys.open(&text, asking.remote).await?;
                let scopes = key.scopes;
                (account, Method::Psk(key), scopes)
            }
            Credential::OAuth(signed) => {
                let opened = self.oauth.open(&signed, asking.remote).await?;
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

    /// Whether what somebody proved a while ago would still let them in; gives them as they are now.
    pub async fn still(&self, principal: &Principal) -> Result<Option<Principal>, AuthError> {
        let account = match &principal.method {
            Method::Basic => self.passwords.still(&principal.account).await?,
            Method::Psk(key) => self.keys.still(key).await?,
            Method::OAuth(token) => self.oauth.still(token).await?,
            Method::Session(cookie) => self.sessions.open(cookie).await?.map(|person| person.account),
        };
        Ok(account.map(|account| Principal { account, ..principal.clone() }))
    }

    /// The first step of OAuth: a signed request for temporary credentials.
    pub async fn ask(&self, asking: &AuthRequest<'_>, body: &[u8]) -> Result<Issued, AuthError> {
        self.oauth.ask(&*signature_of(asking, body)?, asking.remote).await
    }

    /// The last step of OAuth: a signed request for an access token.
    pub async fn exchange(&self, asking: &AuthRequest<'_>, body: &[u8]) -> Result<Issued, AuthError> {
        self.oauth.exchange(&*signature_of(asking, body)?, asking.remote).await
    }

    /// What a person is asked by that temporary token, if it is still to be decided.
    pub async fn asked(&self, temporary: &str) -> Result<Option<PendingGrant>, AuthError> {
        self.oauth.asked(temporary).await
    }

    /// A person allows what a temporary token asks. Gives the verifier, unless somebody decided before.
    pub async fn allow(&self, temporary: &str, by: &Account) -> Result<Option<String>, AuthError> {
        self.oauth.allow(temporary, by).await
    }

    /// A person refuses what a temporary token asks. `false`: somebody decided before.
    pub async fn refuse(&self, temporary: &str) -> Result<bool, AuthError> {
        self.oauth.refuse(temporary).await
    }

    /// Ends an access token.
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
            // It replaces the hash that was opened and no other. If that fails, the next sign-in will do.
            let is_the_same = |stored: &Account| stored.password == account.password;
            if let Err(denied) = self.set_password(account.uid, hash, is_the_same).await {
                tracing::warn!(reason = denied.reason(), "password rehash not stored");
            }
        }
        self.enter(&account, browser).await
    }

    /// Whether that is the password of the signed-in account.
    pub async fn check_password(
        &self,
        person: &SignedIn,
        password: &str,
        remote: IpAddr,
    ) -> Result<(), AuthError> {
        let name = person.account.name.as_str();
        self.passwords.open(name, password, Origin::session(remote)).await.map(drop)
    }

    /// Begins a session in a browser, which is familiar to the account from now on, as is its network.
    async fn enter(&self, account: &Account, browser: &Browser<'_>) -> Result<Cookies, AuthError> {
        let session = self.sessions.begin(account, browser.agent).await?;
        self.familiar.note(account.uid, browser.remote);
        Ok(Cookies { session, familiar: self.familiar.cookie(account.uid, browser.familiar) })
    }

    /// The live application with that consumer key, as it is remembered for seconds.
    pub async fn application(&self, key: &str) -> Result<Option<Arc<Application>>, AuthError> {
        Ok(self.applications.live(key).await?)
    }

    /// An application's secret as it is stored.
    pub fn seal(&self, generated: &application::GeneratedConsumer) -> Result<Vec<u8>, SealError> {
        generated.sealed_secret(&self.secret_keys)
    }

    /// Who is signed in with that cookie.
    pub async fn signed_in(&self, cookie: &str) -> Result<Option<SignedIn>, AuthError> {
        self.sessions.open(cookie).await
    }

    /// Ends the session with that cookie.
    pub async fn sign_out(&self, cookie: &str) -> Result<(), AuthError> {
        self.sessions.end(cookie).await
    }

    /// The sessions in which somebody is signed in as that account, newest first.
    pub async fn sessions_of(&self, account: &Account) -> Result<Vec<Session>, AuthError> {
        self.sessions.of(account).await
    }

    /// Ends the account's session that [`session::public_id`] calls so. `false`: it has none.
    pub async fn end_session_of(&self, account: &Account, id: &str) -> Result<bool, AuthError> {
        self.sessions.end_of(account, id).await
    }

    /// Makes an invitation: its text, which goes into a link, and what is kept of it.
    pub async fn invite(&self, by: Option<Uid>) -> Result<(Zeroizing<String>, Ticket), AuthError> {
        self.make_ticket(Purpose::Invitation, by).await
    }

    /// Makes a ticket for a new password: its text, which goes into a link, and what is kept of it.
    pub async fn reset_link(
        &self,
        uid: Uid,
        by: Option<Uid>,
    ) -> Result<(Zeroizing<String>, Ticket), AuthError> {
        self.make_ticket(Purpose::Reset(uid), by).await
    }

    /// The ticket with that text, if it is good for something now.
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

    /// How many passwords were hashed since the start.
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

/// The signature of a request that takes nothing else.
fn signature_of(asking: &AuthRequest<'_>, body: &[u8]) -> Result<Box<Signed>, AuthError> {
    match credentials_of(asking)?.credential {
        Credential::OAuth(signed) => {
            signed.check_body(body).map_err(|_| Refusal::BodyChanged)?;
            Ok(signed)
        }
        _ => Err(AuthError::Malformed(
            "This step of OAuth takes a request that the application signed, nothing else.",
        )),
    }
}

#[cfg(test)]
mod tests;

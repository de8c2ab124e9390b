//! Authenticates requests: one credential becomes a [`Principal`].

use super::AuthError;
use super::application::Applications;
use super::basic::{Origin, Passwords};
use super::key::Keys;
use super::oauth::OAuth;
use super::presented_credential::{AuthRequest, Credential, PresentedCredential, credentials_of};
use super::principal::{Method, Principal};
use super::second_factor::SecondFactors;
use super::session::Sessions;
use model::{Application, Scopes};
use oauth1::Signed;
use std::sync::Arc;

/// An authenticated request.
pub struct Authenticated {
    /// The caller.
    pub principal: Principal,
    /// Its signature, if it was signed. The caller must still check the body against it.
    pub signed: Option<Box<Signed>>,
}

/// Authenticates requests.
pub struct Authenticator {
    pub(super) passwords: Arc<Passwords>,
    pub(super) second_factors: Arc<SecondFactors>,
    pub(super) keys: Arc<Keys>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) oauth: Arc<OAuth>,
    pub(super) applications: Arc<Applications>,
    pub(super) require_consumer_key: bool,
}

impl Authenticator {
    /// Authenticates a request. The credential is checked before the consumer key, so that a caller without a valid
    /// credential learns nothing about consumer keys.
    pub async fn authenticate(&self, request: &AuthRequest<'_>) -> Result<Authenticated, AuthError> {
        let PresentedCredential { credential, consumer } = credentials_of(request)?;
        let consumer = consumer.as_deref();
        let (account, method, scopes) = match credential {
            Credential::Basic { name, password } => {
                let account = self.passwords.open(&name, &password, Origin::program(request.remote)).await?;
                if self.second_factors.refuses_basic(account.uid).await? {
                    // Like a wrong password: otherwise the API would tell guessers that a password is right.
                    return Err(AuthError::BadCredentials);
                }
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
            Method::Basic => match self.second_factors.refuses_basic(principal.account.uid).await? {
                true => None,
                false => self.passwords.revalidate(&principal.account).await?,
            },
            Method::Psk(key) => self.keys.revalidate(key).await?,
            Method::OAuth(token) => self.oauth.revalidate(token).await?,
            Method::Session(cookie) => self.sessions.open(cookie).await?.map(|person| person.account),
        };
        Ok(account.map(|account| Principal { account, ..principal.clone() }))
    }

    async fn consumer(&self, key: Option<&str>) -> Result<Option<Arc<Application>>, AuthError> {
        match key {
            Some(key) => match self.applications.live(key).await? {
                Some(application) => Ok(Some(application)),
                None => Err(AuthError::UnknownConsumer),
            },
            None if self.require_consumer_key => Err(AuthError::ConsumerMissing),
            None => Ok(None),
        }
    }
}

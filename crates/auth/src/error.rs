//! Why authentication or authorisation fails. `http::problem` maps the errors to responses.

use super::refusal::Refusal;
use super::throttle::Exhausted;
use seal::{NoRandomness, SealError};
use std::borrow::Cow;
use store::StoreError;

/// Why a request is rejected.
#[derive(Debug)]
pub enum AuthError {
    /// The request has no credential.
    Missing,
    /// The credential cannot be parsed. The text says what was expected.
    Malformed(&'static str),
    /// The credential is invalid: an unknown or removed account, an account without a password, a wrong password, or a
    /// key that is unknown, expired or revoked. The response does not say which.
    BadCredentials,
    /// The consumer key belongs to no application, or to a removed one.
    UnknownConsumer,
    /// The consumer key is absent, and the settings require one.
    ConsumerMissing,
    /// `Authorization` has an unsupported scheme.
    ForeignScheme,
    /// The request has more than one credential or more than one consumer key: a bad request, valid or not.
    TwoCredentials,
    /// A signed request is invalid.
    Signature(Box<Refusal>),
    /// `ServiceConsumerKey` names another application than the one that signed.
    TwoConsumers,
    /// The operation requires a request signed with an OAuth token.
    NotAToken,
    /// The credential lacks this scope.
    Scope(&'static str),
    /// The account belongs to another person, and its existence is public.
    NotYours,
    /// The operation requires a credential of the account itself, not a token granted to an application.
    Lent,
    /// Too many wrong credentials from this address, or for this account from all addresses.
    Throttled {
        /// How long to wait.
        retry_after_seconds: u64,
    },
    /// Too many passwords wait to be checked.
    Busy,
    /// The store failed.
    Store(StoreError),
    /// A secret cannot be sealed or opened: the installation is misconfigured.
    Sealing(SealError),
}

impl AuthError {
    /// The documented reason code.
    pub fn reason(&self) -> &'static str {
        match self {
            AuthError::Missing => "missing",
            AuthError::Malformed(_) | AuthError::ForeignScheme => "malformed",
            AuthError::BadCredentials => "bad-credentials",
            AuthError::UnknownConsumer => "unknown-consumer",
            AuthError::ConsumerMissing => "missing-consumer",
            AuthError::TwoCredentials => "two-credentials",
            AuthError::TwoConsumers => "two-consumers",
            AuthError::Signature(refusal) => refusal.reason(),
            AuthError::NotAToken => "not-a-token",
            AuthError::Scope(_) => "scope",
            AuthError::NotYours => "not-yours",
            AuthError::Lent => "token-lent",
            AuthError::Throttled { .. } => "throttled",
            AuthError::Busy => "busy",
            AuthError::Store(_) => "unavailable",
            AuthError::Sealing(_) => "internal",
        }
    }

    /// A sentence for the caller that says what was expected. Reveals nothing that only the account may know.
    pub fn detail(&self) -> Cow<'static, str> {
        match self {
            AuthError::Signature(refusal) => refusal.detail().into(),
            AuthError::Scope(scope) => {
                format!("This request needs a credential with the scope {scope}.").into()
            }
            _ => self.fixed_detail().into(),
        }
    }

    fn fixed_detail(&self) -> &'static str {
        match self {
            AuthError::Missing => {
                "Send a credential: Authorization: Basic with name and password, a key in the ServicePSK \
                 header, or a request signed by OAuth 1.0a."
            }
            AuthError::Malformed(detail) => detail,
            AuthError::BadCredentials => {
                "The credential is not valid. Check name and password; a key starts with tfk_, has 47 characters, \
                 and must be neither revoked nor expired."
            }
            AuthError::UnknownConsumer => {
                "ServiceConsumerKey does not name a registered application. Leave it out or send the key that the \
                 application was given."
            }
            AuthError::ConsumerMissing => {
                "This server requires a consumer key: send the application's key in the ServiceConsumerKey header."
            }
            AuthError::ForeignScheme => {
                "Authorization has an unsupported scheme: use Basic or OAuth. A pre-shared key goes in the ServicePSK \
                 header."
            }
            AuthError::TwoCredentials => {
                "Send exactly one credential, once: Authorization, ServicePSK, or OAuth parameters in the query or \
                 form. ServiceConsumerKey may come once beside it."
            }
            AuthError::TwoConsumers => {
                "ServiceConsumerKey names another application than the one that signed. Leave it out."
            }
            AuthError::NotAToken => {
                "This request revokes the token that signs it, so sign it with OAuth. Revoke a key with tofrom key revoke."
            }
            AuthError::NotYours => "Only the account itself and operators may change anything here.",
            AuthError::Lent => {
                "An application's token cannot delete the account or manage its keys. Use the account's password or one of \
                 its keys."
            }
            AuthError::Throttled { .. } => {
                "Too many wrong credentials came from this address, or for this account from all addresses. Wait as long \
                 as Retry-After says. Keys still work, as do passwords from networks and browsers that signed in before."
            }
            AuthError::Busy => "Too many passwords are waiting to be checked. Try again in a moment.",
            AuthError::Store(_) => "The credential cannot be checked now. Try again in a moment.",
            AuthError::Sealing(_) | AuthError::Signature(_) | AuthError::Scope(_) => "",
        }
    }
}

impl From<StoreError> for AuthError {
    fn from(error: StoreError) -> AuthError {
        AuthError::Store(error)
    }
}

impl From<Exhausted> for AuthError {
    fn from(exhausted: Exhausted) -> AuthError {
        AuthError::Throttled { retry_after_seconds: exhausted.seconds }
    }
}

impl From<SealError> for AuthError {
    fn from(error: SealError) -> AuthError {
        AuthError::Sealing(error)
    }
}

impl From<NoRandomness> for AuthError {
    fn from(error: NoRandomness) -> AuthError {
        AuthError::Sealing(error.into())
    }
}

impl From<Refusal> for AuthError {
    fn from(refusal: Refusal) -> AuthError {
        AuthError::Signature(Box::new(refusal))
    }
}

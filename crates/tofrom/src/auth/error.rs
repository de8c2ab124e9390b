//! Why a request is not let in. What becomes of it in HTTP is decided where all problems are, not here.

use super::oauth::Refusal;
use super::primitives::NoRandomness;
use super::seal::SealError;
use super::throttle::Exhausted;
use std::borrow::Cow;
use store::StoreError;

/// Why a request is not let in.
#[derive(Debug)]
pub enum AuthError {
    /// No credential came.
    Missing,
    /// A credential came that can't be read; the text says what would be right.
    Malformed(&'static str),
    /// The credential opens nothing: an unknown or removed account, one without a password, a wrong password, a key
    /// that is unknown, expired or revoked. Which of them is not told.
    BadCredentials,
    /// The named application does not exist or was removed.
    UnknownConsumer,
    /// No application was named, and this service wants to know it.
    ConsumerMissing,
    /// `Authorization` has a scheme that is not taken here.
    ForeignScheme,
    /// More than one credential came, or more than one application was named: a bad request, whatever they open.
    TwoCredentials,
    /// A signed request is not right.
    Signature(Box<Refusal>),
    /// `ServiceConsumerKey` names another application than the one that signed.
    TwoConsumers,
    /// Only an application that signs with a token can do that.
    NotAToken,
    /// The credential may not be used for that: it lacks this scope.
    Scope(&'static str),
    /// The account is somebody else's, and everybody may know that it is there.
    NotYours,
    /// An application was lent a token; what ends the account takes a credential of its own.
    Lent,
    /// Too many wrong credentials came from there, or for that account from everywhere.
    Throttled {
        /// How long to wait.
        retry_after_seconds: u64,
    },
    /// Too many passwords wait to be checked.
    Busy,
    /// The store did not answer.
    Store(StoreError),
    /// A secret can't be sealed or opened: a fault of the installation.
    Sealing(SealError),
}

impl AuthError {
    /// The documented word for it.
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

    /// A sentence for the caller that says what would be right, and nothing that only the account may know.
    pub fn detail(&self) -> Cow<'static, str> {
        match self {
            AuthError::Signature(refusal) => refusal.detail().into(),
            AuthError::Scope(scope) => format!("This takes a credential with the scope {scope}.").into(),
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
                "The credential opens nothing here. Check name and password; a key starts with tfk_, has 47 \
                 characters, and must be neither revoked nor expired."
            }
            AuthError::UnknownConsumer => {
                "ServiceConsumerKey does not name a registered application. Leave it out or send the key that the \
                 application was given."
            }
            AuthError::ConsumerMissing => {
                "This service wants to know the application: send its key in the ServiceConsumerKey header."
            }
            AuthError::ForeignScheme => {
                "Authorization takes the schemes Basic and OAuth here; a pre-shared key goes in the ServicePSK header."
            }
            AuthError::TwoCredentials => {
                "Send exactly one credential, once: Authorization, ServicePSK, or OAuth parameters in the query or \
                 form. ServiceConsumerKey may come once beside it."
            }
            AuthError::TwoConsumers => {
                "ServiceConsumerKey names another application than the one that signed. Leave it out."
            }
            AuthError::NotAToken => {
                "This ends the token that signs the request, so sign it by OAuth. A key is revoked with tofrom key revoke."
            }
            AuthError::NotYours => "Only the account itself and operators may change anything here.",
            AuthError::Lent => {
                "A token is lent to an application; to end the account takes its password or a key of its own."
            }
            AuthError::Throttled { .. } => {
                "Too many wrong credentials came from this address, or for this account from all addresses. Wait as long \
                 as Retry-After says. Keys still work, as do passwords from networks and browsers that signed in before."
            }
            AuthError::Busy => "Too many passwords wait to be checked. Try again in a moment.",
            AuthError::Store(_) => "The credential can't be checked at the moment. Try again in a moment.",
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

//! Why a request is not let in. What becomes of it in HTTP is decided where all problems are, not here.

use super::oauth::Refusal;
use super::primitives::NoRandomness;
use super::seal::SealError;
use super::throttle::Exhausted;
use std::borrow::Cow;
use store::StoreError;

/// Why a request is not let in.
#[derive(Debug)]
pub enum Denied {
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

impl Denied {
    /// The documented word for it.
    pub fn reason(&self) -> &'static str {
        match self {
            Denied::Missing => "missing",
            Denied::Malformed(_) | Denied::ForeignScheme => "malformed",
            Denied::BadCredentials => "bad-credentials",
            Denied::UnknownConsumer => "unknown-consumer",
            Denied::ConsumerMissing => "missing-consumer",
            Denied::TwoCredentials => "two-credentials",
            Denied::TwoConsumers => "two-consumers",
            Denied::Signature(refusal) => refusal.reason(),
            Denied::NotAToken => "not-a-token",
            Denied::Scope(_) => "scope",
            Denied::NotYours => "not-yours",
            Denied::Lent => "token-lent",
            Denied::Throttled { .. } => "throttled",
            Denied::Busy => "busy",
            Denied::Store(_) => "unavailable",
            Denied::Sealing(_) => "internal",
        }
    }

    /// A sentence for the caller that says what would be right, and nothing that only the account may know.
    pub fn detail(&self) -> Cow<'static, str> {
        match self {
            Denied::Signature(refusal) => refusal.detail().into(),
            Denied::Scope(scope) => format!("This takes a credential with the scope {scope}.").into(),
            _ => self.fixed_detail().into(),
        }
    }

    fn fixed_detail(&self) -> &'static str {
        match self {
            Denied::Missing => {
                "Send a credential: Authorization: Basic with name and password, a key in the ServicePSK \
                 header, or a request signed by OAuth 1.0a."
            }
            Denied::Malformed(detail) => detail,
            Denied::BadCredentials => {
                "The credential opens nothing here. Check name and password; a key starts with tfk_, has 47 \
                 characters, and must be neither revoked nor expired."
            }
            Denied::UnknownConsumer => {
                "ServiceConsumerKey does not name a registered application. Leave it out or send the key that the \
                 application was given."
            }
            Denied::ConsumerMissing => {
                "This service wants to know the application: send its key in the ServiceConsumerKey header."
            }
            Denied::ForeignScheme => {
                "Authorization takes the schemes Basic and OAuth here; a pre-shared key goes in the ServicePSK header."
            }
            Denied::TwoCredentials => {
                "Send exactly one credential, once: Authorization, ServicePSK, or OAuth parameters in the query or \
                 form. ServiceConsumerKey may come once beside it."
            }
            Denied::TwoConsumers => {
                "ServiceConsumerKey names another application than the one that signed. Leave it out."
            }
            Denied::NotAToken => {
                "This ends the token that signs the request, so sign it by OAuth. A key is revoked with tofrom key revoke."
            }
            Denied::NotYours => "Only the account itself and operators may change anything here.",
            Denied::Lent => {
                "A token is lent to an application; to end the account takes its password or a key of its own."
            }
            Denied::Throttled { .. } => {
                "Too many wrong credentials came from this address, or for this account from all addresses. Wait as long \
                 as Retry-After says. Keys still work, as do passwords from networks and browsers that signed in before."
            }
            Denied::Busy => "Too many passwords wait to be checked. Try again in a moment.",
            Denied::Store(_) => "The credential can't be checked at the moment. Try again in a moment.",
            Denied::Sealing(_) | Denied::Signature(_) | Denied::Scope(_) => "",
        }
    }
}

impl From<StoreError> for Denied {
    fn from(error: StoreError) -> Denied {
        Denied::Store(error)
    }
}

impl From<Exhausted> for Denied {
    fn from(exhausted: Exhausted) -> Denied {
        Denied::Throttled { retry_after_seconds: exhausted.seconds }
    }
}

impl From<SealError> for Denied {
    fn from(error: SealError) -> Denied {
        Denied::Sealing(error)
    }
}

impl From<NoRandomness> for Denied {
    fn from(error: NoRandomness) -> Denied {
        Denied::Sealing(error.into())
    }
}

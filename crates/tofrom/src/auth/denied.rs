//! Why a request is not let in. What becomes of it in HTTP is decided where all problems are, not here.

use super::throttle::Exhausted;
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
    /// Too many wrong credentials came from there.
    Throttled {
        /// How long to wait.
        retry_after_seconds: u64,
    },
    /// Too many passwords wait to be checked.
    Busy,
    /// The store did not answer.
    Store(StoreError),
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
            Denied::Throttled { .. } => "throttled",
            Denied::Busy => "busy",
            Denied::Store(_) => "unavailable",
        }
    }

    /// A sentence for the caller that says what would be right, and nothing that only the account may know.
    pub fn detail(&self) -> &'static str {
        match self {
            Denied::Missing => {
                "Send a credential: Authorization: Basic with name and password, or a key in the ServicePSK header."
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
                "Authorization takes the scheme Basic here; a pre-shared key goes in the ServicePSK header."
            }
            Denied::TwoCredentials => {
                "Send exactly one credential, once: either Authorization or ServicePSK. ServiceConsumerKey may come \
                 once beside it."
            }
            Denied::Throttled { .. } => {
                "Too many wrong credentials came from this address. Wait as long as Retry-After says."
            }
            Denied::Busy => "Too many passwords wait to be checked. Try again in a moment.",
            Denied::Store(_) => "The credential can't be checked at the moment. Try again in a moment.",
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

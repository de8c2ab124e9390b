//! Every way in which a signed request is not let in, and what its developer is told about it.

use super::super::AuthError;
use oauth1::{Malformed, Problem, Signed, TimestampRefused};

/// Why a signed request is not let in.
#[derive(Debug)]
pub enum Refusal {
    /// It can't be read.
    Malformed(Malformed),
    /// A parameter is needed here and absent.
    Absent(&'static str),
    /// A parameter has a value that it can't have.
    Rejected {
        /// Which.
        parameter: &'static str,
        /// What would be right.
        right: &'static str,
    },
    /// The application signs with RSA, but registered no key.
    NoRsaKey,
    /// No live application has the consumer key.
    UnknownConsumer,
    /// The token is unknown, another application's, or of another kind.
    TokenRejected,
    /// The person who was asked said no.
    UserRefused,
    /// The access token was revoked.
    TokenRevoked,
    /// The token has ended.
    TokenExpired,
    /// The temporary token was exchanged before.
    TokenUsed,
    /// The verifier is not the one that the person was given, or nobody has decided yet.
    VerifierInvalid,
    /// The timestamp is too far from our clock.
    TimestampRefused(TimestampRefused),
    /// The same nonce came before.
    NonceUsed,
    /// The signature does not fit what arrived.
    SignatureInvalid(Seen),
    /// The body does not fit `oauth_body_hash`.
    BodyChanged,
}

/// What a signature was checked over, as far as it may be told: no values.
#[derive(Debug)]
pub struct Seen {
    /// The method.
    pub method: String,
    /// Scheme, host, port and path.
    pub base_uri: String,
    /// The names of all parameters, sorted.
    pub parameters: Vec<String>,
    /// Whether a plus sign came as it is.
    pub bare_plus: bool,
}

impl Seen {
    pub(super) fn of(signed: &Signed) -> Seen {
        Seen {
            method: signed.http_method().to_owned(),
            base_uri: signed.base_uri().to_owned(),
            parameters: signed.parameter_names(),
            bare_plus: signed.has_bare_plus(),
        }
    }
}

impl Refusal {
    /// Whether the request itself is wrong, whoever sends it.
    pub fn is_bad_request(&self) -> bool {
        matches!(
            self,
            Refusal::Malformed(_) | Refusal::Absent(_) | Refusal::Rejected { .. } | Refusal::NoRsaKey
        )
    }

    /// The word of the problem-reporting extension.
    pub fn problem(&self) -> Problem {
        match self {
            Refusal::Malformed(malformed) => malformed.problem(),
            Refusal::Absent(_) => Problem::ParameterAbsent,
            Refusal::Rejected { .. } => Problem::ParameterRejected,
            Refusal::NoRsaKey => Problem::SignatureMethodRejected,
            Refusal::UserRefused => Problem::UserRefused,
            Refusal::UnknownConsumer => Problem::ConsumerKeyUnknown,
            Refusal::TokenRejected => Problem::TokenRejected,
            Refusal::TokenRevoked => Problem::TokenRevoked,
            Refusal::TokenExpired => Problem::TokenExpired,
            Refusal::TokenUsed => Problem::TokenUsed,
            Refusal::VerifierInvalid => Problem::VerifierInvalid,
            Refusal::TimestampRefused(_) => Problem::TimestampRefused,
            Refusal::NonceUsed => Problem::NonceUsed,
            Refusal::SignatureInvalid(_) | Refusal::BodyChanged => Problem::SignatureInvalid,
        }
    }

    /// The word of our own documents.
    pub fn reason(&self) -> &'static str {
        match self {
            Refusal::Malformed(_) | Refusal::Absent(_) | Refusal::Rejected { .. } | Refusal::NoRsaKey => {
                "malformed"
            }
            Refusal::UserRefused => "user-refused",
            Refusal::UnknownConsumer => "unknown-consumer",
            Refusal::TokenRejected => "token-rejected",
            Refusal::TokenRevoked => "token-revoked",
            Refusal::TokenExpired => "token-expired",
            Refusal::TokenUsed => "token-used",
            Refusal::VerifierInvalid => "verifier-invalid",
            Refusal::TimestampRefused(_) => "timestamp-refused",
            Refusal::NonceUsed => "nonce-used",
            Refusal::SignatureInvalid(_) | Refusal::BodyChanged => "signature-invalid",
        }
    }

    /// A sentence that says what would be right.
    pub fn detail(&self) -> String {
        match self {
            Refusal::Malformed(malformed) => format!("The signed request can't be taken: {malformed}."),
            Refusal::Absent(parameter) => format!("{parameter} is needed here and absent or empty."),
            Refusal::Rejected { parameter, right } => format!("{parameter}: right would be {right}."),
            Refusal::UnknownConsumer => "No application has this oauth_consumer_key. It starts with tfc_.".to_owned(),
            Refusal::TokenRejected => "This oauth_token opens nothing here: it is unknown, another application's, or of \
                                       the wrong kind. Temporary ones start with tft_ and live 15 minutes, access \
                                       tokens start with tfa_."
                .to_owned(),
            Refusal::NoRsaKey => "The application has no RSA key here to check RSA-SHA1 with: register it with tofrom app \
                                  add --rsa-key, or sign with HMAC-SHA256 and the secret."
                .to_owned(),
            Refusal::UserRefused => "The person said no. Ask them again, from the first step.".to_owned(),
            Refusal::TokenRevoked => "The token was revoked. Ask the person for access again.".to_owned(),
            Refusal::TokenExpired => "The token has ended. Ask the person for access again.".to_owned(),
            Refusal::TokenUsed => "This temporary token was exchanged before. Each gives one access token.".to_owned(),
            Refusal::VerifierInvalid => "oauth_verifier is not the one that came to the callback, or that the person was \
                                         shown, after they allowed access."
                .to_owned(),
            Refusal::TimestampRefused(TimestampRefused { from, to }) => format!(
                "oauth_timestamp is too far from this clock: at this moment {from} to {to} is accepted, in seconds \
                 since 1970 UTC. Check your clock, and sign a request when you send it."
            ),
            Refusal::NonceUsed => "A request with this oauth_nonce and oauth_timestamp came before. Sign every request \
                                   anew, a repeated one too."
                .to_owned(),
            Refusal::SignatureInvalid(seen) => format!(
                "The signature does not fit what arrived. Compare `method`, `base_uri` and the names in `parameters` \
                 with your base string, then both secrets.{}",
                if seen.bare_plus {
                    " A parameter came with a bare +, which means a space: write %2B for a plus sign and %20 for a \
                     space, and sign what you send."
                } else {
                    ""
                }
            ),
            Refusal::BodyChanged => "The body does not fit oauth_body_hash, the SHA-1 of the body in base64.".to_owned(),
        }
    }

    /// The further parameters of the problem-reporting extension.
    pub fn report(&self) -> Option<(&'static str, String)> {
        let names = |names: Vec<&str>| names.join("&");
        match self {
            Refusal::Malformed(malformed) if malformed.problem() == Problem::VersionRejected => {
                Some(("oauth_acceptable_versions", "1.0-1.0".to_owned()))
            }
            Refusal::Malformed(malformed) if malformed.problem() == Problem::ParameterAbsent => {
                Some(("oauth_parameters_absent", names(malformed.parameters())))
            }
            Refusal::Malformed(malformed) if !malformed.parameters().is_empty() => {
                Some(("oauth_parameters_rejected", names(malformed.parameters())))
            }
            Refusal::Absent(parameter) => Some(("oauth_parameters_absent", (*parameter).to_owned())),
            Refusal::Rejected { parameter, .. } => {
                Some(("oauth_parameters_rejected", (*parameter).to_owned()))
            }
            Refusal::TimestampRefused(TimestampRefused { from, to }) => {
                Some(("oauth_acceptable_timestamps", format!("{from}-{to}")))
            }
            _ => None,
        }
    }
}

impl From<Malformed> for Refusal {
    fn from(malformed: Malformed) -> Refusal {
        Refusal::Malformed(malformed)
    }
}

impl From<TimestampRefused> for Refusal {
    fn from(refused: TimestampRefused) -> Refusal {
        Refusal::TimestampRefused(refused)
    }
}

impl From<Refusal> for AuthError {
    fn from(refusal: Refusal) -> AuthError {
        AuthError::Signature(Box::new(refusal))
    }
}

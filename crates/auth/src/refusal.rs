//! The errors of signed requests, and their messages for developers.

use oauth1::{Malformed, Problem, Signed, TimestampRefused};

/// Why a signed request is refused.
#[derive(Debug)]
pub enum Refusal {
    /// It cannot be parsed.
    Malformed(Malformed),
    /// A required parameter is absent or empty.
    Absent(&'static str),
    /// A parameter has an invalid value.
    Rejected {
        /// The parameter.
        parameter: &'static str,
        /// The expected form.
        expected: &'static str,
    },
    /// The application signs with RSA but has no registered key.
    NoRsaKey,
    /// No live application has the consumer key.
    UnknownConsumer,
    /// The token is unknown, another application's, or of another kind.
    TokenRejected,
    /// The person refused the grant.
    UserRefused,
    /// The access token was revoked.
    TokenRevoked,
    /// The token has expired.
    TokenExpired,
    /// The temporary token was exchanged before.
    TokenUsed,
    /// The verifier is wrong, or the grant is undecided.
    VerifierInvalid,
    /// The timestamp is too far from the server's clock.
    TimestampRefused(TimestampRefused),
    /// The nonce was used before.
    NonceUsed,
    /// The signature does not match the request.
    SignatureInvalid(SignatureBase),
    /// The body does not match `oauth_body_hash`.
    BodyChanged,
}

/// The signed parts of a request that may be disclosed: no values.
#[derive(Debug)]
pub struct SignatureBase {
    /// The method.
    pub method: String,
    /// Scheme, host, port and path.
    pub base_uri: String,
    /// The names of all parameters, sorted.
    pub parameters: Vec<String>,
    /// Whether a parameter has an unescaped plus sign.
    pub bare_plus: bool,
}

impl SignatureBase {
    pub(super) fn of(signed: &Signed) -> SignatureBase {
        SignatureBase {
            method: signed.http_method().to_owned(),
            base_uri: signed.base_uri().to_owned(),
            parameters: signed.parameter_names(),
            bare_plus: signed.has_bare_plus(),
        }
    }
}

impl Refusal {
    /// Whether the request is malformed, independent of the credential.
    pub fn is_bad_request(&self) -> bool {
        matches!(
            self,
            Refusal::Malformed(_) | Refusal::Absent(_) | Refusal::Rejected { .. } | Refusal::NoRsaKey
        )
    }

    /// The code of the problem-reporting extension.
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

    /// The documented reason code.
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

    /// A message that says what was expected.
    pub fn detail(&self) -> String {
        match self {
            Refusal::Malformed(malformed) => format!("The signed request is malformed: {malformed}."),
            Refusal::Absent(parameter) => format!("{parameter} is required but absent or empty."),
            Refusal::Rejected { parameter, expected } => format!("Invalid value for {parameter}: expected {expected}."),
            Refusal::UnknownConsumer => "No application has this oauth_consumer_key. It starts with tfc_.".to_owned(),
            Refusal::TokenRejected => "This oauth_token is not valid: it is unknown, another application's, or of the \
                                       wrong kind. Temporary tokens start with tft_ and expire after 15 minutes, \
                                       access tokens start with tfa_."
                .to_owned(),
            Refusal::NoRsaKey => "The application has no RSA key registered for RSA-SHA1: register it with tofrom app add \
                                  --rsa-key, or sign with HMAC-SHA256 and the secret."
                .to_owned(),
            Refusal::UserRefused => "The person refused access. Start again from the first step.".to_owned(),
            Refusal::TokenRevoked => "The token was revoked. Ask the person for access again.".to_owned(),
            Refusal::TokenExpired => "The token has expired. Ask the person for access again.".to_owned(),
            Refusal::TokenUsed => "This temporary token was already exchanged. Each gives one access token.".to_owned(),
            Refusal::VerifierInvalid => "oauth_verifier is not the one that came to the callback, or that the person was \
                                         shown, after they allowed access."
                .to_owned(),
            Refusal::TimestampRefused(TimestampRefused { from, to }) => format!(
                "oauth_timestamp is too far from this clock: at this moment {from} to {to} is accepted, in seconds \
                 since 1970 UTC. Check your clock, and sign a request when you send it."
            ),
            Refusal::NonceUsed => "A request with this oauth_nonce and oauth_timestamp was already made. Sign every \
                                   request with a new nonce, also a retry."
                .to_owned(),
            Refusal::SignatureInvalid(seen) => format!(
                "The signature does not match the request. Compare `method`, `base_uri` and the names in `parameters` \
                 with your base string, then both secrets.{}",
                if seen.bare_plus {
                    " A parameter came with a bare +, which means a space: write %2B for a plus sign and %20 for a \
                     space, and sign what you send."
                } else {
                    ""
                }
            ),
            Refusal::BodyChanged => "The body does not match oauth_body_hash, the SHA-1 of the body in base64.".to_owned(),
        }
    }

    /// The additional parameter of the problem-reporting extension.
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

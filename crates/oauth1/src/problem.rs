//! The words by which the problem-reporting extension tells a client what went wrong.

use std::fmt;

/// What is wrong with a request, in the words of the OAuth problem-reporting extension (`oauth_problem`).
///
/// This crate finds some of them by itself; the others need accounts, tokens and a memory of nonces, which the
/// server keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Problem {
    /// `oauth_version` is not 1.0.
    VersionRejected,
    /// A parameter that is needed is not there.
    ParameterAbsent,
    /// A parameter has a value that it cannot have, or stands where it cannot stand, or twice.
    ParameterRejected,
    /// The timestamp is too far from the server's clock.
    TimestampRefused,
    /// The nonce came before, with the same timestamp, consumer and token.
    NonceUsed,
    /// The server does not know this signature method, or not for this consumer.
    SignatureMethodRejected,
    /// The signature does not fit the request.
    SignatureInvalid,
    /// Nobody has this consumer key.
    ConsumerKeyUnknown,
    /// The consumer is turned away for good.
    ConsumerKeyRejected,
    /// The consumer is turned away for now.
    ConsumerKeyRefused,
    /// The temporary token was exchanged already.
    TokenUsed,
    /// The token's time is over.
    TokenExpired,
    /// The user took the token back.
    TokenRevoked,
    /// The token is unknown, of the wrong kind, or another consumer's.
    TokenRejected,
    /// The verifier is not the one that belongs to the temporary token.
    VerifierInvalid,
    /// The user has to authorize the consumer anew.
    AdditionalAuthorizationRequired,
    /// The user has not decided yet whether the consumer may do this.
    PermissionUnknown,
    /// The user does not let the consumer do this.
    PermissionDenied,
    /// The user said no when asked to authorize the consumer.
    UserRefused,
}

impl Problem {
    /// The word that goes into `oauth_problem`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::VersionRejected => "version_rejected",
            Self::ParameterAbsent => "parameter_absent",
            Self::ParameterRejected => "parameter_rejected",
            Self::TimestampRefused => "timestamp_refused",
            Self::NonceUsed => "nonce_used",
            Self::SignatureMethodRejected => "signature_method_rejected",
            Self::SignatureInvalid => "signature_invalid",
            Self::ConsumerKeyUnknown => "consumer_key_unknown",
            Self::ConsumerKeyRejected => "consumer_key_rejected",
            Self::ConsumerKeyRefused => "consumer_key_refused",
            Self::TokenUsed => "token_used",
            Self::TokenExpired => "token_expired",
            Self::TokenRevoked => "token_revoked",
            Self::TokenRejected => "token_rejected",
            Self::VerifierInvalid => "verifier_invalid",
            Self::AdditionalAuthorizationRequired => "additional_authorization_required",
            Self::PermissionUnknown => "permission_unknown",
            Self::PermissionDenied => "permission_denied",
            Self::UserRefused => "user_refused",
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

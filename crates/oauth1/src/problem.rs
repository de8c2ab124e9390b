//! The values of `oauth_problem` in the problem-reporting extension.

use std::fmt;

/// What is wrong with a request, in the terms of the OAuth problem-reporting extension (`oauth_problem`).
///
/// This crate detects some of them. The others require accounts, tokens and stored nonces, which the server
/// has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Problem {
    /// `oauth_version` is not 1.0.
    VersionRejected,
    /// A required parameter is missing.
    ParameterAbsent,
    /// A parameter has an invalid value, is in the wrong location, or is repeated.
    ParameterRejected,
    /// The timestamp is too far from the server's clock.
    TimestampRefused,
    /// The nonce was used before with the same timestamp, consumer and token.
    NonceUsed,
    /// The signature method is unknown, or not allowed for this consumer.
    SignatureMethodRejected,
    /// The signature does not match the request.
    SignatureInvalid,
    /// The consumer key is unknown.
    ConsumerKeyUnknown,
    /// The consumer is rejected permanently.
    ConsumerKeyRejected,
    /// The consumer is rejected temporarily.
    ConsumerKeyRefused,
    /// The temporary token was already exchanged.
    TokenUsed,
    /// The token has expired.
    TokenExpired,
    /// The user revoked the token.
    TokenRevoked,
    /// The token is unknown, of the wrong kind, or belongs to another consumer.
    TokenRejected,
    /// The verifier does not belong to the temporary token.
    VerifierInvalid,
    /// The user has to authorize the consumer again.
    AdditionalAuthorizationRequired,
    /// The user has not decided yet whether to authorize the consumer.
    PermissionUnknown,
    /// The user does not allow the consumer to do this.
    PermissionDenied,
    /// The user refused to authorize the consumer.
    UserRefused,
}

impl Problem {
    /// The value for `oauth_problem`.
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

//! Errors of requests that cannot be read as signed ones.

use std::borrow::Cow;

use crate::limits::{MAX_FORM_LENGTH, MAX_HEADER_LENGTH, MAX_PARAMETERS, MAX_VALUE_LENGTH};
use crate::names;
use crate::problem::Problem;

/// A request that cannot be read as a signed one. Each message says what was expected.
///
/// Messages may name parameters, never their values: a secret may be in the wrong parameter. A name may come
/// from the request, so escape it for display.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The `Authorization` header is longer than [`MAX_HEADER_LENGTH`].
    #[error("the Authorization header is too long: at most {MAX_HEADER_LENGTH} bytes are read")]
    HeaderTooLong,
    /// Query and form together are longer than [`MAX_FORM_LENGTH`].
    #[error("the query and the form are too long: at most {MAX_FORM_LENGTH} bytes of both are read")]
    FormTooLong,
    /// More parameters than [`MAX_PARAMETERS`].
    #[error("there are too many parameters: at most {MAX_PARAMETERS} are read")]
    TooManyParameters,
    /// A protocol parameter is longer than [`MAX_VALUE_LENGTH`].
    #[error("{name} is too long: at most {MAX_VALUE_LENGTH} bytes are read")]
    ValueTooLong {
        /// The parameter.
        name: &'static str,
    },
    /// The `Authorization` header is not a list of parameters.
    #[error(
        "the Authorization header cannot be read from byte {at} on: \
         after OAuth come parameters as name=\"value\", percent-encoded, with commas between them"
    )]
    HeaderUnreadable {
        /// The offset of the unreadable parameter in bytes, counted from 0.
        at: usize,
    },
    /// A percent sign that is not followed by two hexadecimal digits.
    #[error("{name} has a percent sign without two hexadecimal digits: a percent sign itself is written %25")]
    BadEscape {
        /// The parameter.
        name: Cow<'static, str>,
    },
    /// A value that has to be text is not UTF-8.
    #[error("{name} is not UTF-8 once it is percent-decoded")]
    NotUtf8 {
        /// The parameter.
        name: Cow<'static, str>,
    },
    /// A parameter that may occur once is repeated.
    #[error("{name} is there more than once: send it once")]
    Repeated {
        /// The parameter.
        name: Cow<'static, str>,
    },
    /// Protocol parameters in more than one location.
    #[error(
        "{name} is not where the other protocol parameters are: \
         send all in the Authorization header, or all in the form, or all in the query"
    )]
    Scattered {
        /// The first parameter in another location.
        name: &'static str,
    },
    /// Required protocol parameters are missing or empty.
    #[error("these parameters are needed and absent or empty: {}", names.join(", "))]
    Absent {
        /// The parameters.
        names: Vec<&'static str>,
    },
    /// `oauth_version` is not 1.0.
    #[error("oauth_version is not supported: send 1.0 or leave it out")]
    VersionRejected,
    /// An unknown signature method.
    #[error(
        "oauth_signature_method is not supported: send HMAC-SHA1, HMAC-SHA256, RSA-SHA1 or PLAINTEXT, \
         in upper case"
    )]
    SignatureMethodRejected,
    /// `oauth_timestamp` is not a number of seconds.
    #[error("oauth_timestamp is not a time: send the seconds since 1970-01-01T00:00:00Z in decimal digits")]
    TimestampRejected,
}

impl Malformed {
    /// The value for `oauth_problem`.
    #[must_use]
    pub const fn problem(&self) -> Problem {
        match self {
            Self::Absent { .. } => Problem::ParameterAbsent,
            Self::VersionRejected => Problem::VersionRejected,
            Self::SignatureMethodRejected => Problem::SignatureMethodRejected,
            _ => Problem::ParameterRejected,
        }
    }

    /// The names of the missing or rejected parameters, for `oauth_parameters_absent` and
    /// `oauth_parameters_rejected`. Empty if the error does not concern single parameters.
    #[must_use]
    pub fn parameters(&self) -> Vec<&str> {
        match self {
            Self::HeaderTooLong
            | Self::FormTooLong
            | Self::TooManyParameters
            | Self::HeaderUnreadable { .. } => Vec::new(),
            Self::BadEscape { name } | Self::NotUtf8 { name } | Self::Repeated { name } => {
                vec![name.as_ref()]
            }
            Self::ValueTooLong { name } | Self::Scattered { name } => vec![name],
            Self::Absent { names } => names.clone(),
            Self::VersionRejected => vec![names::VERSION],
            Self::SignatureMethodRejected => vec![names::SIGNATURE_METHOD],
            Self::TimestampRejected => vec![names::TIMESTAMP],
        }
    }
}

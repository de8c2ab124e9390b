//! A request that was read: its claims, and the checks of them.

use std::{fmt, str};

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::base_string::base_string;
use crate::encoding::encode;
use crate::malformed::Malformed;
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::protocol::Protocol;
use crate::signature::{self, Secrets, SignatureInvalid, SignatureMethod};

/// A signed request. None of its claims is proven until [`verify`](Self::verify) succeeds.
///
/// A server takes these steps, in this order: look up consumer and token,
/// [`check_timestamp`](Self::check_timestamp), `verify`, [`check_body`](Self::check_body), and only then store
/// the nonce and reject a known one. If nonces were stored first, anyone could use up the nonces of others.
#[derive(Clone)]
pub struct Signed {
    pub(crate) http_method: String,
    pub(crate) base_uri: String,
    pub(crate) has_bare_plus: bool,
    pub(crate) parameters: Parameters,
    pub(crate) protocol: Protocol,
}

impl Signed {
    /// `oauth_consumer_key`: the application that sends the request.
    #[must_use]
    pub fn consumer_key(&self) -> &str {
        &self.protocol.consumer_key
    }

    /// `oauth_token`: identifies the user. None if it is absent or empty, as in a request for temporary
    /// credentials.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.protocol.token.as_deref()
    }

    /// `oauth_signature_method`.
    #[must_use]
    pub const fn signature_method(&self) -> SignatureMethod {
        self.protocol.signature_method
    }

    /// `oauth_timestamp`, in seconds since 1970. Only PLAINTEXT may omit it.
    #[must_use]
    pub const fn timestamp(&self) -> Option<u64> {
        self.protocol.timestamp
    }

    /// `oauth_nonce`. Only PLAINTEXT may omit it.
    #[must_use]
    pub fn nonce(&self) -> Option<&str> {
        self.protocol.nonce.as_deref()
    }

    /// Any signed parameter, decoded, from any location: `oauth_callback`, `oauth_verifier`, or one of the
    /// server's.
    ///
    /// # Errors
    ///
    /// If the parameter is repeated or not UTF-8.
    pub fn parameter(&self, name: &str) -> Result<Option<&str>, Malformed> {
        let mut values = self.parameters.values(name.as_bytes());
        let Some(value) = values.next() else { return Ok(None) };
        if values.next().is_some() {
            return Err(Malformed::Repeated { name: name.to_owned().into() });
        }
        let value = str::from_utf8(value).map_err(|_| Malformed::NotUtf8 { name: name.to_owned().into() })?;
        Ok(Some(value))
    }

    /// The method in upper case, as it is signed.
    #[must_use]
    pub fn http_method(&self) -> &str {
        &self.http_method
    }

    /// The address as it is signed: without query, with scheme and host in lower case.
    #[must_use]
    pub fn base_uri(&self) -> &str {
        &self.base_uri
    }

    /// The base string that is signed. It helps authors of clients, but contains all values of the request: do
    /// not log it.
    #[must_use]
    pub fn base_string(&self) -> String {
        base_string(&self.http_method, &self.base_uri, &self.parameters)
    }

    /// The names of all signed parameters, encoded, in the order of the base string; a repeated name is listed
    /// repeatedly. Together with method and address, a client can find out why its signature does not match.
    #[must_use]
    pub fn parameter_names(&self) -> Vec<String> {
        self.parameters.iter().map(|(name, _)| encode(name)).collect()
    }

    /// Whether the query or form contains a literal `+`. It means a space there; clients that sign it as `%2B`
    /// are the usual cause of signatures that do not match.
    #[must_use]
    pub const fn has_bare_plus(&self) -> bool {
        self.has_bare_plus
    }

    /// Verifies the signature in a time that depends only on the length of the secrets.
    ///
    /// For an unknown consumer or token, verify with made-up secrets before rejecting: otherwise the response
    /// time reveals which ones exist.
    ///
    /// # Errors
    ///
    /// If the signature does not match, and for RSA-SHA1 also if there is no key.
    pub fn verify(&self, secrets: &Secrets<'_>) -> Result<(), SignatureInvalid> {
        let protocol = &self.protocol;
        signature::verify(protocol.signature_method, &protocol.signature, || self.base_string(), secrets)
    }

    /// Checks that the timestamp is within the window around `now_seconds`. PLAINTEXT always passes: its
    /// timestamp is not signed.
    ///
    /// # Errors
    ///
    /// If the timestamp is outside of the window.
    pub fn check_timestamp(&self, now_seconds: u64, window_seconds: u64) -> Result<(), TimestampRefused> {
        let from = now_seconds.saturating_sub(window_seconds);
        let to = now_seconds.saturating_add(window_seconds);
        match (self.signature_method(), self.timestamp()) {
            (SignatureMethod::Plaintext, _) => Ok(()),
            (_, Some(timestamp)) if (from..=to).contains(&timestamp) => Ok(()),
            _ => Err(TimestampRefused { from, to }),
        }
    }

    /// Whether `oauth_body_hash` was sent, so that the body is needed for verification.
    #[must_use]
    pub const fn has_body_hash(&self) -> bool {
        self.protocol.body_hash.is_some()
    }

    /// Checks `body` against `oauth_body_hash`, if that was sent. Signatures cover only forms; this extension
    /// covers other bodies, with SHA-1 for every signature method.
    ///
    /// # Errors
    ///
    /// If the hash was sent and does not match the body.
    pub fn check_body(&self, body: &[u8]) -> Result<(), BodyHashMismatch> {
        let Some(claimed) = &self.protocol.body_hash else { return Ok(()) };
        let hash = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, body);
        if STANDARD.encode(hash) == *claimed { Ok(()) } else { Err(BodyHashMismatch) }
    }
}

/// Shows the structure of the request, and no parameter value.
impl fmt::Debug for Signed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signed")
            .field("http_method", &self.http_method)
            .field("base_uri", &self.base_uri)
            .field("signature_method", &self.signature_method())
            .field("parameter_names", &self.parameter_names())
            .finish_non_exhaustive()
    }
}

/// The timestamp is too far from the server's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("oauth_timestamp is too far from the server's clock: from {from} to {to} would be accepted now")]
pub struct TimestampRefused {
    /// The earliest accepted timestamp.
    pub from: u64,
    /// The latest accepted timestamp.
    pub to: u64,
}

impl TimestampRefused {
    /// The value for `oauth_problem`; `oauth_acceptable_timestamps` goes with it, as `from-to`.
    #[must_use]
    pub const fn problem(&self) -> Problem {
        Problem::TimestampRefused
    }
}

/// `oauth_body_hash` does not match the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("oauth_body_hash does not fit the body: send the SHA-1 of the body as sent, in base64")]
pub struct BodyHashMismatch;

impl BodyHashMismatch {
    /// The value for `oauth_problem`: a body that does not match makes the signature invalid.
    #[must_use]
    pub const fn problem(&self) -> Problem {
        Problem::SignatureInvalid
    }
}

//! A request that was read: what it claims, and the means to check it.

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

/// A signed request, as it was read. Nothing of it is proven until [`verify`](Self::verify) has held.
///
/// A server then does, in this order: look up consumer and token, [`check_timestamp`](Self::check_timestamp),
/// `verify`, [`check_body`](Self::check_body), and only after that remember the nonce and refuse one that was there
/// before; if it came first, anybody could use up the nonces of others.
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

    /// `oauth_token`: what stands for the user. None if it is absent or empty, as when asking for a temporary one.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.protocol.token.as_deref()
    }

    /// `oauth_signature_method`.
    #[must_use]
    pub const fn signature_method(&self) -> SignatureMethod {
        self.protocol.signature_method
    }

    /// `oauth_timestamp`, in seconds since 1970. Only PLAINTEXT may leave it out.
    #[must_use]
    pub const fn timestamp(&self) -> Option<u64> {
        self.protocol.timestamp
    }

    /// `oauth_nonce`. Only PLAINTEXT may leave it out.
    #[must_use]
    pub fn nonce(&self) -> Option<&str> {
        self.protocol.nonce.as_deref()
    }

    /// Any signed parameter, decoded, from wherever it came: `oauth_callback`, `oauth_verifier`, or one of the
    /// server's own.
    ///
    /// # Errors
    ///
    /// If it is there more than once, or not UTF-8.
    pub fn parameter(&self, name: &str) -> Result<Option<&str>, Malformed> {
        let mut values = self.parameters.values(name.as_bytes());
        let Some(value) = values.next() else { return Ok(None) };
        if values.next().is_some() {
            return Err(Malformed::Repeated { name: name.to_owned().into() });
        }
        let value = str::from_utf8(value).map_err(|_| Malformed::NotUtf8 { name: name.to_owned().into() })?;
        Ok(Some(value))
    }

    /// The method as it is signed, in upper case.
    #[must_use]
    pub fn http_method(&self) -> &str {
        &self.http_method
    }

    /// The address as it is signed: without query, with scheme and host in lower case.
    #[must_use]
    pub fn base_uri(&self) -> &str {
        &self.base_uri
    }

    /// What is signed. It helps whoever writes a client, and it holds all values of the request: do not log it.
    #[must_use]
    pub fn base_string(&self) -> String {
        base_string(&self.http_method, &self.base_uri, &self.parameters)
    }

    /// The names of all signed parameters, encoded, in the order of the base string; one that is there twice is
    /// twice in it. With method and address this is what a client needs to find why its signature does not fit.
    #[must_use]
    pub fn parameter_names(&self) -> Vec<String> {
        self.parameters.iter().map(|(name, _)| encode(name)).collect()
    }

    /// Whether a `+` stands in the query or form as such. It means a space there, and clients that sign it as `%2B`
    /// are the usual cause of signatures that do not fit.
    #[must_use]
    pub const fn has_bare_plus(&self) -> bool {
        self.has_bare_plus
    }

    /// Whether the signature is right, in a time that does not depend on the secrets but for their length.
    ///
    /// For an unknown consumer or token, verify with made-up secrets before refusing: otherwise the time that the
    /// answer takes tells which ones exist.
    ///
    /// # Errors
    ///
    /// If it is not, and for RSA-SHA1 also if there is no key.
    pub fn verify(&self, secrets: &Secrets<'_>) -> Result<(), SignatureInvalid> {
        let protocol = &self.protocol;
        signature::verify(protocol.signature_method, &protocol.signature, || self.base_string(), secrets)
    }

    /// Whether the timestamp is near enough to `now_seconds`, in either direction. PLAINTEXT always passes: nobody
    /// signed its timestamp.
    ///
    /// # Errors
    ///
    /// If it is too far away.
    pub fn check_timestamp(&self, now_seconds: u64, window_seconds: u64) -> Result<(), TimestampRefused> {
        let from = now_seconds.saturating_sub(window_seconds);
        let to = now_seconds.saturating_add(window_seconds);
        match (self.signature_method(), self.timestamp()) {
            (SignatureMethod::Plaintext, _) => Ok(()),
            (_, Some(timestamp)) if (from..=to).contains(&timestamp) => Ok(()),
            _ => Err(TimestampRefused { from, to }),
        }
    }

    /// Whether `oauth_body_hash` was sent, so that the body is worth waiting for.
    #[must_use]
    pub const fn has_body_hash(&self) -> bool {
        self.protocol.body_hash.is_some()
    }

    /// Whether `body` is what the client hashed, if it sent `oauth_body_hash`. Signatures cover forms only, and this
    /// extension brings other bodies in: with SHA-1, whatever the signature method.
    ///
    /// # Errors
    ///
    /// If the hash was sent and is not that of the body.
    pub fn check_body(&self, body: &[u8]) -> Result<(), BodyHashMismatch> {
        let Some(claimed) = &self.protocol.body_hash else { return Ok(()) };
        let hash = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, body);
        if STANDARD.encode(hash) == *claimed { Ok(()) } else { Err(BodyHashMismatch) }
    }
}

/// Shows the shape of the request, and no value of any parameter.
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
    /// The earliest timestamp that would be accepted.
    pub from: u64,
    /// The latest one.
    pub to: u64,
}

impl TimestampRefused {
    /// The word of the problem-reporting extension; `oauth_acceptable_timestamps` goes with it, as `from-to`.
    #[must_use]
    pub const fn problem(&self) -> Problem {
        Problem::TimestampRefused
    }
}

/// `oauth_body_hash` is not that of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("oauth_body_hash does not fit the body: send the SHA-1 of the body as sent, in base64")]
pub struct BodyHashMismatch;

impl BodyHashMismatch {
    /// The word of the problem-reporting extension: a body that is not the signed one makes the signature invalid.
    #[must_use]
    pub const fn problem(&self) -> Problem {
        Problem::SignatureInvalid
    }
}

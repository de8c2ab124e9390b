//! Signature methods and verification.

use std::fmt;

use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY, UnparsedPublicKey};
use aws_lc_rs::{constant_time, hmac};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::encoding::encode_into;
use crate::problem::Problem;

/// How a request is signed.
///
/// The client chooses the method; a server that allows only some of them has to check after reading the
/// request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignatureMethod {
    /// `HMAC-SHA1` with the secrets of consumer and token.
    HmacSha1,
    /// `HMAC-SHA256`, likewise. Not in RFC 5849, but clients use it.
    HmacSha256,
    /// `RSA-SHA1` with the consumer's private key. The secrets are not used.
    RsaSha1,
    /// `PLAINTEXT`: the secrets themselves. It signs nothing: anyone who sees a request can send others.
    Plaintext,
}

impl SignatureMethod {
    const ALL: [Self; 4] = [Self::HmacSha1, Self::HmacSha256, Self::RsaSha1, Self::Plaintext];

    /// Its name in `oauth_signature_method`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HmacSha1 => "HMAC-SHA1",
            Self::HmacSha256 => "HMAC-SHA256",
            Self::RsaSha1 => "RSA-SHA1",
            Self::Plaintext => "PLAINTEXT",
        }
    }

    /// The method with this name. Names are in upper case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == name)
    }
}

impl fmt::Display for SignatureMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The secrets for a verification.
#[derive(Clone, Copy)]
pub struct Secrets<'a> {
    /// The consumer's secret.
    pub consumer: &'a [u8],
    /// The secret of the token, empty if the request has no token.
    pub token: &'a [u8],
    /// The consumer's public key for RSA-SHA1, if it has registered one: a `SubjectPublicKeyInfo` in DER.
    pub rsa_key: Option<&'a [u8]>,
}

/// Shows only whether there is a key.
impl fmt::Debug for Secrets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").field("rsa_key", &self.rsa_key.is_some()).finish_non_exhaustive()
    }
}

/// The signature does not match the request and the secrets. It deliberately gives no details.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the signature does not fit the request and the secrets")]
pub struct SignatureInvalid;

impl SignatureInvalid {
    /// The value for `oauth_problem`.
    #[must_use]
    pub const fn problem(&self) -> Problem {
        Problem::SignatureInvalid
    }
}

/// Verifies the decoded value of `oauth_signature` in a time that depends only on the length of the secrets.
/// `base_string` is called only if the method signs it.
pub(crate) fn verify(
    method: SignatureMethod,
    signature: &str,
    base_string: impl FnOnce() -> String,
    secrets: &Secrets<'_>,
) -> Result<(), SignatureInvalid> {
    let verified = match method {
        SignatureMethod::HmacSha1 => {
            let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, shared_key(secrets).as_bytes());
            hmac::verify(&key, base_string().as_bytes(), &octets(signature)?)
        }
        SignatureMethod::HmacSha256 => {
            let key = hmac::Key::new(hmac::HMAC_SHA256, shared_key(secrets).as_bytes());
            hmac::verify(&key, base_string().as_bytes(), &octets(signature)?)
        }
        SignatureMethod::RsaSha1 => {
            let key = secrets.rsa_key.ok_or(SignatureInvalid)?;
            UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY, key)
                .verify(base_string().as_bytes(), &octets(signature)?)
        }
        SignatureMethod::Plaintext => {
            constant_time::verify_slices_are_equal(shared_key(secrets).as_bytes(), signature.as_bytes())
        }
    };
    verified.map_err(|_| SignatureInvalid)
}

/// Both secrets, encoded, joined by an `&` even if one of them is empty.
fn shared_key(secrets: &Secrets<'_>) -> Zeroizing<String> {
    // The maximum capacity: reallocation would leave a copy that is not wiped.
    let longest = 3 * (secrets.consumer.len() + secrets.token.len()) + 1;
    let mut key = Zeroizing::new(String::with_capacity(longest));
    encode_into(&mut key, secrets.consumer);
    key.push('&');
    encode_into(&mut key, secrets.token);
    key
}

/// Strict, so that a signature has only one spelling.
fn octets(signature: &str) -> Result<Vec<u8>, SignatureInvalid> {
    STANDARD.decode(signature).map_err(|_| SignatureInvalid)
}

//! Signature methods, and whether a signature is right.

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
/// The client chooses; a server that wants only some of them has to say so after reading the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignatureMethod {
    /// `HMAC-SHA1`, by the secrets of consumer and token.
    HmacSha1,
    /// `HMAC-SHA256`, likewise. Not in RFC 5849, but clients speak it.
    HmacSha256,
    /// `RSA-SHA1`, by the consumer's private key. The secrets do not matter.
    RsaSha1,
    /// `PLAINTEXT`: the secrets themselves. It signs nothing, and whoever sees a request can send others.
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

    /// The method of that name. Names are in upper case.
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

/// What a signature is verified with.
#[derive(Clone, Copy)]
pub struct Secrets<'a> {
    /// The consumer's secret.
    pub consumer: &'a [u8],
    /// The secret of the token, empty if the request has no token.
    pub token: &'a [u8],
    /// The consumer's public key for RSA-SHA1, if it has registered one: a `SubjectPublicKeyInfo` in DER.
    pub rsa_key: Option<&'a [u8]>,
}

/// Shows nothing but whether there is a key.
impl fmt::Debug for Secrets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").field("rsa_key", &self.rsa_key.is_some()).finish_non_exhaustive()
    }
}

/// The signature is not that of this request by these secrets. It does not say more, and must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the signature does not fit the request and the secrets")]
pub struct SignatureInvalid;

impl SignatureInvalid {
    /// The word of the problem-reporting extension.
    #[must_use]
    pub const fn problem(&self) -> Problem {
        Problem::SignatureInvalid
    }
}

/// Verifies a signature, as it stands in `oauth_signature` once decoded, in a time that does not depend on the
/// secrets but for their length. `base_string` is not asked for where it is not signed.
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

/// Both secrets, encoded, with an `&` that is there even if one of them is empty.
fn shared_key(secrets: &Secrets<'_>) -> Zeroizing<String> {
    // As long as it can become: growing would leave a copy behind that nobody wipes.
    let longest = 3 * (secrets.consumer.len() + secrets.token.len()) + 1;
    let mut key = Zeroizing::new(String::with_capacity(longest));
    encode_into(&mut key, secrets.consumer);
    key.push('&');
    encode_into(&mut key, secrets.token);
    key
}

/// Strict, so that a signature can be written in one way only.
fn octets(signature: &str) -> Result<Vec<u8>, SignatureInvalid> {
    STANDARD.decode(signature).map_err(|_| SignatureInvalid)
}

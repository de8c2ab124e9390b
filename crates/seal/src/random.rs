//! Random bytes and digests, from the same library as TLS.

use aws_lc_rs::{digest, rand};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use zeroize::Zeroizing;

/// The operating system has no random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no random bytes available from the operating system")]
pub struct NoRandomness;

/// Cryptographically secure random bytes.
pub fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, NoRandomness> {
    let mut bytes = Zeroizing::new([0; N]);
    rand::fill(bytes.as_mut()).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

/// A prefix that names the kind of secret, and `N` random bytes in base64url.
pub fn random_text<const N: usize>(prefix: &str) -> Result<Zeroizing<String>, NoRandomness> {
    // The capacity suffices: a string that grows would leave copies of the secret in memory.
    let mut text = Zeroizing::new(String::with_capacity(prefix.len() + N * 2));
    text.push_str(prefix);
    BASE64_URL_SAFE_NO_PAD.encode_string(random::<N>()?.as_ref(), &mut text);
    Ok(text)
}

/// The SHA-256 of `bytes`.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hash
}

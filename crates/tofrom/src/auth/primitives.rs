//! Random bytes and digests, from the library that TLS uses.

use aws_lc_rs::{digest, rand};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use zeroize::Zeroizing;

/// The machine gave no random bytes; nothing secret can be made without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the machine gives no random bytes")]
pub struct NoRandomness;

/// Random bytes that nobody can guess.
pub(crate) fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, NoRandomness> {
    let mut bytes = Zeroizing::new([0; N]);
    rand::fill(bytes.as_mut()).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

/// `N` random bytes in base64url behind a prefix that tells what they are.
pub(crate) fn random_text<const N: usize>(prefix: &str) -> Result<Zeroizing<String>, NoRandomness> {
    // Room for everything at once: a growing string would leave parts of the secret behind.
    let mut text = Zeroizing::new(String::with_capacity(prefix.len() + N * 2));
    text.push_str(prefix);
    BASE64_URL_SAFE_NO_PAD.encode_string(random::<N>()?.as_ref(), &mut text);
    Ok(text)
}

/// The SHA-256 of `bytes`.
pub(super) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hash
}

//! Secrets that the service must know again (it signs with them) are stored sealed: AES-256-GCM under a key that is
//! not in the store, so that a copy of the store alone gives none of them away.
//!
//! A sealed secret is a version byte (1), the sealing key's number (4 bytes), a random nonce (12) and the ciphertext
//! with its tag. The context says what the secret is and whose; it is authenticated, so a sealed secret opens in its
//! own place only. Keys are rotated by putting a new one first: it seals from then on, the others still open.

use super::primitives::{self, NoRandomness};
use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::{hkdf, hmac};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
use std::fmt;
use zeroize::Zeroizing;

const VERSION: u8 = 1;

/// Sealing or opening did not work.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// No key was given.
    #[error("there is no secret key; it takes at least one")]
    NoKeys,
    /// A text is not a key.
    #[error("secret key {0} is not one: it takes 32 bytes in base64 or hexadecimal")]
    NotAKey(usize),
    /// There are no random bytes.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    /// The cipher did not run.
    #[error("sealing failed")]
    Failed,
    /// No key here sealed that, or it was altered, or it belongs elsewhere.
    #[error(
        "a sealed secret can't be opened: it was sealed with another key or for another place, or altered"
    )]
    NotOurs,
}

/// The keys that secrets are sealed with: the first one seals, any of them opens.
pub struct SecretKeys {
    first: SecretKey,
    others: Vec<SecretKey>,
}

struct SecretKey {
    number: [u8; 4],
    cipher: RandomizedNonceKey,
    /// What keys for other purposes are derived from.
    root: hkdf::Prk,
}

impl SecretKeys {
    /// Keys from their texts: each 32 bytes in base64 or hexadecimal.
    pub fn parse<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Result<SecretKeys, SealError> {
        let read = |(at, text): (usize, T)| {
            let bytes = key_bytes(text.as_ref().trim()).ok_or(SealError::NotAKey(at + 1))?;
            SecretKey::new(&bytes)
        };
        let mut keys = texts.into_iter().enumerate().map(read);
        let first = keys.next().ok_or(SealError::NoKeys)??;
        Ok(SecretKeys { first, others: keys.collect::<Result<_, _>>()? })
    }

    /// A new key as a text.
    pub fn generate() -> Result<Zeroizing<String>, NoRandomness> {
        Ok(Zeroizing::new(BASE64_STANDARD.encode(primitives::random::<32>()?.as_ref())))
    }

    /// Seals a secret with the first key, for one place.
    pub fn seal(&self, plain: &[u8], context: &str) -> Result<Vec<u8>, SealError> {
        // Room for the tag too: growing would leave the plain text behind.
        let mut body = Vec::with_capacity(plain.len() + AES_256_GCM.tag_len());
        body.extend_from_slice(plain);
        let nonce = self
            .first
            .cipher
            .seal_in_place_append_tag(Aad::from(context.as_bytes()), &mut body)
            .map_err(|_| SealError::Failed)?;
        Ok([&[VERSION][..], &self.first.number, nonce.as_ref(), &body].concat())
    }

    /// Whether the first key sealed that.
    pub fn is_newest(&self, sealed: &[u8]) -> bool {
        sealed.strip_prefix(&[VERSION]).is_some_and(|rest| rest.starts_with(&self.first.number))
    }

    /// Keys for signing that one purpose has for itself (HKDF): the first one signs, any of them verifies.
    pub(super) fn derive(&self, purpose: &str) -> Vec<hmac::Key> {
        let info = [purpose.as_bytes()];
        let derived = |key: &SecretKey| key.root.expand(&info, hmac::HMAC_SHA256).ok().map(hmac::Key::from);
        std::iter::once(&self.first).chain(&self.others).filter_map(derived).collect()
    }

    /// Opens what any of the keys sealed for that place.
    pub fn open(&self, sealed: &[u8], context: &str) -> Result<Zeroizing<Vec<u8>>, SealError> {
        let parts = sealed.split_first_chunk::<1>().and_then(|(version, rest)| {
            let (number, rest) = rest.split_first_chunk::<4>()?;
            let (nonce, body) = rest.split_first_chunk::<NONCE_LEN>()?;
            (version == &[VERSION]).then_some((number, nonce, body))
        });
        let (number, nonce, body) = parts.ok_or(SealError::NotOurs)?;
        std::iter::once(&self.first)
            .chain(&self.others)
            .filter(|key| &key.number == number)
            .find_map(|key| key.open(*nonce, body, context))
            .ok_or(SealError::NotOurs)
    }
}

impl SecretKey {
    fn new(bytes: &[u8; 32]) -> Result<SecretKey, SealError> {
        let cipher = RandomizedNonceKey::new(&AES_256_GCM, bytes).map_err(|_| SealError::Failed)?;
        let [a, b, c, d, ..] = primitives::sha256(bytes);
        let root = hkdf::Prk::new_less_safe(hkdf::HKDF_SHA256, bytes);
        Ok(SecretKey { number: [a, b, c, d], cipher, root })
    }

    fn open(&self, nonce: [u8; NONCE_LEN], body: &[u8], context: &str) -> Option<Zeroizing<Vec<u8>>> {
        let mut plain = Zeroizing::new(body.to_vec());
        let nonce = Nonce::assume_unique_for_key(nonce);
        let length = self.cipher.open_in_place(nonce, Aad::from(context.as_bytes()), &mut plain).ok()?.len();
        plain.truncate(length);
        Some(plain)
    }
}

impl fmt::Debug for SecretKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKeys({})", 1 + self.others.len())
    }
}

fn key_bytes(text: &str) -> Option<Zeroizing<[u8; 32]>> {
    let bytes = if text.len() == 64 { from_hex(text)? } else { from_base64(text)? };
    let mut key = Zeroizing::new([0; 32]);
    if bytes.len() != key.len() {
        return None;
    }
    key.copy_from_slice(&bytes);
    Some(key)
}

fn from_base64(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    // Both alphabets and with or without padding: there is only one key that any of them can mean.
    let plain = Zeroizing::new(text.trim_end_matches('=').replace('-', "+").replace('_', "/"));
    BASE64_STANDARD_NO_PAD.decode(plain.as_bytes()).ok().map(Zeroizing::new)
}

fn from_hex(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, _) = text.as_bytes().as_chunks::<2>();
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
    bytes.map(Zeroizing::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    const NEW: &str = "202122232425262728292a2b2c2d2e2f303132333435363738393A3B3C3D3E3F";

    #[test]
    fn the_new_key_seals_and_the_old_one_still_opens() {
        let before = SecretKeys::parse([OLD]).unwrap();
        let after = SecretKeys::parse([NEW, OLD]).unwrap();
        let old = before.seal(b"secret", "here").unwrap();
        assert_eq!(*after.open(&old, "here").unwrap(), b"secret");
        let new = after.seal(b"secret", "here").unwrap();
        assert!(after.is_newest(&new) && !after.is_newest(&old) && before.is_newest(&old));
        assert!(matches!(before.open(&new, "here"), Err(SealError::NotOurs)));
        assert_eq!(*SecretKeys::parse([NEW]).unwrap().open(&new, "here").unwrap(), b"secret");
    }

    #[test]
    fn derived_keys_are_of_one_purpose_and_one_key() {
        let (old, both) = (SecretKeys::parse([OLD]).unwrap(), SecretKeys::parse([NEW, OLD]).unwrap());
        let tag = hmac::sign(&old.derive("here")[0], b"text");
        let verifies = |keys: &[hmac::Key]| {
            keys.iter().map(|key| hmac::verify(key, b"text", tag.as_ref()).is_ok()).collect::<Vec<_>>()
        };
        assert_eq!(verifies(&both.derive("here")), [false, true]);
        assert_eq!(verifies(&both.derive("there")), [false, false]);
    }

    #[test]
    fn layout() {
        let keys = SecretKeys::parse([OLD]).unwrap();
        let sealed = keys.seal(b"secret", "here").unwrap();
        assert_eq!(sealed.len(), 1 + 4 + 12 + 6 + 16);
        // The first bytes of the SHA-256 of 00 01 .. 1f.
        assert_eq!(sealed[..5], [1, 0x63, 0x0d, 0xcd, 0x29]);
        assert_ne!(sealed, keys.seal(b"secret", "here").unwrap(), "a nonce of its own");
        assert_eq!(*keys.open(&keys.seal(b"", "").unwrap(), "").unwrap(), b"");
    }

    #[test]
    fn whatever_is_altered_does_not_open() {
        let keys = SecretKeys::parse([OLD]).unwrap();
        let sealed = keys.seal(b"secret", "here").unwrap();
        assert!(keys.open(&sealed, "there").is_err());
        for at in 0..sealed.len() {
            let mut altered = sealed.clone();
            altered[at] ^= 1;
            assert!(keys.open(&altered, "here").is_err(), "byte {at}");
            assert!(keys.open(&sealed[..at], "here").is_err(), "cut at {at}");
        }
    }

    #[test]
    fn texts() {
        let same = ["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", &format!(" {OLD}\n")].map(str::to_owned);
        for text in same {
            let sealed = SecretKeys::parse([text]).unwrap().seal(b"secret", "").unwrap();
            assert!(SecretKeys::parse([OLD]).unwrap().open(&sealed, "").is_ok());
        }
        assert!(matches!(SecretKeys::parse::<&str>([]), Err(SealError::NoKeys)));
        for wrong in ["", "AAEC", "not base64 at all", &"g".repeat(64), &"A".repeat(44), &"ä".repeat(32)] {
            let error = SecretKeys::parse([OLD, wrong]).unwrap_err();
            assert!(matches!(error, SealError::NotAKey(2)), "{wrong}: {error}");
            assert!(wrong.len() < 5 || !error.to_string().contains(wrong));
        }
        let made = SecretKeys::generate().unwrap();
        let keys = SecretKeys::parse([made.as_str()]).unwrap();
        assert_eq!(format!("{keys:?}"), "SecretKeys(1)");
    }
}

//! Sealed secrets: secrets that the server needs in plain text, to sign with them, are encrypted with AES-256-GCM.
//! The key is not in the store, so a copy of the store reveals none of them.
//!
//! A sealed secret is a version byte (1), the number of the sealing key (4 bytes), a random nonce (12) and the
//! ciphertext with its tag. The context names the kind of secret and its owner. It is authenticated, so a sealed
//! secret opens only in its own context. To rotate keys, put a new one first: it seals from then on, and the older
//! ones still open.

mod key_file;
mod random;

pub use key_file::KeyFileError;
pub use random::{NoRandomness, random, random_text, sha256};

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::{hkdf, hmac};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
use std::fmt;
use zeroize::Zeroizing;

const VERSION: u8 = 1;

/// Why sealing or opening failed.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The list of keys is empty.
    #[error("no secret key: expected at least one")]
    NoKeys,
    /// A text is not a key.
    #[error("secret key {0} is invalid: expected 32 bytes in base64 or hexadecimal")]
    NotAKey(usize),
    /// No random bytes are available.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    /// The cipher failed.
    #[error("sealing failed")]
    Failed,
    /// None of the keys sealed it, or it was altered, or it belongs to another context.
    #[error("cannot open a sealed secret: it was sealed with another key or for another context, or altered")]
    NotOurs,
}

/// Counts of a key rotation, which seals every stored secret with the first key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resealed {
    /// Secrets that were sealed again.
    pub anew: u64,
    /// Secrets that were checked.
    pub all: u64,
}

impl Resealed {
    /// Counts a checked secret.
    pub fn count(&mut self, anew: bool) {
        self.all += 1;
        self.anew += u64::from(anew);
    }
}

/// The sealing keys: the first one seals, any of them opens.
pub struct SecretKeys {
    first: SecretKey,
    others: Vec<SecretKey>,
}

struct SecretKey {
    number: [u8; 4],
    cipher: RandomizedNonceKey,
    /// The root of derived keys.
    root: hkdf::Prk,
}

impl SecretKeys {
    /// Parses keys: each 32 bytes in base64 or hexadecimal.
    pub fn parse<T: AsRef<str>>(keys: impl IntoIterator<Item = T>) -> Result<SecretKeys, SealError> {
        let parse = |(at, text): (usize, T)| {
            let bytes = key_bytes(text.as_ref().trim()).ok_or(SealError::NotAKey(at + 1))?;
            SecretKey::new(&bytes)
        };
        let mut keys = keys.into_iter().enumerate().map(parse);
        let first = keys.next().ok_or(SealError::NoKeys)??;
        Ok(SecretKeys { first, others: keys.collect::<Result<_, _>>()? })
    }

    /// Generates a key in base64.
    pub fn generate() -> Result<Zeroizing<String>, NoRandomness> {
        Ok(Zeroizing::new(BASE64_STANDARD.encode(random::<32>()?.as_ref())))
    }

    /// Seals a secret with the first key, for one context.
    pub fn seal(&self, plain: &[u8], context: &str) -> Result<Vec<u8>, SealError> {
        // The capacity includes the tag: a vector that grows would leave a copy of the plain text in memory.
        let mut body = Vec::with_capacity(plain.len() + AES_256_GCM.tag_len());
        body.extend_from_slice(plain);
        let nonce = self
            .first
            .cipher
            .seal_in_place_append_tag(Aad::from(context.as_bytes()), &mut body)
            .map_err(|_| SealError::Failed)?;
        Ok([&[VERSION][..], &self.first.number, nonce.as_ref(), &body].concat())
    }

    /// Whether the first key sealed this secret.
    pub fn is_newest(&self, sealed: &[u8]) -> bool {
        sealed.strip_prefix(&[VERSION]).is_some_and(|rest| rest.starts_with(&self.first.number))
    }

    /// Derives signing keys for one purpose (HKDF): the first one signs, any of them verifies.
    pub fn derive(&self, purpose: &str) -> Vec<hmac::Key> {
        let info = [purpose.as_bytes()];
        let derived = |key: &SecretKey| key.root.expand(&info, hmac::HMAC_SHA256).ok().map(hmac::Key::from);
        self.all().filter_map(derived).collect()
    }

    /// Derives encryption keys for one purpose (HKDF): the first one encrypts, any of them decrypts.
    pub fn derive_bytes(&self, purpose: &str) -> Vec<Zeroizing<[u8; 32]>> {
        let derived = |key: &SecretKey| {
            let mut bytes = Zeroizing::new([0; 32]);
            let info = [purpose.as_bytes()];
            key.root.expand(&info, hkdf::HKDF_SHA256).ok()?.fill(bytes.as_mut()).ok()?;
            Some(bytes)
        };
        self.all().filter_map(derived).collect()
    }

    fn all(&self) -> impl Iterator<Item = &SecretKey> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Opens a secret that any of the keys sealed for that context.
    pub fn open(&self, sealed: &[u8], context: &str) -> Result<Zeroizing<Vec<u8>>, SealError> {
        let parts = sealed.split_first_chunk::<1>().and_then(|(version, rest)| {
            let (number, rest) = rest.split_first_chunk::<4>()?;
            let (nonce, body) = rest.split_first_chunk::<NONCE_LEN>()?;
            (version == &[VERSION]).then_some((number, nonce, body))
        });
        let (number, nonce, body) = parts.ok_or(SealError::NotOurs)?;
        self.all()
            .filter(|key| &key.number == number)
            .find_map(|key| key.open(*nonce, body, context))
            .ok_or(SealError::NotOurs)
    }
}

impl SecretKey {
    fn new(bytes: &[u8; 32]) -> Result<SecretKey, SealError> {
        let cipher = RandomizedNonceKey::new(&AES_256_GCM, bytes).map_err(|_| SealError::Failed)?;
        let [a, b, c, d, ..] = sha256(bytes);
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
    let mut key = Zeroizing::new([0; 32]);
    if text.len() == 64 {
        hex::decode_to_slice(text, &mut *key).ok()?;
        return Some(key);
    }
    let bytes = from_base64(text)?;
    if bytes.len() != key.len() {
        return None;
    }
    key.copy_from_slice(&bytes);
    Some(key)
}

fn from_base64(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    // Both alphabets are accepted, with or without padding: the result is unambiguous.
    let plain = Zeroizing::new(text.trim_end_matches('=').replace('-', "+").replace('_', "/"));
    BASE64_STANDARD_NO_PAD.decode(plain.as_bytes()).ok().map(Zeroizing::new)
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
    fn derived_keys_depend_on_purpose_and_key() {
        let (old, both) = (SecretKeys::parse([OLD]).unwrap(), SecretKeys::parse([NEW, OLD]).unwrap());
        let tag = hmac::sign(&old.derive("here")[0], b"text");
        let verifies = |keys: &[hmac::Key]| {
            keys.iter().map(|key| hmac::verify(key, b"text", tag.as_ref()).is_ok()).collect::<Vec<_>>()
        };
        assert_eq!(verifies(&both.derive("here")), [false, true]);
        assert_eq!(verifies(&both.derive("there")), [false, false]);
    }

    #[test]
    fn the_layout_is_version_key_number_nonce_and_ciphertext() {
        let keys = SecretKeys::parse([OLD]).unwrap();
        let sealed = keys.seal(b"secret", "here").unwrap();
        assert_eq!(sealed.len(), 1 + 4 + 12 + 6 + 16);
        // The first bytes of the SHA-256 of 00 01 .. 1f.
        assert_eq!(sealed[..5], [1, 0x63, 0x0d, 0xcd, 0x29]);
        assert_ne!(sealed, keys.seal(b"secret", "here").unwrap(), "each seal has a new nonce");
        assert_eq!(*keys.open(&keys.seal(b"", "").unwrap(), "").unwrap(), b"");
    }

    #[test]
    fn an_altered_secret_does_not_open() {
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
    fn keys_are_parsed_from_base64_and_hexadecimal() {
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
        let generated = SecretKeys::generate().unwrap();
        let keys = SecretKeys::parse([generated.as_str()]).unwrap();
        assert_eq!(format!("{keys:?}"), "SecretKeys(1)");
    }
}

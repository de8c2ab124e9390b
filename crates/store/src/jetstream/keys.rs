//! Message authentication: everything that is sent through NATS carries a MAC, so that a NATS login alone is not enough
//! to make the service do anything.
//!
//! The MAC covers the subject: a message of one stream or epoch does not verify in another.

use aws_lc_rs::hmac;
use std::fmt;
use std::sync::Arc;

const TAG_LEN: usize = 32;

/// The keys of the MAC: the first one signs, any of them verifies.
#[derive(Clone)]
pub struct MessageKeys(Arc<[hmac::Key]>);

impl MessageKeys {
    /// The keys, of HMAC-SHA256. Without any, nothing can be sent and nothing verifies.
    pub fn new(keys: Vec<hmac::Key>) -> MessageKeys {
        MessageKeys(keys.into())
    }

    /// The payload after its MAC. `None` without a key.
    pub(super) fn sign(&self, subject: &str, payload: &[u8]) -> Option<Vec<u8>> {
        let tag = hmac::sign(self.0.first()?, &covered(subject, payload));
        Some([tag.as_ref(), payload].concat())
    }

    /// The payload of a signed message. `None` if it does not verify.
    pub(super) fn verify<'a>(&self, subject: &str, signed: &'a [u8]) -> Option<&'a [u8]> {
        let (tag, payload) = signed.split_at_checked(TAG_LEN)?;
        let covered = covered(subject, payload);
        self.0.iter().any(|key| hmac::verify(key, &covered, tag).is_ok()).then_some(payload)
    }
}

/// A subject contains no zero byte, so the parts are unambiguous.
fn covered(subject: &str, payload: &[u8]) -> Vec<u8> {
    [subject.as_bytes(), &[0], payload].concat()
}

impl fmt::Debug for MessageKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MessageKeys({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(seeds: &[u8]) -> MessageKeys {
        MessageKeys::new(seeds.iter().map(|seed| hmac::Key::new(hmac::HMAC_SHA256, &[*seed; 32])).collect())
    }

    #[test]
    fn any_key_verifies_and_the_first_one_signs() {
        let signed = keys(&[1]).sign("log.1.task", b"work").unwrap();
        assert_eq!(keys(&[2, 1]).verify("log.1.task", &signed), Some(&b"work"[..]));
        let promoted = keys(&[2, 1]).sign("log.1.task", b"work").unwrap();
        assert_eq!(keys(&[1, 2]).verify("log.1.task", &promoted), Some(&b"work"[..]));
        assert_eq!(keys(&[1]).verify("log.1.task", &promoted), None);
        assert_eq!(keys(&[]).sign("log.1.task", b"work"), None);
        assert_eq!(keys(&[]).verify("log.1.task", &signed), None);
    }

    #[test]
    fn an_altered_message_does_not_verify() {
        let keys = keys(&[1]);
        let signed = keys.sign("log.1.task", b"work").unwrap();
        assert_eq!(keys.verify("log.2.task", &signed), None, "of another epoch");
        for at in 0..signed.len() {
            let mut altered = signed.clone();
            altered[at] ^= 1;
            assert_eq!(keys.verify("log.1.task", &altered), None, "byte {at}");
            assert_eq!(keys.verify("log.1.task", &signed[..at]), None, "cut at {at}");
        }
    }
}

//! Tickets: 256 random bits in a link, stored as a hash, valid once. An operator creates them for people who cannot
//! sign in: an invitation, or a password reset.

use super::primitives::{self, NoRandomness};
use model::{Millis, Purpose, Ticket, Uid};
use std::time::Duration;
use zeroize::Zeroizing;

/// Prefix of every ticket, by which people and secret scanners recognise one.
const PREFIX: &str = "tfl_";
/// The length of 32 bytes in base64 without padding.
const ENCODED_LEN: usize = 43;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Lifetime of a ticket. The tables of a cluster keep one for 14 days at most.
fn lifetime(purpose: Purpose) -> Duration {
    match purpose {
        Purpose::Invitation => 7 * DAY,
        Purpose::Reset(_) => DAY,
    }
}

/// Generates a ticket. Returns the text for the link, and the stored ticket.
pub fn generate(
    purpose: Purpose,
    by: Option<Uid>,
    now: Millis,
) -> Result<(Zeroizing<String>, Ticket), NoRandomness> {
    let text = primitives::random_text::<32>(PREFIX)?;
    let lifetime = i64::try_from(lifetime(purpose).as_millis()).unwrap_or(i64::MAX);
    let ticket = Ticket {
        hash: primitives::sha256(text.as_bytes()),
        purpose,
        by,
        created: now,
        expires: Millis(now.0.saturating_add(lifetime)),
    };
    Ok((text, ticket))
}

/// The hash under which a ticket is stored, or `None` if the text does not have the form of a ticket.
pub(super) fn hash_of(text: &str) -> Option<[u8; 32]> {
    let encoded = text.strip_prefix(PREFIX)?;
    let base64url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (encoded.len() == ENCODED_LEN && encoded.bytes().all(base64url))
        .then(|| primitives::sha256(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_have_a_prefix_and_43_characters() {
        let now = Millis(1_700_000_000_000);
        let (text, ticket) = generate(Purpose::Invitation, None, now).unwrap();
        assert_eq!((text.len(), hash_of(&text)), (47, Some(ticket.hash)));
        assert_eq!(ticket.expires.0 - now.0, 7 * 86_400_000);
        let (other, reset) = generate(Purpose::Reset(Uid(1)), Some(Uid(2)), now).unwrap();
        assert_ne!(text, other);
        assert_eq!((reset.expires.0 - now.0, reset.by), (86_400_000, Some(Uid(2))));
        for wrong in ["", "tfl_", &text[4..], &format!("{}x", *text), &text.replace("tfl_", "tfk_")] {
            assert_eq!(hash_of(wrong), None, "{wrong}");
        }
    }
}

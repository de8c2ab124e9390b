//! Tickets: 256 random bits in a link, stored as a hash, valid once. An operator creates them for people who cannot
//! sign in: an invitation, or a password reset.

use super::{AuthError, Shared};
use model::{Millis, Purpose, Ticket, Uid};
use seal::NoRandomness;
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
    let text = seal::random_text::<32>(PREFIX)?;
    let lifetime = i64::try_from(lifetime(purpose).as_millis()).unwrap_or(i64::MAX);
    let ticket = Ticket {
        hash: seal::sha256(text.as_bytes()),
        purpose,
        by,
        created: now,
        expires: Millis(now.0.saturating_add(lifetime)),
    };
    Ok((text, ticket))
}

/// The hash under which a ticket is stored, or `None` if the text does not have the form of a ticket.
fn hash_of(text: &str) -> Option<[u8; 32]> {
    let encoded = text.strip_prefix(PREFIX)?;
    let base64url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (encoded.len() == ENCODED_LEN && encoded.bytes().all(base64url)).then(|| seal::sha256(text.as_bytes()))
}

/// Creates and finds tickets.
pub struct Tickets {
    pub(super) shared: Shared,
}

impl Tickets {
    /// Creates an invitation. Returns the text for the link, and the stored ticket.
    pub async fn invite(&self, by: Option<Uid>) -> Result<(Zeroizing<String>, Ticket), AuthError> {
        self.add(Purpose::Invitation, by).await
    }

    /// Creates a ticket for a password reset. Returns the text for the link, and the stored ticket.
    pub async fn reset_link(
        &self,
        uid: Uid,
        by: Option<Uid>,
    ) -> Result<(Zeroizing<String>, Ticket), AuthError> {
        self.add(Purpose::Reset(uid), by).await
    }

    /// The ticket with that text, if it is neither used nor expired.
    pub async fn get(&self, text: &str) -> Result<Option<Ticket>, AuthError> {
        let Some(hash) = hash_of(text) else { return Ok(None) };
        let now = self.shared.clock.now();
        Ok(self.shared.store.ticket(&hash).await?.filter(|ticket| now < ticket.expires))
    }

    async fn add(&self, purpose: Purpose, by: Option<Uid>) -> Result<(Zeroizing<String>, Ticket), AuthError> {
        let (text, ticket) = generate(purpose, by, self.shared.clock.now())?;
        self.shared.store.add_ticket(&ticket).await?;
        Ok((text, ticket))
    }
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

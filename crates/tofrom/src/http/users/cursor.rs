//! Where a listing of accounts goes on. Like the cursors of collections: opaque, versioned, bound to where it comes
//! from, with a checksum against accidents, and without a secret, for it grants nothing.

use super::listing::Which;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::{CursorError, Uid};

const VERSION: u8 = 1;

/// After whom the next page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct After(pub(super) Uid);

impl After {
    /// The text that stands in a link.
    pub(super) fn encode(self, owner: Uid, which: Which) -> String {
        let mut bytes = vec![VERSION, number(which)];
        bytes.extend(owner.0.to_be_bytes());
        bytes.extend(self.0.0.to_be_bytes());
        let checksum = checksum(&bytes);
        bytes.extend(checksum);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads a cursor that must have come from this listing.
    pub(super) fn decode(text: &str, owner: Uid, which: Which) -> Result<After, CursorError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| CursorError::Altered)?;
        let (content, sum) = bytes.split_last_chunk::<8>().ok_or(CursorError::Altered)?;
        if checksum(content) != *sum {
            return Err(CursorError::Altered);
        }
        let (head, numbers) = content.split_first_chunk::<2>().ok_or(CursorError::Altered)?;
        let (bound, after) = numbers.split_first_chunk::<8>().ok_or(CursorError::Altered)?;
        let after: [u8; 8] = after.try_into().map_err(|_| CursorError::Altered)?;
        let here = *head == [VERSION, number(which)] && i64::from_be_bytes(*bound) == owner.0;
        if here { Ok(After(Uid(i64::from_be_bytes(after)))) } else { Err(CursorError::Foreign) }
    }
}

fn number(which: Which) -> u8 {
    match which {
        Which::Following => 0,
        Which::Followers => 1,
    }
}

fn checksum(bytes: &[u8]) -> [u8; 8] {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
    digest.as_ref().first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_good_where_it_comes_from() {
        let (owner, after) = (Uid(7), After(Uid(i64::MAX)));
        let text = after.encode(owner, Which::Followers);
        assert_eq!(After::decode(&text, owner, Which::Followers), Ok(after));
        assert_eq!(After::decode(&text, owner, Which::Following), Err(CursorError::Foreign));
        assert_eq!(After::decode(&text, Uid(8), Which::Followers), Err(CursorError::Foreign));
        for at in 0..text.len() {
            let mut altered = text.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            assert!(After::decode(&altered, owner, Which::Followers).is_err(), "{altered}");
        }
        for none in ["", "AQ", "AQIDBA", "!"] {
            assert_eq!(After::decode(none, owner, Which::Followers), Err(CursorError::Altered));
        }
    }
}

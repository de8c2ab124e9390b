//! Cursors of account lists. Like those of collections, they are opaque, versioned, bound to their list, and protected
//! by a checksum against accidental changes. They need no secret, because they grant nothing.

use super::listing::AccountList;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::{CursorError, Uid};

const VERSION: u8 = 1;

/// The account after which the next page starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct After(pub(super) Uid);

impl After {
    /// The text of the cursor in a link.
    pub(super) fn encode(self, owner: Uid, list: AccountList) -> String {
        let mut bytes = vec![VERSION, list_code(list)];
        bytes.extend(owner.0.to_be_bytes());
        bytes.extend(self.0.0.to_be_bytes());
        let checksum = checksum(&bytes);
        bytes.extend(checksum);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Decodes a cursor and checks that it belongs to this list.
    pub(super) fn decode(text: &str, owner: Uid, list: AccountList) -> Result<After, CursorError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| CursorError::Altered)?;
        let (content, sum) = bytes.split_last_chunk::<8>().ok_or(CursorError::Altered)?;
        if checksum(content) != *sum {
            return Err(CursorError::Altered);
        }
        let (head, numbers) = content.split_first_chunk::<2>().ok_or(CursorError::Altered)?;
        let (bound, after) = numbers.split_first_chunk::<8>().ok_or(CursorError::Altered)?;
        let after: [u8; 8] = after.try_into().map_err(|_| CursorError::Altered)?;
        let is_bound = *head == [VERSION, list_code(list)] && i64::from_be_bytes(*bound) == owner.0;
        if is_bound { Ok(After(Uid(i64::from_be_bytes(after)))) } else { Err(CursorError::Foreign) }
    }
}

fn list_code(list: AccountList) -> u8 {
    match list {
        AccountList::Following => 0,
        AccountList::Followers => 1,
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
    fn a_cursor_is_valid_only_for_its_list() {
        let (owner, after) = (Uid(7), After(Uid(i64::MAX)));
        let text = after.encode(owner, AccountList::Followers);
        assert_eq!(After::decode(&text, owner, AccountList::Followers), Ok(after));
        assert_eq!(After::decode(&text, owner, AccountList::Following), Err(CursorError::Foreign));
        assert_eq!(After::decode(&text, Uid(8), AccountList::Followers), Err(CursorError::Foreign));
        for at in 0..text.len() {
            let mut altered = text.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            assert!(After::decode(&altered, owner, AccountList::Followers).is_err(), "{altered}");
        }
        for invalid in ["", "AQ", "AQIDBA", "!"] {
            assert_eq!(After::decode(invalid, owner, AccountList::Followers), Err(CursorError::Altered));
        }
    }
}

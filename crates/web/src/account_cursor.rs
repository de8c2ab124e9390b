//! Cursors of lists of accounts: sealed like those of collections, and bound to their list and its owner.

use model::{CursorError, CursorKeys, ParameterError, Uid};

/// A list of accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccountList {
    /// The accounts that an account follows.
    Following,
    /// The followers of an account.
    Followers,
}

impl AccountList {
    /// Its name in addresses.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            AccountList::Following => "following",
            AccountList::Followers => "followers",
        }
    }

    /// Its kind in the content of a cursor. Collections have 0 to 2.
    fn code(self) -> u8 {
        match self {
            AccountList::Following => 3,
            AccountList::Followers => 4,
        }
    }

    /// The cursor of the page after an account. `owner` is the account whose list it is.
    pub(crate) fn encode(self, owner: Uid, after: Uid, keys: &CursorKeys) -> String {
        keys.seal([&[self.code()][..], &owner.0.to_be_bytes(), &after.0.to_be_bytes()].concat())
    }

    /// The account after which the page starts.
    pub(crate) fn decode(self, owner: Uid, text: &str, keys: &CursorKeys) -> Result<Uid, ParameterError> {
        self.read(owner, text, keys)
            .map_err(|error| ParameterError { parameter: "cursor", detail: error.to_string() })
    }

    fn read(self, owner: Uid, text: &str, keys: &CursorKeys) -> Result<Uid, CursorError> {
        let content = keys.open(text).ok_or(CursorError::Altered)?;
        let (head, after) = content.split_last_chunk::<8>().ok_or(CursorError::Altered)?;
        let is_bound = *head == [&[self.code()][..], &owner.0.to_be_bytes()].concat();
        if is_bound { Ok(Uid(i64::from_be_bytes(*after))) } else { Err(CursorError::Foreign) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_valid_only_for_its_list() {
        let (owner, after, keys) = (Uid(7), Uid(i64::MAX), CursorKeys::new(&[[1; 32]]));
        let text = AccountList::Followers.encode(owner, after, &keys);
        assert_eq!(AccountList::Followers.read(owner, &text, &keys), Ok(after));
        assert_eq!(AccountList::Following.read(owner, &text, &keys), Err(CursorError::Foreign));
        assert_eq!(AccountList::Followers.read(Uid(8), &text, &keys), Err(CursorError::Foreign));
        for at in 0..text.len() {
            let mut altered = text.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            assert!(AccountList::Followers.read(owner, &altered, &keys).is_err(), "{altered}");
        }
        for invalid in ["", "Ag", "AgIDBA", "!"] {
            let read = AccountList::Followers.read(owner, invalid, &keys);
            assert_eq!(read, Err(CursorError::Altered), "{invalid}");
        }
    }
}

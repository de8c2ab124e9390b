//! Identifiers. Each has its own type, so that they cannot be confused.

use crate::Millis;
use serde::{Deserialize, Serialize};
use std::fmt;
use uuid::Uuid;

/// An account's number in the store, assigned when the account is created. It is never shown and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(pub i64);

/// The version of a state. The later one wins, and equal versions mean equal content.
///
/// It is the time of the change, raised above the version before it. So it approximates the time of the change, but
/// nothing relies on that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Version(pub i64);

impl Version {
    /// The version of a change at `now` to a state with version `before`.
    pub fn next(now: Millis, before: Option<Version>) -> Version {
        Version(now.0.max(before.map_or(0, |v| v.0.saturating_add(1))))
    }

    /// The next version of a state whose versions are only counted.
    #[must_use]
    pub fn following(self) -> Version {
        Version(self.0.saturating_add(1))
    }
}

/// A position in the delivery log. Later deliveries have larger positions. A position says nothing about time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

/// An activity's identifier: always a UUID of version 7, so that every engine orders identifiers alike (some order
/// UUIDs by version first, some by bytes).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActivityId(Uuid);

impl ActivityId {
    /// The smallest identifier: after a whole millisecond in descending order.
    pub const MIN: ActivityId = ActivityId(Uuid::from_u128(0x7 << 76 | 0x2 << 62));

    /// A new identifier for an activity received at `received`, with 74 random bits.
    pub fn new(received: Millis, random: [u8; 10]) -> ActivityId {
        let millis = u64::try_from(received.0).unwrap_or(0);
        ActivityId(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
    }

    /// Parses 16 bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Option<ActivityId> {
        let uuid = Uuid::from_bytes(bytes);
        (uuid.get_version_num() == 7 && uuid.get_variant() == uuid::Variant::RFC4122)
            .then_some(ActivityId(uuid))
    }

    /// Parses the hyphenated form, in any case.
    pub fn parse(text: &str) -> Option<ActivityId> {
        let hyphenated = text.len() == 36;
        Uuid::try_parse(text)
            .ok()
            .filter(|_| hyphenated)
            .and_then(|uuid| ActivityId::from_bytes(uuid.into_bytes()))
    }

    /// The 16 bytes, which sort like the identifiers.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }
}

impl fmt::Display for ActivityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl fmt::Debug for ActivityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

/// The public identifier of a pre-shared key, for listings. It is no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub u64);

impl KeyId {
    /// Parses the form that [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Option<KeyId> {
        (text.len() == 16).then(|| u64::from_str_radix(text, 16).ok()).flatten().map(KeyId)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// An account's name: 1 to 64 of `a-z 0-9 . _ -`, starting with a letter or digit. Stored in lower case, so
/// comparisons ignore case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AccountName(String);

/// The text is not an account name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a name is 1 to 64 of a-z, 0-9, '.', '_' and '-', and starts with a letter or a digit")]
pub struct InvalidName;

impl AccountName {
    /// Parses a name.
    pub fn parse(text: &str) -> Result<AccountName, InvalidName> {
        let starts_well = text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        if starts_well && text.len() <= 64 && text.bytes().all(allowed) {
            Ok(AccountName(text.to_ascii_lowercase()))
        } else {
            Err(InvalidName)
        }
    }

    /// The name in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AccountName {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<AccountName, InvalidName> {
        AccountName::parse(&text)
    }
}

impl From<AccountName> for String {
    fn from(name: AccountName) -> String {
        name.0
    }
}

impl fmt::Display for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_version_7_is_an_identifier() {
        let id = ActivityId::new(Millis(1_700_000_000_000), [7; 10]);
        assert_eq!(ActivityId::parse(&id.to_string()), Some(id));
        assert_eq!(ActivityId::parse(&id.to_string().to_uppercase()), Some(id));
        assert_eq!(ActivityId::parse("6fa459ea-ee8a-4ca4-894e-db77e160355e"), None, "version 4");
        assert_eq!(ActivityId::parse(&id.to_string().replace('-', "")), None, "without hyphens");
        assert_eq!(ActivityId::from_bytes([0; 16]), None);
        assert!(ActivityId::from_bytes(*ActivityId::MIN.as_bytes()).is_some());
        assert!(ActivityId::MIN <= ActivityId::new(Millis(0), [0; 10]));
    }

    #[test]
    fn identifiers_are_ordered_as_their_bytes() {
        let (a, b) = (ActivityId::new(Millis(5), [255; 10]), ActivityId::new(Millis(6), [0; 10]));
        assert!(a < b && a.as_bytes() < b.as_bytes());
    }

    #[test]
    fn account_names_are_validated() {
        assert_eq!(AccountName::parse("Alice.B_c-9").unwrap().as_str(), "alice.b_c-9");
        for wrong in ["", "-a", "_a", ".a", "a b", "é", "a/b", "a\0", &"a".repeat(65)] {
            assert_eq!(AccountName::parse(wrong), Err(InvalidName), "{wrong:?}");
        }
        assert!(AccountName::parse(&"a".repeat(64)).is_ok());
    }

    #[test]
    fn a_later_version_is_always_larger() {
        assert_eq!(Version::next(Millis(10), None), Version(10));
        assert_eq!(Version::next(Millis(10), Some(Version(10))), Version(11));
        assert_eq!(Version::next(Millis(20), Some(Version(10))), Version(20));
    }
}

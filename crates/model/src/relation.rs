//! What accounts decide about each other: blocks, mutes, and who may address them.

/// Who may address an account. It is judged when an activity is accepted, and kept with the activity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressableBy {
    /// Every account.
    #[default]
    Everyone,
    /// The accounts that it follows.
    Following,
    /// No other account.
    Nobody,
}

impl AddressableBy {
    /// All of them. The index of each is its number in the store.
    pub const ALL: [AddressableBy; 3] =
        [AddressableBy::Everyone, AddressableBy::Following, AddressableBy::Nobody];

    /// The name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            AddressableBy::Everyone => "everyone",
            AddressableBy::Following => "following",
            AddressableBy::Nobody => "nobody",
        }
    }

    /// Parses the name, in any case.
    pub fn parse(text: &str) -> Option<AddressableBy> {
        AddressableBy::ALL.into_iter().find(|one| text.eq_ignore_ascii_case(one.as_str()))
    }

    /// The number in the store.
    pub fn number(self) -> u8 {
        match self {
            AddressableBy::Everyone => 0,
            AddressableBy::Following => 1,
            AddressableBy::Nobody => 2,
        }
    }

    /// The one with this number.
    pub fn numbered(number: u8) -> Option<AddressableBy> {
        AddressableBy::ALL.into_iter().find(|one| one.number() == number)
    }
}

/// A decision of an account about another. It is kept by name, so it also holds for an account that is created later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// The other may neither follow nor address the account, and sees it as private.
    Block,
    /// The other's activities are not in the account's `to`.
    Mute,
}

impl Decision {
    /// Both.
    pub const ALL: [Decision; 2] = [Decision::Block, Decision::Mute];
}

/// The relation of an account to another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relation {
    /// The account blocks the other.
    pub blocks: bool,
    /// The account mutes the other.
    pub mutes: bool,
    /// The other blocks the account.
    pub blocked_by: bool,
}

//! How much storage an engine uses, for operators.

use model::Uid;

/// The sizes of a store in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageUse {
    /// The database file.
    pub database: u64,
    /// Its part that is free for new data.
    pub unused: u64,
    /// The write-ahead log.
    pub log: u64,
    /// The accounts with the largest texts, the largest first.
    pub accounts: Vec<AccountUse>,
}

/// The storage of one account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountUse {
    /// The account.
    pub uid: Uid,
    /// The number of its activities.
    pub activities: u64,
    /// The size of their texts in bytes.
    pub bytes: u64,
}

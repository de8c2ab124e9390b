//! The interface of blocks and mutes.

use crate::Result;
use async_trait::async_trait;
use model::{AccountName, Decision, Position, Relation, Uid, Version};

/// A decision of an account about another, or its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionChange {
    /// The account.
    pub owner: Uid,
    /// Its name.
    pub name: AccountName,
    /// The decision.
    pub decision: Decision,
    /// The name of the other account, which need not exist.
    pub other: AccountName,
    /// The number of the other account, if it exists.
    pub other_uid: Option<Uid>,
    /// The version.
    pub version: Version,
    /// Whether the decision holds from this version on.
    pub holds: bool,
}

/// What an account may know of the blocks of others against it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockedBy {
    /// Whether the other account blocks it.
    pub holds: bool,
    /// The version of the latest change of any block against it.
    pub changed: Version,
}

/// Blocks and mutes: versioned states, by the names of both accounts. Everything that a read of an account's collections
/// needs lies with that account, so one look-up finds it.
#[async_trait]
pub trait Relations: Send + Sync {
    /// Stores a decision unless the stored version is equal or later, and appends a task to the log. Returns the position
    /// of the task. `None`: nothing was changed.
    async fn put_decision(&self, change: &DecisionChange) -> Result<Option<Position>>;

    /// The version of a decision, and whether it holds. A decision that ended long ago may be missing.
    async fn decision(
        &self,
        name: &AccountName,
        decision: Decision,
        other: &AccountName,
    ) -> Result<Option<(Version, bool)>>;

    /// The relations of an account to these others.
    async fn relations(&self, name: &AccountName, others: &[AccountName]) -> Result<Vec<Relation>>;

    /// The names about which the account has made this decision, in order, after `after`.
    async fn decided(
        &self,
        name: &AccountName,
        decision: Decision,
        after: Option<&AccountName>,
        limit: usize,
    ) -> Result<Vec<AccountName>>;

    /// Whether the account `by` blocks the account.
    async fn blocked_by(&self, name: &AccountName, by: &AccountName) -> Result<BlockedBy>;
}

/// The number of a decision in the store.
pub(crate) fn decision_number(decision: Decision) -> i8 {
    match decision {
        Decision::Block => 0,
        Decision::Mute => 1,
    }
}

/// The number of the copy of a block that lies with the blocked account.
pub(crate) const BLOCKED_BY: i8 = 2;
/// The number of the row with the version of the latest change of such copies. Its other name is empty.
pub(crate) const BLOCKED_BY_CHANGED: i8 = 3;

/// Adds a stored row that holds to a relation.
pub(crate) fn add_to(relation: &mut Relation, number: i8) {
    match number {
        0 => relation.blocks = true,
        1 => relation.mutes = true,
        BLOCKED_BY => relation.blocked_by = true,
        _ => {}
    }
}

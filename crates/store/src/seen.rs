//! Seen positions: how far an account has read each of its collections. A versioned state, changed by
//! [`update`](crate::update), so that two devices never move it back.

use crate::Result;
use async_trait::async_trait;
use model::{Collection, SyncToken, Uid, Version};

/// The seen position of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The account.
    pub owner: Uid,
    /// The collection.
    pub collection: Collection,
    /// The version of this state.
    pub version: Version,
    /// What the account has seen.
    pub sync_token: SyncToken,
}

/// Seen positions.
#[async_trait]
pub trait SeenPositions: Send + Sync {
    /// The seen position of a collection. `None`: it was never set.
    async fn seen(&self, owner: Uid, collection: Collection) -> Result<Option<Seen>>;

    /// Replaces a seen position if the stored version is `before` (`None`: nothing is stored). `false`: another version
    /// is stored, and nothing was changed. Callers use [`update`](crate::update).
    async fn replace_seen(&self, before: Option<Version>, seen: &Seen) -> Result<bool>;
}

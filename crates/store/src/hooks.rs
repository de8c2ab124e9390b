//! Hooks: an account's collection is sent to an address, event by event.
//!
//! A hook is two records. Its settings are a versioned state, changed by [`update`](crate::update). Its progress is
//! written by the one process that holds the lease of its shard, and the later version wins: an older position only
//! repeats events. The `state` bytes of both are opaque to the store.

use crate::{Result, SHARDS};
use async_trait::async_trait;
use model::{HookId, Uid, Version};

/// The settings of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The account.
    pub owner: Uid,
    /// The name that the account gave it: 1 to 64 of `a-z 0-9 . _ -`.
    pub name: String,
    /// The version of this state.
    pub version: Version,
    /// The identifier. A later hook of the same name has another one.
    pub id: HookId,
    /// Whether the account removed it.
    pub removed: bool,
    /// Everything else, opaque to the store.
    pub state: Vec<u8>,
}

/// How far a hook has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookProgress {
    /// The hook.
    pub id: HookId,
    /// The version of this record.
    pub version: Version,
    /// Everything else, opaque to the store.
    pub state: Vec<u8>,
}

/// A hook in the list of its shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedHook {
    /// The account.
    pub owner: Uid,
    /// The name of the hook.
    pub name: String,
    /// The version of its settings.
    pub version: Version,
}

/// The shard of an account's hooks, below [`SHARDS`]. All of them are in one shard, so one process delivers them.
pub fn hook_shard(owner: Uid) -> u16 {
    u16::try_from(owner.0.rem_euclid(i64::from(SHARDS))).unwrap_or(0)
}

/// Hooks.
#[async_trait]
pub trait Hooks: Send + Sync {
    /// The account's hook with this name, including a removed one.
    async fn hook(&self, owner: Uid, name: &str) -> Result<Option<Hook>>;

    /// The account's hooks by name, without removed ones.
    async fn hooks_of(&self, owner: Uid) -> Result<Vec<Hook>>;

    /// The hooks of a shard by owner and name, after `after`, without removed ones. The list is a hint: a listed hook may
    /// have another version, or none, so the caller reads it. Fewer than the limit means that there are no more.
    async fn hooks_in(
        &self,
        shard: u16,
        after: Option<(Uid, String)>,
        limit: usize,
    ) -> Result<Vec<ListedHook>>;

    /// Replaces a hook if the stored version is `before` (`None`: nothing is stored). `false`: another version is stored,
    /// and nothing was changed. Callers use [`update`](crate::update).
    async fn replace_hook(&self, before: Option<Version>, hook: &Hook) -> Result<bool>;

    /// The progress of these hooks.
    async fn hook_progress(&self, ids: &[HookId]) -> Result<Vec<Option<HookProgress>>>;

    /// Writes the progress of a hook unless the stored version is later.
    async fn put_hook_progress(&self, progress: &HookProgress) -> Result<()>;

    /// Deletes the progress of a hook that was removed.
    async fn delete_hook_progress(&self, id: HookId) -> Result<()>;
}

//! Storage: the interface that every engine implements, and the engines. The conformance suite in
//! `tests/main/conformance` defines the interface and runs against every engine.
//!
//! The interface suits an engine whose only read is an ordered slice of a bounded partition. Its terms are slices,
//! facets, versions, claims, positions and batches. Every engine guarantees:
//!
//! - **No clock.** Times, versions and identifiers come from the caller, positions from the log. The same calls
//!   produce the same content on every engine, at any time.
//! - **Writes are idempotent.** A state with one writer is written whole, and the later version wins in any order
//!   of arrival. A state that is read, changed and written back is replaced by compare-and-set on its version
//!   ([`update`]), so no change is lost to a race.
//! - **A returned write is durable.** It survives a crash.
//! - **Entries are hints, state is the truth.** An entry may lag behind, so a reader checks the state of an
//!   activity before showing it.
//! - **Batch results line up.** A batch look-up returns one result per key, in the order of the keys.

mod accounts;
mod activities;
mod audit;
mod codec;
mod copying;
pub mod cql;
mod dependencies;
mod erasure;
mod fanout_mode;
pub mod faulty;
mod feeds;
mod grants;
mod hooks;
pub mod jetstream;
pub mod links;
mod log;
mod message;
mod name_index;
mod relations;
mod seen;
mod sessions;
mod sources;
pub mod sqlite;
mod storage_use;
mod telemetry;
pub mod trace;
mod update;
mod usage;

pub use accounts::{AccountCache, Accounts, NewAccount, change_account};
pub use activities::{Acceptance, Accepted, Activities, Claim, ExternalKey};
pub use audit::{Audit, SecondFactors};
pub use copying::{ActivityRecord, Copying, Removal};
pub use dependencies::{Changes, Dependencies, Mark, Part, Standing, Subject, holds_until, recorded};
pub use erasure::Erasures;
pub use fanout_mode::{FanoutModes, Follower, LastRead};
pub use feeds::{Arrival, Feeds, Slice};
pub use grants::{Credentials, Grants, Nonce, Secret};
pub use hooks::{Hook, HookProgress, Hooks, ListedHook, hook_shard};
pub use log::{Backlog, DeadLetter, Log, Task, TracedWork, Work};
pub use relations::{BlockedBy, DecisionChange, Relations};
pub use seen::{Seen, SeenPositions};
pub use sessions::{KnownNetwork, MAX_NETWORKS, Networks, Sessions, Tickets};
pub use sources::{Connection, SHARDS, Source, Sources};
pub use storage_use::{AccountUse, StorageUse};
pub use telemetry::{CQL_SECONDS, PUBLISH_SECONDS, describe_metrics};
pub use update::{StripedLocks, Versioned, update};
pub use usage::{Usage, Usages};

use async_trait::async_trait;
use model::{Edge, EdgeFilter, Millis, Position, Uid, Version};
use tokio::sync::mpsc;

/// The result of a call to a store.
pub type Result<T> = std::result::Result<T, StoreError>;

/// A call to a store failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing was changed. The same call may succeed later.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The outcome of a write is unknown. Repeating the write is safe, and so is reading the stored value.
    #[error("the outcome of a write to the store is unknown: {0}")]
    Unknown(String),
    /// A stored value is invalid. Repeating the call does not help.
    #[error("invalid data in the store: {0}")]
    Corrupt(String),
}

/// A notice to other processes. It only saves time: they detect the same by themselves later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Entries arrived for these accounts, at this position or before.
    Arrived(Position, Vec<Uid>),
    /// An authentication failed; it is counted under this key.
    Failed(Vec<u8>),
    /// A seen position of this account moved.
    Seen(Uid),
    /// Hooks of this account changed.
    Hooks(Uid),
    /// Another process has accepted this many requests of each account.
    Requests(Vec<(Uid, u32)>),
}

/// A stream of notices.
pub type Notices = mpsc::Receiver<Notice>;

/// A complete store.
#[async_trait]
pub trait Store:
    Accounts
    + Credentials
    + Grants
    + Sessions
    + Tickets
    + Networks
    + SecondFactors
    + Audit
    + Erasures
    + Graph
    + Relations
    + Activities
    + Feeds
    + FanoutModes
    + Usages
    + Sources
    + SeenPositions
    + Hooks
    + Leases
    + Log
{
    /// Succeeds if the store can be read. Says nothing about the delivery log.
    async fn ping(&self) -> Result<()>;

    /// Settings of the engine under which an acknowledged write could be lost, as messages for an operator. Empty if
    /// there are none.
    async fn durability_warnings(&self) -> Result<Vec<String>>;

    /// Sends a notice to the other processes of the service. Delivery is not guaranteed, and nothing may rely on it.
    async fn broadcast(&self, notice: &Notice) -> Result<()>;

    /// Notices that other processes broadcast from now on. `None` if the engine does not support other processes.
    async fn subscribe(&self) -> Result<Option<Notices>>;

    /// Sets a named value unless it is set already. Returns the stored value: that of the first call, for ever.
    async fn set_once(&self, name: &str, value: &str) -> Result<String>;

    /// Deletes temporary credentials, nonces, sessions, tickets, networks and audit records that expired before `now`,
    /// and, if the store was opened with a retention, entries and bodies of activities that were received longer ago. An engine
    /// that expires rows itself does nothing. Readers check the expiry in any case.
    async fn forget_expired(&self, now: Millis) -> Result<()>;

    /// The sizes of the store, with the largest accounts. `None` if the engine's own tools tell them.
    async fn storage_use(&self, accounts: usize) -> Result<Option<StorageUse>>;

    /// Whether [`Activities::search`] finds anything: not every engine has an index of texts.
    fn searches_text(&self) -> bool;

    /// What has changed in this store. `None`: the engine does not know. Whole pages are then not cached.
    fn changes(&self) -> Option<&dyn Changes> {
        None
    }

    /// Locks that serialise the updates of one state within this process; see [`update`].
    fn update_locks(&self) -> &StripedLocks;
}

/// Leases: each is held by one process at a time.
#[async_trait]
pub trait Leases: Send + Sync {
    /// Acquires or renews the lease of this name until `until`. A renewal never shortens it. `false`: another holder
    /// has it, and it has not expired.
    async fn lease(&self, name: &str, holder: &str, now: Millis, until: Millis) -> Result<bool>;

    /// Releases a lease early, on a clean stop. Does nothing if another holder has it.
    async fn release(&self, name: &str, holder: &str) -> Result<()>;
}

/// The follow graph: edges as versioned states, readable from both ends.
#[async_trait]
pub trait Graph: Send + Sync {
    /// Replaces an edge unless the stored version is equal or later, and appends a task to the log. The filter, whose
    /// version is separate, is replaced alike. Returns the position of the task. `None`: nothing was changed.
    async fn put_edge(&self, follower: Uid, followee: Uid, edge: &Edge) -> Result<Option<Position>>;

    /// Replaces the filter of an edge unless the stored version is equal or later, and appends a task to the log. Returns
    /// the position of the task. `None`: nothing was changed.
    async fn put_edge_filter(
        &self,
        follower: Uid,
        followee: Uid,
        version: Version,
        filter: &EdgeFilter,
    ) -> Result<Option<Position>>;

    /// The follower's edges to these accounts, including ended ones.
    async fn edges(&self, follower: Uid, followees: &[Uid]) -> Result<Vec<Option<Edge>>>;

    /// The live edges of a follower, ordered by followee, after `after`.
    async fn following(&self, follower: Uid, after: Option<Uid>, limit: usize) -> Result<Vec<(Uid, Edge)>>;

    /// The current followers of an account, ordered by number, after `after`.
    async fn followers(&self, followee: Uid, after: Option<Uid>, limit: usize) -> Result<Vec<Follower>>;
}

//! Sources, and the connections of accounts to them.
//!
//! A source is an address that is fetched once for all accounts that share it. A connection turns the items of a
//! source into activities of an account. Both are versioned states; their `state` bytes are opaque to the store. The
//! caller decides when a source is fetched next, and the store finds sources that are due.

use crate::Result;
use async_trait::async_trait;
use model::{Millis, SourceId, Uid, Version};

/// The number of shards. A source belongs to a shard by its host, so the holder of a shard is the only one to fetch
/// from its hosts.
pub const SHARDS: u16 = 64;

/// An address that is fetched regularly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The identifier.
    pub id: SourceId,
    /// The version of this state.
    pub version: Version,
    /// The shard, below [`SHARDS`].
    pub shard: u16,
    /// When it is due. `None`: it is not fetched.
    pub due: Option<Millis>,
    /// Everything else, opaque to the store.
    pub state: Vec<u8>,
}

/// A connection: the items of a source become activities of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The account.
    pub owner: Uid,
    /// The name that the account gave it: 1 to 64 of `a-z 0-9 . _ -`.
    pub name: String,
    /// The version of this state.
    pub version: Version,
    /// The source of the connection.
    pub source: SourceId,
    /// Whether the account removed it.
    pub removed: bool,
    /// Everything else, opaque to the store.
    pub state: Vec<u8>,
}

/// Sources and connections.
#[async_trait]
pub trait Sources: Send + Sync {
    /// The source with this identifier.
    async fn source(&self, id: SourceId) -> Result<Option<Source>>;

    /// A page of all sources after the one with the identifier `after`, in an order that the engine chooses. Fewer
    /// sources than the limit means that there are no more.
    async fn list_sources(&self, after: Option<SourceId>, limit: usize) -> Result<Vec<Source>>;

    /// Replaces a source if the stored version is `before` (`None`: nothing is stored), and schedules it for its due
    /// time. `false`: another version is stored, and nothing was changed. Callers use [`update`](crate::update).
    /// While the shard is polled, the due time must not be more than ten minutes in the past: use the current time
    /// for "now".
    async fn replace_source(&self, before: Option<Version>, source: &Source) -> Result<bool>;

    /// Sources of a shard that are due at `now`; about the longest overdue first. The result may include a source
    /// whose state has a later due time, so the caller checks the state. If the shard was not polled for long, or a
    /// due time was in the past when it was stored, it may take a minute or several calls until a source is found. A
    /// source is returned until a later state changes its due time.
    async fn due_sources(&self, shard: u16, now: Millis, limit: usize) -> Result<Vec<SourceId>>;

    /// The account's connection with this name, including a removed one.
    async fn connection(&self, owner: Uid, name: &str) -> Result<Option<Connection>>;

    /// The account's connections by name, without removed ones.
    async fn connections_of(&self, owner: Uid) -> Result<Vec<Connection>>;

    /// The connections to a source by owner and name, after `after`, without removed ones. Those of removed accounts
    /// are included. Fewer than the limit means that there are no more.
    async fn connections_to(
        &self,
        source: SourceId,
        after: Option<(Uid, String)>,
        limit: usize,
    ) -> Result<Vec<Connection>>;

    /// Replaces a connection if the stored version is `before` (`None`: nothing is stored). The source may change:
    /// [`connections_to`](Sources::connections_to) then lists the connection for the new source only. `false`:
    /// another version is stored, and nothing was changed. Callers use [`update`](crate::update).
    async fn replace_connection(&self, before: Option<Version>, connection: &Connection) -> Result<bool>;
}

/// A source, and the slot in which it is scheduled.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScheduledSource {
    pub(crate) source: Source,
    /// The time of the slot, which is in the source's shard.
    pub(crate) slot: Option<Millis>,
}

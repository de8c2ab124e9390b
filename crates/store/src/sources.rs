//! What accounts do elsewhere, and how it is fetched: sources, and the connections of accounts to them.
//!
//! A source is an address that is fetched once however many accounts share it; a connection is an account's wish that
//! what a source has becomes its activities. Both are states with a version, and what the service knows of them are
//! bytes of its own. When a source is fetched is the service's choice too: the store finds those whose time has come.

use crate::Result;
use async_trait::async_trait;
use model::{Millis, SourceId, Uid, Version};

/// Sources are dealt to so many shards by their host, so that whoever holds a shard is alone with its hosts.
pub const SHARDS: u16 = 64;

/// An address that is fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Tells it from the others.
    pub id: SourceId,
    /// The version of this state.
    pub version: Version,
    /// Where it was dealt to, below [`SHARDS`].
    pub shard: u16,
    /// When it is to be fetched; `None`: not any more.
    pub due: Option<Millis>,
    /// What the service knows of it.
    pub state: Vec<u8>,
}

/// An account's wish that a source's items become its activities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Whose it is.
    pub owner: Uid,
    /// What the account calls it: 1 to 64 of `a-z 0-9 . _ -`.
    pub name: String,
    /// The version of this state.
    pub version: Version,
    /// What it is a connection to.
    pub source: SourceId,
    /// Whether the account does not wish it any more.
    pub removed: bool,
    /// What the service knows of it.
    pub state: Vec<u8>,
}

/// Sources and connections, and leases for those who fetch.
#[async_trait]
pub trait Sources: Send + Sync {
    /// The source.
    async fn source(&self, id: SourceId) -> Result<Option<Source>>;

    /// A page of all sources in an order of the store's own: those after the one with the identifier `after`. Fewer than
    /// the limit means that there are no more.
    async fn list_sources(&self, after: Option<SourceId>, limit: usize) -> Result<Vec<Source>>;

    /// Replaces the source's state if the stored version is `before` (`None`: nothing is stored), and has it found at its
    /// due time. `false`: another version is stored, and nothing was changed; [`update`](crate::update) tries again.
    /// While the shard is being walked, the due time must not be past by more than ten minutes: "at once" is now.
    async fn replace_source(&self, before: Option<Version>, source: &Source) -> Result<bool>;

    /// Sources of a shard whose time has come by `now`, the longest waiting first as far as the engine can tell. It may
    /// give one whose state says a later time by now: whoever is given it looks. After a long time in which nobody
    /// asked, or where a time is past already when it is put, it may take a minute, or several calls, until one is found.
    /// One is given again until a later state moves its time.
    async fn due_sources(&self, shard: u16, now: Millis, limit: usize) -> Result<Vec<SourceId>>;

    /// Takes the lease of that name until then: `true` for whoever has it now, also who has it already and prolongs it (it
    /// does not become shorter). Somebody else's that has not ended: `false`.
    async fn lease(&self, name: &str, holder: &str, now: Millis, until: Millis) -> Result<bool>;

    /// Gives a lease back early, on a clean stop. Somebody else's stays.
    async fn release(&self, name: &str, holder: &str) -> Result<()>;

    /// What the account calls by that name, removed or not.
    async fn connection(&self, owner: Uid, name: &str) -> Result<Option<Connection>>;

    /// All of an account's connections that are not removed, by name.
    async fn connections_of(&self, owner: Uid) -> Result<Vec<Connection>>;

    /// The connections to a source that are not removed, by owner and name, those after `after`; also those of accounts
    /// that are removed. Fewer than the limit means that there are no more.
    async fn connections_to(
        &self,
        source: SourceId,
        after: Option<(Uid, String)>,
        limit: usize,
    ) -> Result<Vec<Connection>>;

    /// Replaces a connection's state if the stored version is `before` (`None`: nothing is stored). It may point to another
    /// source than before: then it is found there and not at the old one. `false`: another version is stored, and nothing
    /// was changed; [`update`](crate::update) tries again.
    async fn replace_connection(&self, before: Option<Version>, connection: &Connection) -> Result<bool>;
}

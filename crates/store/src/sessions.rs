//! Signing in: sessions of browsers, tickets, and the networks of accounts.

use crate::Result;
use async_trait::async_trait;
use model::{Millis, Session, Ticket, Uid};

/// Sessions of browsers.
#[async_trait]
pub trait Sessions: Send + Sync {
    /// Stores a session.
    async fn add_session(&self, session: &Session) -> Result<()>;

    /// The session with this hash, including an expired one.
    async fn session(&self, hash: &[u8; 32]) -> Result<Option<Session>>;

    /// The sessions of an account, newest first, without ended ones. Expired sessions may be included.
    async fn sessions_of(&self, owner: Uid) -> Result<Vec<Session>>;

    /// Records the use of a session. The latest time wins.
    async fn touch_session(&self, hash: &[u8; 32], at: Millis) -> Result<()>;

    /// Ends a session.
    async fn end_session(&self, hash: &[u8; 32]) -> Result<()>;
}

/// Tickets. Like a step of a grant, using one succeeds for exactly one of concurrent calls.
#[async_trait]
pub trait Tickets: Send + Sync {
    /// Stores a ticket. Its hash is random and therefore new.
    async fn add_ticket(&self, ticket: &Ticket) -> Result<()>;

    /// The unused ticket with this hash, including an expired one.
    async fn ticket(&self, hash: &[u8; 32]) -> Result<Option<Ticket>>;

    /// Uses a ticket. Exactly one call ever returns `true`, so a caller that does not receive the result has lost the
    /// ticket.
    async fn use_ticket(&self, hash: &[u8; 32]) -> Result<bool>;
}

/// The maximum number of networks stored per account.
pub const MAX_NETWORKS: usize = 64;

/// A network from which an account has signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownNetwork {
    /// A keyed hash of the network, so that the store does not reveal where people are.
    pub hash: [u8; 16],
    /// When it expires.
    pub expires: Millis,
}

/// Networks from which an account has signed in with its password. While an account is under a distributed guessing
/// attack, only these networks may still sign in.
#[async_trait]
pub trait Networks: Send + Sync {
    /// Stores a network of an account. The latest expiry wins. Beyond [`MAX_NETWORKS`] those that expire first are
    /// deleted. An engine may delete an expired network.
    async fn note_network(&self, owner: Uid, network: &KnownNetwork) -> Result<()>;

    /// The networks of an account, including expired ones, in no particular order.
    async fn networks_of(&self, owner: Uid) -> Result<Vec<KnownNetwork>>;

    /// Deletes the networks of an account.
    async fn forget_networks(&self, owner: Uid) -> Result<()>;
}

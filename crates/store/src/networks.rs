//! Networks from which the password of an account was right. While an account is guessed at from everywhere, only these
//! may go on trying.

use crate::Result;
use async_trait::async_trait;
use model::{Millis, Uid};

/// How many networks of an account are kept.
pub const MAX_NETWORKS: usize = 64;

/// A network of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownNetwork {
    /// A keyed hash of it: the store does not tell where people are.
    pub hash: [u8; 16],
    /// Until when it counts.
    pub expires: Millis,
}

/// Networks of accounts.
#[async_trait]
pub trait Networks: Send + Sync {
    /// Keeps a network of an account; the latest expiry stays. Of more than [`MAX_NETWORKS`] those that expire first are
    /// forgotten. An engine may forget a network that has expired.
    async fn note_network(&self, owner: Uid, network: &KnownNetwork) -> Result<()>;

    /// The networks of an account, expired or not, in no particular order.
    async fn networks_of(&self, owner: Uid) -> Result<Vec<KnownNetwork>>;

    /// Forgets the networks of an account.
    async fn forget_networks(&self, owner: Uid) -> Result<()>;
}

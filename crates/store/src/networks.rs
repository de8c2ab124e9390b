//! Networks from which an account has signed in with its password. While an account is under a distributed guessing
//! attack, only these networks may still sign in.

use crate::Result;
use async_trait::async_trait;
use model::{Millis, Uid};

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

/// Networks of accounts.
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

//! Erasure of removed accounts.

use crate::Result;
use async_trait::async_trait;
use model::{Account, Uid};

/// Erases what is left of removed accounts. Removing an account puts it into the queue.
#[async_trait]
pub trait Erasures: Send + Sync {
    /// Removed accounts that are not erased yet.
    async fn due_erasures(&self, limit: usize) -> Result<Vec<Uid>>;

    /// Erases the texts and credentials of a removed account: bodies and external keys of its activities, its picture,
    /// sessions, keys, access tokens, applications, connections with sources that no one else uses, tickets, networks
    /// and second factor. The state of the account is the caller's business. Repeating the call does no harm. Returns
    /// the number of activities.
    async fn erase_account(&self, account: &Account) -> Result<u64>;

    /// Takes an erased account out of the queue.
    async fn finish_erasure(&self, uid: Uid) -> Result<()>;
}

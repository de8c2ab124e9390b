//! Blocks and mutes.
//!
//! A decision is a versioned state, kept by name: it holds for an account that is created later, and says nothing about
//! whether the account exists. Belonging applies it at read time. A block also ends the edges between the two accounts:
//! here, so that it has happened when the request is answered, and in the task that follows the decision, in case this
//! process stops in between.

use crate::following;
use model::{Account, AccountName, Clock, Decision, Quota, QuotaReached, Quotas, Uid, Version};
use store::{DecisionChange, Result, Store, StoreError};

/// Why a decision is not stored.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    /// The account has made as many as it may.
    #[error(transparent)]
    Quota(#[from] QuotaReached),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Blocks or mutes the account with this name, whether it exists or not. Does nothing if that holds already.
pub async fn decide(
    store: &dyn Store,
    clock: &Clock,
    owner: &Account,
    decision: Decision,
    other: &AccountName,
    quotas: &Quotas,
) -> std::result::Result<(), DecideError> {
    let stored = store.decision(&owner.name, decision, other).await?;
    let other_account = store.account_by_name(other).await?;
    if stored.is_none_or(|(_, holds)| !holds) {
        let enough = usize::try_from(quotas.decisions).unwrap_or(usize::MAX);
        if store.decided(&owner.name, decision, None, enough).await?.len() >= enough {
            return Err(QuotaReached { quota: quota_of(decision), max: quotas.decisions }.into());
        }
        put(store, clock, owner, decision, (other, other_account.as_ref().map(|account| account.uid)), true)
            .await?;
    }
    if let Some(other) = other_account.filter(|_| decision == Decision::Block) {
        end_edges(store, clock, owner.uid, other.uid).await?;
    }
    Ok(())
}

/// Ends a block or mute. Does nothing if there is none. No edge comes back.
pub async fn lift(
    store: &dyn Store,
    clock: &Clock,
    owner: &Account,
    decision: Decision,
    other: &AccountName,
) -> Result<()> {
    match store.decision(&owner.name, decision, other).await? {
        Some((_, true)) => put(store, clock, owner, decision, (other, None), false).await,
        _ => Ok(()),
    }
}

/// Ends the edges between two accounts, in both directions.
async fn end_edges(store: &dyn Store, clock: &Clock, owner: Uid, other: Uid) -> Result<()> {
    following::unfollow(store, clock, other, owner).await?;
    following::unfollow(store, clock, owner, other).await
}

async fn put(
    store: &dyn Store,
    clock: &Clock,
    owner: &Account,
    decision: Decision,
    (other, other_uid): (&AccountName, Option<Uid>),
    holds: bool,
) -> Result<()> {
    let stored = store.decision(&owner.name, decision, other).await?;
    let change = DecisionChange {
        owner: owner.uid,
        name: owner.name.clone(),
        decision,
        other: other.clone(),
        other_uid,
        version: Version::next(clock.now(), stored.map(|(version, _)| version)),
        holds,
    };
    store.put_decision(&change).await.map(drop)
}

fn quota_of(decision: Decision) -> Quota {
    match decision {
        Decision::Block => Quota::Blocked,
        Decision::Mute => Quota::Muted,
    }
}

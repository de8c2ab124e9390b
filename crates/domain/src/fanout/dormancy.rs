//! Finds accounts that have not been read for a long time and makes them dormant: fan-out then delivers only
//! activities that address them.
//!
//! An account with very many followees never becomes dormant: its first page after reactivation would merge too many
//! followees. Neither does an account with a hook, which gets everything as it arrives.

use super::task::Context;
use crate::hooks::has_live_hook;
use model::{Account, Clock, Dormancy, EdgeDormancy, Millis, Uid, Version};
use std::sync::Arc;
use std::time::Duration;
use store::{LastRead, Result, Store, Work};

/// Accounts with more followees than this never become dormant.
const MAX_FOLLOWED: usize = 1_000;
/// Accounts scanned per page, and the pause between two pages.
const PAGE: usize = 500;
const BETWEEN_PAGES: Duration = Duration::from_millis(500);
/// Scans per `idle_after`, and the longest pause between two scans.
const SCANS: u32 = 8;
const MAX_PAUSE: Duration = Duration::from_secs(600);
/// Name and duration (in milliseconds) of the lease that lets one process scan at a time.
const LEASE: &str = "dormancy";
const LEASE_TTL: i64 = 30_000;
/// Edges updated per task.
const FOLLOWEES_PER_TASK: usize = 200;

/// Makes accounts dormant that have not been read for `idle_after`, until `shutdown` completes.
pub async fn run(
    store: Arc<dyn Store>,
    clock: Clock,
    idle_after: Duration,
    holder: String,
    shutdown: impl Future<Output = ()>,
) {
    let pause = (idle_after / SCANS).min(MAX_PAUSE);
    let scans = async {
        loop {
            if let Err(error) = scan(store.as_ref(), &clock, idle_after, &holder).await {
                tracing::warn!(%error, "dormancy scan failed");
            }
            tokio::time::sleep(pause).await;
        }
    };
    tokio::select! {
        () = shutdown => {}
        () = scans => {}
    }
}

/// Scans every account once, unless another process holds the lease.
async fn scan(store: &dyn Store, clock: &Clock, idle_after: Duration, holder: &str) -> Result<()> {
    let mut after = None;
    loop {
        let now = clock.now();
        if !store.lease(LEASE, holder, now, Millis(now.0 + LEASE_TTL)).await? {
            return Ok(());
        }
        let accounts = store.list_accounts(after, PAGE).await?;
        mark_dormant(store, &accounts, now, idle_after).await?;
        if accounts.len() < PAGE {
            return Ok(());
        }
        after = accounts.last().map(|account| account.uid);
        tokio::time::sleep(BETWEEN_PAGES.min(idle_after / SCANS)).await;
    }
}

/// Makes those of the accounts dormant that have not been read for `idle_after`.
pub async fn mark_dormant(
    store: &dyn Store,
    accounts: &[Account],
    now: Millis,
    idle_after: Duration,
) -> Result<()> {
    let uids: Vec<Uid> = accounts.iter().map(|account| account.uid).collect();
    let oldest = Millis(now.0.saturating_sub(i64::try_from(idle_after.as_millis()).unwrap_or(i64::MAX)));
    // Tasks accepted before that position are done or dead letters.
    let since = store.oldest(now).await?;
    for (account, LastRead { at, version, dormancy }) in accounts.iter().zip(store.last_reads(&uids).await?) {
        let is_idle = at.max(Some(account.created)) < Some(oldest);
        if is_idle && dormancy == Dormancy::Active {
            let followed = store.following(account.uid, None, MAX_FOLLOWED + 1).await?.len();
            if (1..=MAX_FOLLOWED).contains(&followed) && !has_live_hook(store, account.uid).await? {
                let version = version.following();
                store.put_dormancy(account.uid, version, Dormancy::Dormant { since }).await?;
                store.append(&Work::BecomeDormant { uid: account.uid, version, after: None }).await?;
            }
        }
    }
    Ok(())
}

/// Marks the edges of a dormant account dormant, from the followee after `after` on.
pub(super) struct BecomeDormant {
    pub(super) uid: Uid,
    pub(super) version: Version,
    pub(super) after: Option<Uid>,
}

impl BecomeDormant {
    pub(super) async fn run(self, Context { store, .. }: Context<'_>) -> Result<Option<Work>> {
        let BecomeDormant { uid, version, after } = self;
        if store.delivery_state(uid).await?.version != version {
            return Ok(None);
        }
        let followed = store.following(uid, after, FOLLOWEES_PER_TASK).await?;
        let followees: Vec<Uid> = followed.iter().map(|(followee, _)| *followee).collect();
        store.put_edge_dormancy(uid, &followees, version, EdgeDormancy::Dormant).await?;
        let last = followees.last().filter(|_| followees.len() == FOLLOWEES_PER_TASK);
        Ok(last.map(|last| Work::BecomeDormant { uid, version, after: Some(*last) }))
    }
}

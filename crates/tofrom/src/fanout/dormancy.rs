//! Accounts that nobody has read for long fall asleep: nothing is pushed to them but what addresses them.
//!
//! An account with very many followees does not, because it could not be read at once when it comes back.

use crate::clock::Clock;
use model::{Account, Dormancy, EdgeDormancy, Millis, Uid, Version};
use std::sync::Arc;
use std::time::Duration;
use store::{LastRead, Result, Store, Work};

/// Whoever follows more than that is always pushed to.
const MAX_FOLLOWED: usize = 1_000;
/// Accounts that are looked at in one go, and between two of them.
const PAGE: usize = 500;
const BETWEEN_PAGES: Duration = Duration::from_millis(500);
/// Of the time after which accounts fall asleep, the part between two rounds, and the longest.
const ROUNDS: u32 = 8;
const LONGEST_PAUSE: Duration = Duration::from_secs(600);
/// The name under which one process does it at a time, and for how long it has it.
const LEASE: &str = "dormancy";
const LEASED: i64 = 30_000;
/// Followees that are told in one go.
const FOLLOWEES_PER_TASK: usize = 200;

/// Lets accounts fall asleep that have not been read for `idle_after`, until `shutdown` comes.
pub async fn run(
    store: Arc<dyn Store>,
    clock: Clock,
    idle_after: Duration,
    holder: String,
    shutdown: impl Future<Output = ()>,
) {
    let pause = (idle_after / ROUNDS).min(LONGEST_PAUSE);
    let for_ever = async {
        loop {
            if let Err(error) = round(store.as_ref(), &clock, idle_after, &holder).await {
                tracing::warn!(%error, "could not look who has not read for long; that is done later");
            }
            tokio::time::sleep(pause).await;
        }
    };
    tokio::select! {
        () = shutdown => {}
        () = for_ever => {}
    }
}

/// Looks at every account once, unless another process does.
async fn round(store: &dyn Store, clock: &Clock, idle_after: Duration, holder: &str) -> Result<()> {
    let mut after = None;
    loop {
        let now = clock.now();
        if !store.lease(LEASE, holder, now, Millis(now.0 + LEASED)).await? {
            return Ok(());
        }
        let accounts = store.list_accounts(after, PAGE).await?;
        mark_dormant(store, &accounts, now, idle_after).await?;
        if accounts.len() < PAGE {
            return Ok(());
        }
        after = accounts.last().map(|account| account.uid);
        tokio::time::sleep(BETWEEN_PAGES.min(idle_after / ROUNDS)).await;
    }
}

/// Lets those of the accounts fall asleep that have not been read for so long.
pub async fn mark_dormant(
    store: &dyn Store,
    accounts: &[Account],
    now: Millis,
    idle_after: Duration,
) -> Result<()> {
    let uids: Vec<Uid> = accounts.iter().map(|account| account.uid).collect();
    let oldest = Millis(now.0.saturating_sub(i64::try_from(idle_after.as_millis()).unwrap_or(i64::MAX)));
    // What was accepted before that is delivered, or given up.
    let since = store.oldest(now).await?;
    for (account, LastRead { at, version, dormancy }) in accounts.iter().zip(store.last_reads(&uids).await?) {
        let is_idle = at.max(Some(account.created)) < Some(oldest);
        if is_idle && dormancy == Dormancy::Active {
            let followed = store.following(account.uid, None, MAX_FOLLOWED + 1).await?.len();
            if (1..=MAX_FOLLOWED).contains(&followed) {
                let version = version.following();
                store.put_dormancy(account.uid, version, Dormancy::Dormant { since }).await?;
                store.append(&Work::BecomeDormant { uid: account.uid, version, after: None }).await?;
            }
        }
    }
    Ok(())
}

/// Tells the followees after `after` that nothing need be pushed; gives what is still to be done.
pub(super) async fn tell(
    store: &dyn Store,
    uid: Uid,
    version: Version,
    after: Option<Uid>,
) -> Result<Option<Work>> {
    if store.delivery_state(uid).await?.version != version {
        return Ok(None);
    }
    let followed = store.following(uid, after, FOLLOWEES_PER_TASK).await?;
    let followees: Vec<Uid> = followed.iter().map(|(followee, _)| *followee).collect();
    store.put_edge_dormancy(uid, &followees, version, EdgeDormancy::Dormant).await?;
    let last = followees.last().filter(|_| followees.len() == FOLLOWEES_PER_TASK);
    Ok(last.map(|last| Work::BecomeDormant { uid, version, after: Some(*last) }))
}

//! Erases what is left of removed accounts: texts, names, credentials and the details of audit records. A tombstone with
//! the name stays, so that the name is not given again.

use model::{Account, Clock, Uid};
use std::time::Duration;
use store::{Result, Store, StoreError, update};

/// Requests that began before the removal have ended after this time. Until then the account stays in the queue, so that
/// what they wrote is erased too.
const SETTLED_AFTER: Duration = Duration::from_secs(60);

/// Accounts per pass.
const BATCH: usize = 100;

/// An erased account.
#[derive(Debug)]
pub struct Erased {
    /// The tombstone.
    pub account: Account,
    /// Its activities that were erased now.
    pub activities: u64,
}

/// Erases a removed account. `None`: there is none with this number, or it is not removed.
pub async fn erase(store: &dyn Store, clock: &Clock, uid: Uid) -> Result<Option<Erased>> {
    let found = store.accounts(&[uid]).await?.into_iter().flatten().next();
    let Some(removed) = found.filter(|account| account.removed) else { return Ok(None) };
    let is_settled = clock.now() >= model::Millis(removed.version.0).later(SETTLED_AFTER);
    let activities = store.erase_account(&removed).await?;
    store.erase_audit_details(uid).await?;
    let nameless = |stored: Option<&Account>| -> Result<_> {
        let stored = stored.filter(|account| account.removed).cloned();
        Ok(stored.map(|account| Account { given_name: None, family_name: None, password: None, ..account }))
    };
    let account = update::<Account, StoreError>(store, &uid, clock.now(), nameless).await?;
    if is_settled {
        store.finish_erasure(uid).await?;
    }
    Ok(Some(Erased { account: account.unwrap_or(removed), activities }))
}

/// Erases all removed accounts that are due, and passes each to `done`.
pub async fn erase_due<F: Future<Output = ()>>(
    store: &dyn Store,
    clock: &Clock,
    done: impl Fn(Erased) -> F,
) -> Result<()> {
    for uid in store.due_erasures(BATCH).await? {
        let found = store.accounts(&[uid]).await?.into_iter().flatten().next();
        let Some(account) = found else { continue };
        // Requests that began before the removal may still write.
        let is_settled = clock.now() >= model::Millis(account.version.0).later(SETTLED_AFTER);
        if account.removed
            && is_settled
            && let Some(erased) = erase(store, clock, uid).await?
        {
            done(erased).await;
        }
    }
    Ok(())
}

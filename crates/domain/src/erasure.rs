//! Erases what is left of removed accounts: texts, names, credentials and the details of audit records. A tombstone with
//! the name stays, so that the name is not given again.

use model::{Account, Clock, Millis, Uid};
use std::collections::HashSet;
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
    match removed_account(store, uid).await? {
        Some(removed) => Ok(Some(erase_removed(store, clock, removed).await?)),
        None => Ok(None),
    }
}

async fn removed_account(store: &dyn Store, uid: Uid) -> Result<Option<Account>> {
    let found = store.accounts(&[uid]).await?.into_iter().flatten().next();
    Ok(found.filter(|account| account.removed))
}

/// Whether requests that began before the removal have ended.
fn is_settled(removed: &Account, clock: &Clock) -> bool {
    clock.now() >= Millis(removed.version.0).later(SETTLED_AFTER)
}

async fn erase_removed(store: &dyn Store, clock: &Clock, removed: Account) -> Result<Erased> {
    let (uid, is_settled) = (removed.uid, is_settled(&removed, clock));
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
    Ok(Erased { account: account.unwrap_or(removed), activities })
}

/// Erases all removed accounts that are due, and passes each to `done`.
pub async fn erase_due<F: Future<Output = ()>>(
    store: &dyn Store,
    clock: &Clock,
    done: impl Fn(Erased) -> F,
) -> Result<()> {
    for uid in store.due_erasures(BATCH).await? {
        // Before it is settled, requests may still write.
        if let Some(removed) = removed_account(store, uid).await?
            && is_settled(&removed, clock)
        {
            done(erase_removed(store, clock, removed).await?).await;
        }
    }
    Ok(())
}

/// Accounts that a look at the queue reads.
const WATCHED: usize = 1_000;

/// Notices the erasures of other processes, for one that caches what belongs to accounts. An account stays in the queue
/// for at least `SETTLED_AFTER`: looks at shorter intervals see each, and see it leave.
#[derive(Debug, Default)]
pub struct ErasureWatch {
    /// The queue at the last look, and the time of that look.
    last: Option<(Millis, HashSet<Uid>)>,
}

impl ErasureWatch {
    /// Looks at the queue. Returns whether an account may have been erased since the last look: also at the first look,
    /// after a gap between two, and while the queue is longer than a look reads.
    pub async fn look(&mut self, store: &dyn Store, clock: &Clock) -> Result<bool> {
        let began = clock.now();
        let queue = store.due_erasures(WATCHED).await?;
        Ok(self.compare(began, queue.into_iter().collect()))
    }

    fn compare(&mut self, now: Millis, queue: HashSet<Uid>) -> bool {
        let last = self.last.replace((now, queue));
        let (Some((before, old)), Some((_, new))) = (last, &self.last) else { return true };
        now >= before.later(SETTLED_AFTER) || new.len() >= WATCHED || !old.is_subset(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_erasure_by_another_process_is_noticed() {
        let queue = |uids: std::ops::Range<i64>| uids.map(Uid).collect::<HashSet<Uid>>();
        let second = |number: u64| Millis(1_700_000_000_000).later(Duration::from_secs(number));
        let mut watch = ErasureWatch::default();
        assert!(watch.compare(second(0), queue(0..0)), "erasures before the start are not known");
        assert!(!watch.compare(second(20), queue(0..0)));
        assert!(!watch.compare(second(40), queue(1..3)), "two accounts wait");
        assert!(!watch.compare(second(60), queue(1..4)), "and a third");
        assert!(watch.compare(second(80), queue(2..4)), "one was erased");
        assert!(!watch.compare(second(100), queue(2..4)));
        assert!(watch.compare(second(160), queue(2..4)), "another may have come and gone meanwhile");
        assert!(watch.compare(second(180), queue(0..1_000)), "others may be erased behind these");
    }
}

//! Fills an empty store with the demo's accounts and their activities.
//!
//! All data is a function of the time of the first start, which the store keeps, and of the accounts' uids. Writes are
//! idempotent, like those of a copy. An interrupted fill is repeated at the next start, with the same result. The
//! operator's account is created last: if it exists, the store is not filled again, so that users' changes stay.

use super::dataset::{Dataset, since};
use super::people::{PEOPLE, Person};
use super::secrets::Secrets;
use crate::config::Engine;
use anyhow::Context;
use auth::{key, password};
use domain::fanout::{Rules, deliver_pending};
use futures::{StreamExt, TryStreamExt, stream};
use model::{Account, AccountName, Application, Clock, Key, KeyId, Millis, Scopes, Version};
use seal::SecretKeys;
use std::collections::HashMap;
use std::time::Duration;
use store::{Copying, NewAccount, Store};
use tokio::time::timeout;

/// The name of the fact with the time of the first fill, in milliseconds.
const FILLED: &str = "demo-filled";

/// Accounts whose activities or entries are written concurrently.
const CONCURRENCY: usize = 4;

/// Timeout for deliveries, including those that other processes have started.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Interval between two checks for pending deliveries.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Writes all data if needed, and delivers it.
pub(super) async fn fill(
    engine: &Engine,
    clock: &Clock,
    secrets: &Secrets,
    keys: &SecretKeys,
    rules: &Rules,
) -> anyhow::Result<()> {
    let store = engine.store();
    let store = store.as_ref();
    if !is_filled(store).await? {
        let now = first_start(store, clock).await?;
        application(store, secrets, keys, now).await?;
        let (operators, people): (Vec<_>, Vec<_>) = PEOPLE.iter().partition(|person| person.operator);
        let mut uids = HashMap::new();
        for person in people {
            let account = account(store, person, secrets, now).await?;
            uids.insert(account.name, account.uid);
        }
        write(engine.copying().as_ref(), Dataset::new(&uids, now)?).await?;
        for person in operators {
            account(store, person, secrets, now).await?;
        }
    }
    deliver_all(store, clock, rules).await
}

/// The time of the first fill: all generated data depends on it.
async fn first_start(store: &dyn Store, clock: &Clock) -> anyhow::Result<Millis> {
    let stored = store.set_once(FILLED, &clock.now().0.to_string()).await?;
    let parsed =
        stored.parse().with_context(|| format!("invalid fact {FILLED} {stored:?}: expected milliseconds"));
    Ok(Millis(parsed?))
}

/// Writes all data, activities before entries: an entry is shown only if its activity exists.
async fn write(store: &dyn Copying, dataset: Dataset) -> anyhow::Result<()> {
    let Dataset { edges, activities, entries } = dataset;
    for (follower, edges) in edges {
        store.copy_edges(follower, edges).await?;
    }
    let activities = activities.into_iter().map(|all| store.copy_activities(all));
    stream::iter(activities).buffer_unordered(CONCURRENCY).try_collect::<()>().await?;
    let entries = entries.into_iter().map(|(owner, all)| store.copy_entries(owner, all));
    Ok(stream::iter(entries).buffer_unordered(CONCURRENCY).try_collect::<()>().await?)
}

/// Delivers until nothing is pending. Tasks of other processes are finished by them or return to the log.
async fn deliver_all(store: &dyn Store, clock: &Clock, rules: &Rules) -> anyhow::Result<()> {
    let delivered = async {
        loop {
            deliver_pending(store, clock, rules).await?;
            if store.backlog(1).await?.tasks == 0 {
                return Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    timeout(TIMEOUT, delivered).await.with_context(|| {
        let seconds = TIMEOUT.as_secs();
        format!("deliveries did not finish within {seconds} s; run the same command again, or tofrom check for details")
    })?
}

/// Whether the store has accounts that the demo did not create.
pub(super) async fn is_foreign(store: &dyn Store) -> anyhow::Result<bool> {
    Ok(!store.list_accounts(None, 1).await?.is_empty())
}

async fn is_filled(store: &dyn Store) -> anyhow::Result<bool> {
    for person in PEOPLE.iter().filter(|person| person.operator) {
        if store.account_by_name(&AccountName::parse(person.name)?).await?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

async fn account(
    store: &dyn Store,
    person: &Person,
    secrets: &Secrets,
    now: Millis,
) -> anyhow::Result<Account> {
    let name = AccountName::parse(person.name)?;
    let credentials = secrets.of(person.name)?;
    let account = match store.account_by_name(&name).await? {
        Some(account) => account,
        None => {
            let text = credentials.password.clone();
            let hash = tokio::task::spawn_blocking(move || password::hash(&text)).await??;
            let new = NewAccount {
                name: name.clone(),
                version: Version::next(now, None),
                given_name: Some(person.given_name.to_owned()),
                family_name: Some(person.family_name.to_owned()),
                public: person.public,
                operator: person.operator,
                password: Some(hash),
                created: since(now),
            };
            store
                .create_account(new)
                .await?
                .with_context(|| format!("another process created {name} at the same time"))?
        }
    };
    let hash =
        key::hash_of(&credentials.key).with_context(|| format!("the stored key of {name} is invalid"))?;
    if store.key_by_hash(&hash).await?.is_none() {
        let key = Key {
            id: id_of(&hash),
            hash,
            owner: account.uid,
            name: "demo".to_owned(),
            scopes: Scopes::ReadWrite,
            created: now,
            expires: None,
            revoked: None,
            used: None,
            parent: None,
        };
        store.add_key(&key).await?;
    }
    Ok(account)
}

/// Derived from the hash, so that a repeated fill does not create the key twice.
fn id_of(hash: &[u8; 32]) -> KeyId {
    KeyId(hash.iter().take(size_of::<u64>()).fold(0, |id, byte| id << 8 | u64::from(*byte)))
}

async fn application(
    store: &dyn Store,
    secrets: &Secrets,
    keys: &SecretKeys,
    now: Millis,
) -> anyhow::Result<()> {
    if store.application(&secrets.consumer.key).await?.is_some() {
        return Ok(());
    }
    let application = Application {
        key: secrets.consumer.key.clone(),
        sealed_secret: secrets.consumer.generated().sealed_secret(keys)?,
        name: "Demo reader".to_owned(),
        callback: "http://localhost/callback".to_owned(),
        rsa_key: None,
        created: now,
        removed: None,
        owner: None,
    };
    Ok(store.add_application(&application).await?)
}

//! Fills an empty store with the people of the demo and what they did.
//!
//! All data is decided before the first write: it is a function of the time of the first start, which the store keeps, and
//! of the accounts' numbers. It is put into the store as a copy is, so that to put it again changes nothing. A fill that was
//! cut off at any moment is repeated by the next start, with the same result. The operator's account is the last thing
//! made: where it stands, nothing is filled again, whatever its people have done to their data since.

use super::people::{PEOPLE, Person};
use super::secrets::Secrets;
use super::world::{World, since};
use crate::auth::{SecretKeys, key, password};
use crate::clock::Clock;
use crate::config::Engine;
use crate::fanout::{Rules, deliver_pending};
use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use model::{Account, AccountName, Application, Key, KeyId, Millis, Scopes, Version};
use std::collections::HashMap;
use std::time::Duration;
use store::{Copying, NewAccount, Store};
use tokio::time::timeout;

/// The name of the fact that keeps when the store was first filled, in milliseconds.
const FILLED: &str = "demo-filled";

/// How many accounts' activities or entries are put at once; a cluster writes them together.
const CONCURRENCY: usize = 4;

/// Whatever others have in hand is done within this, unless something is wrong.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Between two looks at what others have in hand.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Makes sure that everything is there and delivered.
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
        let mut numbers = HashMap::new();
        for person in people {
            let account = account(store, person, secrets, now).await?;
            numbers.insert(account.name, account.uid);
        }
        put(engine.copying().as_ref(), World::new(&numbers, now)?).await?;
        for person in operators {
            account(store, person, secrets, now).await?;
        }
    }
    deliver_all(store, clock, rules).await
}

/// When this store was filled for the first time: everything in it is dated by that.
async fn first_start(store: &dyn Store, clock: &Clock) -> anyhow::Result<Millis> {
    let kept = store.set_once(FILLED, &clock.now().0.to_string()).await?;
    let parsed =
        kept.parse().with_context(|| format!("the fact {FILLED} is {kept:?}: expected milliseconds"));
    Ok(Millis(parsed?))
}

/// Puts all of it: an entry is found only where its activity is.
async fn put(store: &dyn Copying, world: World) -> anyhow::Result<()> {
    let World { edges, activities, entries } = world;
    for (follower, edges) in edges {
        store.copy_edges(follower, edges).await?;
    }
    let activities = activities.into_iter().map(|all| store.copy_activities(all));
    stream::iter(activities).buffer_unordered(CONCURRENCY).try_collect::<()>().await?;
    let entries = entries.into_iter().map(|(owner, all)| store.copy_entries(owner, all));
    Ok(stream::iter(entries).buffer_unordered(CONCURRENCY).try_collect::<()>().await?)
}

/// Delivers until nothing waits: what other processes have in hand is theirs to finish, or comes back to the log.
async fn deliver_all(store: &dyn Store, clock: &Clock, rules: &Rules) -> anyhow::Result<()> {
    let delivered = async {
        loop {
            deliver_pending(store, clock, rules).await?;
            if store.backlog(1).await?.tasks == 0 {
                return Ok(());
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    timeout(TIMEOUT, delivered).await.with_context(|| {
        let seconds = TIMEOUT.as_secs();
        format!("deliveries were not done within {seconds} s; the same command goes on, and tofrom check tells more")
    })?
}

/// Whether somebody else lives in this store: accounts whose secrets the demo does not have.
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
            let given = credentials.password.clone();
            let hash = tokio::task::spawn_blocking(move || password::hash(&given)).await??;
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
            store.create_account(new).await?.with_context(|| format!("somebody else made {name} just now"))?
        }
    };
    let hash = key::hash_of(&credentials.key).with_context(|| format!("the kept key of {name} is none"))?;
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
        };
        store.add_key(&key).await?;
    }
    Ok(account)
}

/// The same at every start, so that a key that was made in part is not listed twice.
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

//! Fills an empty store with the people of the demo and what they did.
//!
//! Every step may be repeated, so a fill that was cut off is completed by the next start. The operator's account is
//! the last thing made: where it stands, nothing is filled again, whatever its people have done to their data since.

use super::data::{HISTORY, life_of};
use super::people::{PEOPLE, Person};
use super::secrets::Secrets;
use crate::auth::{SecretKeys, key, password};
use crate::clock::Clock;
use crate::fanout::{Rules, deliver_pending};
use crate::ingest::Ingest;
use anyhow::{Context, bail};
use model::{Account, AccountName, Application, Edge, Key, Millis, Scopes, Version};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use store::{NewAccount, Store};
use tokio::time::timeout;

/// A day before the oldest activity: everybody has followed whom they follow for as long as anything was done.
const SINCE: i64 = HISTORY + 24 * 60 * 60 * 1_000;

/// Whatever others have in hand is done within this, unless something is wrong.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at what others have in hand.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Makes sure that everything is there and delivered.
pub(super) async fn fill(
    store: &Arc<dyn Store>,
    clock: &Clock,
    secrets: &Secrets,
    keys: &SecretKeys,
    rules: &Rules,
) -> anyhow::Result<()> {
    if !is_filled(store.as_ref()).await? {
        let now = clock.now();
        application(store.as_ref(), secrets, keys, now).await?;
        let (operators, people): (Vec<_>, Vec<_>) = PEOPLE.iter().partition(|person| person.operator);
        let mut accounts = HashMap::new();
        for person in people {
            accounts.insert(person.name, account(store.as_ref(), person, secrets, now).await?);
        }
        follow(store.as_ref(), &accounts, now).await?;
        // Before anybody does anything: it depends on how many follow by which way that comes.
        deliver_all(store.as_ref(), clock, rules).await?;
        let ingest = Ingest::new(Arc::clone(store), clock.clone());
        for person in PEOPLE {
            if let Some(account) = accounts.get(person.name) {
                ingest.accept(account, life_of(person, &others_of(person), now)?).await?;
            }
        }
        for person in operators {
            account(store.as_ref(), person, secrets, now).await?;
        }
    }
    deliver_all(store.as_ref(), clock, rules).await
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
    timeout(PATIENCE, delivered).await.with_context(|| {
        let seconds = PATIENCE.as_secs();
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

/// Whom a person writes to: everybody else but the operator, and alice more than the others.
pub(super) fn others_of(person: &Person) -> Vec<&'static str> {
    let others = PEOPLE.iter().filter(|other| other.name != person.name && !other.operator);
    others
        .flat_map(|other| std::iter::repeat_n(other.name, if other.name == "alice" { 3 } else { 1 }))
        .collect()
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
                created: Millis(now.0 - SINCE),
            };
            store.create_account(new).await?.with_context(|| format!("somebody else made {name} just now"))?
        }
    };
    let hash = key::hash_of(&credentials.key).with_context(|| format!("the kept key of {name} is none"))?;
    if store.key_by_hash(&hash).await?.is_none() {
        let key = Key {
            id: key::generate()?.id,
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

async fn follow(store: &dyn Store, accounts: &HashMap<&str, Account>, now: Millis) -> anyhow::Result<()> {
    for person in PEOPLE {
        for followed in person.follows {
            let (Some(follower), Some(followee)) = (accounts.get(person.name), accounts.get(followed)) else {
                bail!("{} can't follow {followed}", person.name);
            };
            let since = Millis(now.0 - SINCE);
            let edge = Edge { following: true, version: Version::next(now, None), since, from: None };
            store.put_edge(follower.uid, followee.uid, &edge).await?;
        }
    }
    Ok(())
}

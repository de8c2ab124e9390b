//! Updates by compare-and-set: no change is lost to a race.

use super::sources::id;
use super::{Engine, fresh};
use model::{Account, Application, Millis, Uid};
use std::sync::Arc;
use store::faulty::{Fault, Faulty};
use store::{Secret, Source, Store, StoreError, update};

const NOW: Millis = Millis(fresh::NOON);

async fn change(store: &dyn Store, uid: Uid, change: impl Fn(&mut Account)) -> Result<Account, StoreError> {
    let next = |stored: Option<&Account>| {
        let mut account = stored.expect("the account exists").clone();
        change(&mut account);
        Ok(Some(account))
    };
    update(store, &uid, NOW, next).await.map(|stored| stored.expect("the account exists"))
}

async fn stored(store: &dyn Store, uid: Uid) -> Account {
    store.accounts(&[uid]).await.unwrap().remove(0).unwrap()
}

/// A process that shares the engine with others. Its updates are not serialised with theirs.
fn process(store: &Engine) -> Engine {
    Arc::new(Faulty::new(store.clone()))
}

pub(crate) async fn concurrent_updates_of_different_fields_are_all_kept(store: Engine) {
    let uid = fresh::uid(&*store).await;
    let busy = (0..4).map(|number| {
        let store = process(&store);
        tokio::spawn(async move {
            for turn in 0..5 {
                let name = format!("{number}-{turn}");
                change(&*store, uid, |account| account.family_name = Some(name.clone())).await.unwrap();
            }
        })
    });
    let busy: Vec<_> = busy.collect();
    let fields: [fn(&mut Account); 4] = [
        |account| account.password = Some("new".to_owned()),
        |account| account.disabled = true,
        |account| account.operator = true,
        |account| account.public = false,
    ];
    let once = fields.map(|field| {
        let store = process(&store);
        tokio::spawn(async move { change(&*store, uid, field).await.unwrap() })
    });
    for task in busy {
        task.await.unwrap();
    }
    for task in once {
        task.await.unwrap();
    }
    let found = stored(&*store, uid).await;
    assert_eq!(found.password.as_deref(), Some("new"));
    assert!(found.disabled && found.operator && !found.public);
    assert!(found.family_name.is_some_and(|name| name.ends_with("-4")), "the last update of one of them");
}

pub(crate) async fn of_concurrent_inserts_one_wins(store: Engine) {
    let id = id();
    let add = |number: u8| {
        let store = process(&store);
        tokio::spawn(async move {
            let mut added = false;
            let next = |stored: Option<&Source>| {
                added = stored.is_none();
                let state = vec![number];
                Ok(added.then(|| Source {
                    id,
                    version: model::Version::default(),
                    shard: 0,
                    due: None,
                    state,
                }))
            };
            update::<_, StoreError>(&*store, &id, NOW, next).await.unwrap();
            added.then_some(number)
        })
    };
    let calls: Vec<_> = (0..10).map(add).collect();
    let mut added = Vec::new();
    for call in calls {
        added.extend(call.await.unwrap());
    }
    assert_eq!(store.source(id).await.unwrap().unwrap().state, added);
}

pub(crate) async fn an_unchanged_state_is_not_written(store: Engine) {
    let account = fresh::account(&*store).await;
    let unchanged = change(&*store, account.uid, |_| {}).await.unwrap();
    assert_eq!(unchanged.version, account.version);
    let renamed = change(&*store, account.uid, |account| account.given_name = None).await.unwrap();
    assert!(renamed.version > account.version);
    assert!(stored(&*store, account.uid).await == renamed);
}

pub(crate) async fn a_refused_update_changes_nothing(store: Engine) {
    let account = fresh::account(&*store).await;
    let refused = update(&*store, &account.uid, NOW, |_: Option<&Account>| {
        Err(StoreError::Corrupt("refused".to_owned()))
    });
    assert!(refused.await.is_err());
    let left = update::<Account, StoreError>(&*store, &account.uid, NOW, |_| Ok(None));
    assert!(left.await.unwrap() == Some(account.clone()));
    let missing = update::<Account, StoreError>(&*store, &Uid(i64::MAX), NOW, |stored| Ok(stored.cloned()));
    assert_eq!(missing.await.unwrap(), None);
    assert!(stored(&*store, account.uid).await == account);
}

pub(crate) async fn a_secret_is_replaced_once(store: Engine) {
    let key = format!("key {}", fresh::number());
    let application = Application {
        key: key.clone(),
        sealed_secret: vec![0],
        name: "Reader".to_owned(),
        callback: "oob".to_owned(),
        rsa_key: None,
        created: NOW,
        removed: None,
        owner: None,
    };
    store.add_application(&application).await.unwrap();
    // Concurrent calls replace the secret; one of them succeeds.
    let calls: Vec<_> = (1..=10_u8)
        .map(|number| {
            let (store, secret) = (process(&store), Secret::Application(key.clone()));
            tokio::spawn(
                async move { store.reseal(&secret, &[0], &[number]).await.unwrap().then_some(number) },
            )
        })
        .collect();
    let mut replaced = Vec::new();
    for call in calls {
        replaced.extend(call.await.unwrap());
    }
    assert_eq!(store.application(&key).await.unwrap().unwrap().sealed_secret, replaced);
}

pub(crate) async fn an_unknown_outcome_is_resolved(store: Engine) {
    let (uid, process) = (fresh::uid(&*store).await, Faulty::new(store.clone()));
    let rename =
        async |name: &str| change(&process, uid, |account| account.given_name = Some(name.to_owned())).await;
    // The read succeeds, and the response to the write is lost.
    let mut calls = 0;
    process.plan(move |_| {
        calls += 1;
        (calls == 2).then_some(Fault::After)
    });
    assert!(matches!(rename("Grace").await, Err(StoreError::Unknown(_))));
    process.calm();
    assert_eq!(rename("Grace").await.unwrap().given_name.as_deref(), Some("Grace"), "repeated");
    // A late write after a later update is refused.
    let mut calls = 0;
    process.plan(move |_| {
        calls += 1;
        (calls == 2).then_some(Fault::Late)
    });
    assert!(rename("late").await.is_err());
    process.calm();
    rename("Ada").await.unwrap();
    change(&*store, uid, |account| account.disabled = true).await.unwrap();
    assert_eq!(process.land().await, 1);
    let found = stored(&*store, uid).await;
    assert!(found.disabled && found.given_name.as_deref() == Some("Ada"), "{found:?}");
}

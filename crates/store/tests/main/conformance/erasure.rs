//! Erasure of removed accounts.

use super::sources::id;
use super::{Engine, fresh};
use model::{
    Account, Application, Key, KeyId, Millis, Picture, Scopes, SecondFactor, Session, SourceId, Uid, Version,
};
use store::{Connection, Source, Store};

/// Gives an account one of everything.
async fn furnish(store: &dyn Store, account: &Account, source: SourceId) -> (Key, Application, Session) {
    let (owner, number) = (account.uid, fresh::number());
    let mut hash = [0x55; 32];
    hash[..8].copy_from_slice(&number.to_be_bytes());
    let key = Key {
        id: KeyId(number),
        hash,
        owner,
        name: "laptop".to_owned(),
        scopes: Scopes::Read,
        created: Millis(1),
        expires: None,
        revoked: None,
        used: Some(Millis(2)),
        parent: None,
    };
    store.add_key(&key).await.unwrap();
    store.revoke_key(owner, key.id, Millis(3)).await.unwrap();
    let application = Application {
        key: format!("app-{number:x}"),
        sealed_secret: vec![1],
        name: "Reader".to_owned(),
        callback: "oob".to_owned(),
        rsa_key: None,
        created: Millis(1),
        removed: None,
        owner: Some(owner),
    };
    store.add_application(&application).await.unwrap();
    let session = Session {
        hash,
        owner,
        epoch: 0,
        password: [0; 32],
        created: Millis(fresh::NOON),
        expires: Millis(fresh::NOON + 1),
        device: "Firefox".to_owned(),
        used: Millis(fresh::NOON),
    };
    store.add_session(&session).await.unwrap();
    store
        .put_picture(owner, &Picture { version: Version(5), sizes: [vec![1], vec![2], vec![3]] })
        .await
        .unwrap();
    let factor =
        SecondFactor { version: Version(1), sealed_secret: Some(vec![1]), ..SecondFactor::none(owner) };
    store.replace_second_factor(None, &factor).await.unwrap();
    let feed = Source { id: source, version: Version(1), shard: 0, due: None, state: vec![1] };
    fresh::put(store, &feed).await;
    let name = "photos".to_owned();
    let connection = Connection { owner, name, version: Version(1), source, removed: false, state: vec![7] };
    fresh::put(store, &connection).await;
    (key, application, session)
}

async fn remove(store: &dyn Store, account: &Account) -> Account {
    let removed = Account { removed: true, version: Version(account.version.0 + 1), ..account.clone() };
    assert!(store.replace_account(account.version, &removed).await.unwrap());
    removed
}

async fn is_due(store: &dyn Store, uid: Uid) -> bool {
    store.due_erasures(10_000).await.unwrap().contains(&uid)
}

pub(crate) async fn a_removed_account_is_queued_and_erased(store: Engine) {
    let (ada, bob) = (fresh::account(&*store).await, fresh::account(&*store).await);
    let (own, shared) = (id(), id());
    let (key, application, session) = furnish(&*store, &ada, own).await;
    let (other_key, other_application, other_session) = furnish(&*store, &bob, shared).await;
    let also = Connection {
        owner: ada.uid,
        name: "songs".to_owned(),
        version: Version(1),
        source: shared,
        removed: false,
        state: vec![8],
    };
    fresh::put(&*store, &also).await;
    let items = [(ada.uid, 1), (bob.uid, 3)]
        .map(|(actor, at)| fresh::acceptance(actor, "1", fresh::NOON + at * 3_600_000));
    fresh::accept(&*store, &items[0]).await;
    let later = fresh::next(&items[0], "a later version", false);
    fresh::accept(&*store, &later).await;
    fresh::accept(&*store, &items[1]).await;
    let ids = [items[0].activity.state.id, items[1].activity.state.id];

    assert!(!is_due(&*store, ada.uid).await);
    let removed = remove(&*store, &ada).await;
    assert!(is_due(&*store, ada.uid).await && !is_due(&*store, bob.uid).await);
    for erased in [1, 0] {
        let activities = store.erase_account(&removed).await.unwrap();
        assert!(activities >= erased, "{activities}");
    }
    let found = store.activities(&ids).await.unwrap();
    assert!(found[0].is_none() && found[1].is_some());
    assert_eq!(store.claim(&items[0].source).await.unwrap(), None);
    assert!(store.claim(&items[1].source).await.unwrap().is_some());
    assert_eq!(store.keys_of(ada.uid).await.unwrap(), []);
    assert_eq!(store.key_by_hash(&key.hash).await.unwrap(), None);
    assert_eq!(store.application(&application.key).await.unwrap(), None);
    assert_eq!(store.applications_of(ada.uid).await.unwrap(), []);
    assert_eq!(store.session(&session.hash).await.unwrap(), None);
    assert_eq!(store.sessions_of(ada.uid).await.unwrap(), []);
    assert_eq!(store.picture(ada.uid).await.unwrap(), None);
    assert_eq!(store.second_factor(ada.uid).await.unwrap(), None);
    assert_eq!(store.connections_of(ada.uid).await.unwrap(), []);
    assert_eq!(store.source(own).await.unwrap(), None);
    assert!(store.source(shared).await.unwrap().is_some(), "another account uses it");
    // Nothing of another account is touched.
    assert!(store.key_by_hash(&other_key.hash).await.unwrap().is_some());
    assert!(store.application(&other_application.key).await.unwrap().is_some());
    assert!(store.session(&other_session.hash).await.unwrap().is_some());
    assert!(store.picture(bob.uid).await.unwrap().is_some());
    assert!(store.second_factor(bob.uid).await.unwrap().is_some());
    assert_eq!(store.connections_of(bob.uid).await.unwrap().len(), 1);
    // The tombstone keeps the name.
    assert!(store.account_by_name(&ada.name).await.unwrap().unwrap().removed);
    assert_eq!(store.create_account(fresh::new_account(ada.name.clone())).await.unwrap(), None);

    assert!(is_due(&*store, ada.uid).await);
    store.finish_erasure(ada.uid).await.unwrap();
    assert!(!is_due(&*store, ada.uid).await);
}

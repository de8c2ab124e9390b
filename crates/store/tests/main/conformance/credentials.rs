//! Keys and applications.

use super::{Engine, fresh};
use model::{Application, Key, KeyId, Millis, Scopes, Uid};

fn key(owner: Uid, created: i64) -> Key {
    let number = fresh::number();
    let mut hash = [0x80; 32];
    hash[..8].copy_from_slice(&number.to_be_bytes());
    Key {
        // All 64 bits are significant.
        id: KeyId(u64::MAX - number),
        hash,
        owner,
        name: "laptop".to_owned(),
        scopes: Scopes::Read,
        created: Millis(created),
        expires: None,
        revoked: None,
        used: None,
        parent: None,
    }
}

fn application(created: i64) -> Application {
    Application {
        key: format!("app-{:x}", fresh::number()),
        sealed_secret: vec![0, 255, 0],
        name: "Reader".to_owned(),
        callback: "https://reader.example/back".to_owned(),
        rsa_key: None,
        created: Millis(created),
        removed: None,
        owner: None,
    }
}

pub(crate) async fn a_key_is_found_by_its_hash(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let key = Key {
        scopes: Scopes::ReadWrite,
        expires: Some(Millis(fresh::NOON + 9)),
        parent: Some([7; 32]),
        ..key(owner, fresh::NOON)
    };
    assert_eq!(store.key_by_hash(&key.hash).await.unwrap(), None);
    store.add_key(&key).await.unwrap();
    store.add_key(&key).await.unwrap();
    assert_eq!(store.key_by_hash(&key.hash).await.unwrap(), Some(key.clone()));
    assert_eq!(store.keys_of(owner).await.unwrap(), [key]);
}

pub(crate) async fn keys_are_listed_oldest_first(store: Engine) {
    let (owner, other) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    assert_eq!(store.keys_of(owner).await.unwrap(), []);
    let (late, early, foreign) = (key(owner, 300), key(owner, 200), key(other, 100));
    for one in [&late, &early, &foreign] {
        store.add_key(one).await.unwrap();
    }
    assert_eq!(store.keys_of(owner).await.unwrap(), [early, late]);
}

pub(crate) async fn a_revocation_is_permanent(store: Engine) {
    let (owner, other) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    let one = key(owner, 1);
    store.add_key(&one).await.unwrap();
    assert!(!store.revoke_key(owner, KeyId(fresh::number()), Millis(5)).await.unwrap(), "no such key");
    assert!(!store.revoke_key(other, one.id, Millis(5)).await.unwrap(), "a key of another account");
    assert_eq!(store.key_by_hash(&one.hash).await.unwrap(), Some(one.clone()));
    assert!(store.revoke_key(owner, one.id, Millis(10)).await.unwrap());
    assert!(store.revoke_key(owner, one.id, Millis(20)).await.unwrap(), "repeated revocation succeeds");
    assert!(store.revoke_key(owner, one.id, Millis(5)).await.unwrap());
    store.add_key(&one).await.unwrap();
    let revoked = Key { revoked: Some(Millis(10)), ..one };
    assert_eq!(store.key_by_hash(&revoked.hash).await.unwrap(), Some(revoked.clone()));
    assert_eq!(store.keys_of(owner).await.unwrap(), [revoked]);
}

pub(crate) async fn the_latest_use_of_a_key_wins(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let one = key(owner, 1);
    store.add_key(&one).await.unwrap();
    for at in [10, 30, 20] {
        store.touch_key(&one.hash, Millis(at)).await.unwrap();
    }
    let used = Key { used: Some(Millis(30)), ..one };
    assert_eq!(store.keys_of(owner).await.unwrap(), [used]);
    let unknown = key(owner, 2);
    store.touch_key(&unknown.hash, Millis(10)).await.unwrap();
    assert_eq!(store.key_by_hash(&unknown.hash).await.unwrap(), None, "using a key does not create it");
}

pub(crate) async fn applications_are_stored(store: Engine) {
    let (late, early) = (Application { rsa_key: Some(vec![48, 0]), ..application(20) }, application(10));
    assert_eq!(store.application(&late.key).await.unwrap(), None);
    store.add_application(&late).await.unwrap();
    store.add_application(&late).await.unwrap();
    store.add_application(&early).await.unwrap();
    assert_eq!(store.application(&late.key).await.unwrap(), Some(late.clone()));
    let mut all = store.applications().await.unwrap();
    assert!(all.is_sorted_by_key(|one| one.created), "oldest first");
    all.retain(|one| [&late.key, &early.key].contains(&&one.key));
    assert_eq!(all, [early, late]);
}

pub(crate) async fn removal_of_an_application_is_permanent(store: Engine) {
    let one = application(1);
    assert!(!store.remove_application(&one.key, Millis(5)).await.unwrap());
    store.add_application(&one).await.unwrap();
    for at in [10, 20, 5] {
        assert!(store.remove_application(&one.key, Millis(at)).await.unwrap());
    }
    store.add_application(&one).await.unwrap();
    let removed = Application { removed: Some(Millis(10)), ..one };
    assert_eq!(store.application(&removed.key).await.unwrap(), Some(removed.clone()));
    assert!(store.applications().await.unwrap().contains(&removed));
}

pub(crate) async fn applications_of_an_account_are_listed_oldest_first(store: Engine) {
    let (owner, other) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    assert_eq!(store.applications_of(owner).await.unwrap(), []);
    let of = |owner, created| Application { owner: Some(owner), ..application(created) };
    let (late, early, foreign, without_owner) =
        (of(owner, 300), of(owner, 200), of(other, 100), application(50));
    for one in [&late, &early, &foreign, &without_owner, &late] {
        store.add_application(one).await.unwrap();
    }
    assert_eq!(store.application(&late.key).await.unwrap(), Some(late.clone()));
    assert!(store.remove_application(&early.key, Millis(400)).await.unwrap());
    let removed = Application { removed: Some(Millis(400)), ..early };
    assert_eq!(store.applications_of(owner).await.unwrap(), [removed, late], "including removed ones");
    assert_eq!(store.applications_of(other).await.unwrap(), [foreign]);
}

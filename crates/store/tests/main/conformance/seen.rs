//! Seen positions.

use super::{Engine, fresh};
use model::{Collection, Millis, Position, SyncToken, Uid, Version};
use std::sync::Arc;
use store::faulty::Faulty;
use store::{Seen, StoreError, update};

fn seen(owner: Uid, collection: Collection, version: i64, position: u64) -> Seen {
    let mut sync_token = SyncToken::at(Position(position));
    // As many remembered items as a token may have.
    for number in 0..200 {
        sync_token.shown(fresh::id(fresh::NOON), Version(number), None, None);
    }
    Seen { owner, collection, version: Version(version), sync_token }
}

pub(crate) async fn a_seen_position_is_stored_per_collection(store: Engine) {
    let (ada, bob) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    for collection in Collection::ALL {
        assert_eq!(store.seen(ada, collection).await.unwrap(), None);
    }
    let positions = Collection::ALL.map(|collection| seen(ada, collection, 1, u64::MAX));
    for position in &positions {
        assert!(store.replace_seen(None, position).await.unwrap());
    }
    for (collection, position) in Collection::ALL.into_iter().zip(positions) {
        assert_eq!(store.seen(ada, collection).await.unwrap(), Some(position));
        assert_eq!(store.seen(bob, collection).await.unwrap(), None);
    }
}

pub(crate) async fn a_seen_position_is_replaced_by_compare_and_set(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let replace = async |before: Option<i64>, version| {
        let next = seen(owner, Collection::To, version, 7);
        store.replace_seen(before.map(Version), &next).await.unwrap()
    };
    assert!(!replace(Some(1), 2).await, "nothing is stored");
    assert!(replace(None, 1).await);
    assert!(!replace(None, 2).await, "a version is stored");
    assert!(replace(Some(1), 3).await);
    assert!(!replace(Some(1), 4).await, "the version was replaced");
    let stored = store.seen(owner, Collection::To).await.unwrap().unwrap();
    assert_eq!(stored.version, Version(3));
}

/// Each device moves the position to its own, in no order.
pub(crate) async fn concurrent_moves_end_at_the_furthest(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let devices = (0..8_u64).map(|device| {
        // Processes of their own: their updates are not serialised with those of others.
        let store: Engine = Arc::new(Faulty::new(store.clone()));
        tokio::spawn(async move {
            for step in 0..5 {
                let token = SyncToken::at(Position((device * 7 + step * 3) % 40));
                let forward = |stored: Option<&Seen>| {
                    let at = stored.map_or_else(SyncToken::default, |seen| seen.sync_token.clone());
                    Ok(at.joined(&token).map(|sync_token| Seen {
                        owner,
                        collection: Collection::From,
                        version: Version(0),
                        sync_token,
                    }))
                };
                let key = (owner, Collection::From);
                update::<Seen, StoreError>(&*store, &key, Millis(fresh::NOON), forward).await.unwrap();
            }
        })
    });
    for device in devices.collect::<Vec<_>>() {
        device.await.unwrap();
    }
    let furthest = (0..8).flat_map(|device| (0..5).map(move |step| (device * 7 + step * 3) % 40)).max();
    let stored = store.seen(owner, Collection::From).await.unwrap().unwrap();
    assert_eq!(Some(stored.sync_token.offset.position.0), furthest);
}

//! Networks of accounts: a limited number of the latest ones is stored.

use super::{Engine, fresh};
use model::{Millis, Uid};
use store::{KnownNetwork, MAX_NETWORKS};

fn network(number: u8, expires: i64) -> KnownNetwork {
    KnownNetwork { hash: [number; 16], expires: Millis(expires) }
}

async fn of(store: &Engine, owner: Uid) -> Vec<(u8, i64)> {
    let mut all: Vec<(u8, i64)> = store
        .networks_of(owner)
        .await
        .unwrap()
        .iter()
        .map(|network| (network.hash[0], network.expires.0))
        .collect();
    all.sort_unstable();
    all
}

pub(crate) async fn the_latest_expiry_of_a_network_wins(store: Engine) {
    let (owner, other) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    assert_eq!(of(&store, owner).await, []);
    for (number, expires) in [(1, 20), (2, 10), (1, 30), (1, 25), (2, 10)] {
        store.note_network(owner, &network(number, expires)).await.unwrap();
    }
    assert_eq!(of(&store, owner).await, [(1, 30), (2, 10)]);
    assert_eq!(of(&store, other).await, []);
}

pub(crate) async fn the_number_of_networks_is_limited(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let max = u8::try_from(MAX_NETWORKS).unwrap();
    // In an order in which the first to expire are not the first added.
    for number in (1..=max + 2).rev() {
        store.note_network(owner, &network(number, 100 + i64::from(number))).await.unwrap();
    }
    let kept: Vec<u8> = of(&store, owner).await.into_iter().map(|(number, _)| number).collect();
    assert_eq!(kept, (3..=max + 2).collect::<Vec<_>>());
    store.note_network(owner, &network(1, 1_000)).await.unwrap();
    assert!(of(&store, owner).await.contains(&(1, 1_000)), "a deleted network can be added again");
    assert_eq!(of(&store, owner).await.len(), MAX_NETWORKS);
}

pub(crate) async fn all_networks_of_an_account_are_deleted(store: Engine) {
    let (owner, other) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    for owner in [owner, other] {
        for number in 1..4 {
            store.note_network(owner, &network(number, 10)).await.unwrap();
        }
    }
    store.forget_networks(owner).await.unwrap();
    store.forget_networks(owner).await.unwrap();
    assert_eq!(of(&store, owner).await, []);
    assert_eq!(of(&store, other).await, [(1, 10), (2, 10), (3, 10)]);
    store.note_network(owner, &network(1, 11)).await.unwrap();
    assert_eq!(of(&store, owner).await, [(1, 11)]);
}

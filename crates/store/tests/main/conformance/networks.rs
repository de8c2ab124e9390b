//! Networks of accounts: the latest ones are kept, so many and no more.

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

pub(crate) async fn the_latest_expiry_of_a_network_stays(store: Engine) {
    let (owner, other) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    assert_eq!(of(&store, owner).await, []);
    for (number, expires) in [(1, 20), (2, 10), (1, 30), (1, 25), (2, 10)] {
        store.note_network(owner, &network(number, expires)).await.unwrap();
    }
    assert_eq!(of(&store, owner).await, [(1, 30), (2, 10)]);
    assert_eq!(of(&store, other).await, []);
}

pub(crate) async fn an_account_has_so_many_networks(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let most = u8::try_from(MAX_NETWORKS).unwrap();
    // In an order in which those that expire first are not those that came first.
    for number in (1..=most + 2).rev() {
        store.note_network(owner, &network(number, 100 + i64::from(number))).await.unwrap();
    }
    let kept: Vec<u8> = of(&store, owner).await.into_iter().map(|(number, _)| number).collect();
    assert_eq!(kept, (3..=most + 2).collect::<Vec<_>>());
    store.note_network(owner, &network(1, 1_000)).await.unwrap();
    assert!(of(&store, owner).await.contains(&(1, 1_000)), "one that was forgotten can come again");
    assert_eq!(of(&store, owner).await.len(), MAX_NETWORKS);
}

pub(crate) async fn networks_are_forgotten_with_their_account(store: Engine) {
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

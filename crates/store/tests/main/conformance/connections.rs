//! Connections of accounts to sources.

use super::reference::check;
use super::sources::id;
use super::{Engine, fresh};
use model::{SourceId, Uid, Version};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::slice::from_ref;
use store::{Connection, Store};

fn connection(owner: Uid, name: &str, version: i64, source: SourceId) -> Connection {
    let state = version.to_be_bytes().to_vec();
    Connection { owner, name: name.to_owned(), version: Version(version), source, removed: false, state }
}

/// All connections to a source, read page by page.
async fn all_to(store: &dyn Store, source: SourceId, limit: usize) -> Vec<Connection> {
    let mut all: Vec<Connection> = Vec::new();
    loop {
        let after = all.last().map(|last| (last.owner, last.name.clone()));
        let page = store.connections_to(source, after, limit).await.unwrap();
        assert!(page.len() <= limit);
        let full = page.len() == limit;
        all.extend(page);
        if !full {
            return all;
        }
    }
}

pub(crate) async fn a_connection_is_seen_from_both_ends(store: Engine) {
    let (ada, bob) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    let (here, there) = (id(), id());
    assert_eq!(store.connection(ada, "photos").await.unwrap(), None);
    assert_eq!(store.connections_of(ada).await.unwrap(), []);
    assert_eq!(all_to(&*store, here, 10).await, []);

    let photos = connection(ada, "photos", 1, here);
    for _ in 0..2 {
        fresh::put(&*store, &photos).await;
    }
    let longest = "a-z0-9._".repeat(8);
    let songs = Connection { state: vec![255; 5_000], ..connection(ada, &longest, 1, here) };
    fresh::put(&*store, &songs).await;
    assert_eq!(store.connection(ada, "photos").await.unwrap(), Some(photos.clone()));
    assert_eq!(store.connection(bob, "photos").await.unwrap(), None);
    assert_eq!(store.connections_of(ada).await.unwrap(), [songs.clone(), photos.clone()], "by name");
    assert_eq!(all_to(&*store, here, 1).await, [songs.clone(), photos.clone()]);

    let elsewhere = connection(ada, "photos", 2, there);
    fresh::put(&*store, &elsewhere).await;
    assert_eq!(all_to(&*store, here, 10).await, from_ref(&songs));
    assert_eq!(all_to(&*store, there, 10).await, [elsewhere]);
    let back = connection(ada, "photos", 3, here);
    fresh::put(&*store, &back).await;
    assert_eq!(all_to(&*store, here, 10).await, [songs.clone(), back]);
    assert_eq!(all_to(&*store, there, 10).await, []);

    let removed = Connection { removed: true, ..connection(ada, "photos", 4, here) };
    fresh::put(&*store, &removed).await;
    assert_eq!(store.connection(ada, "photos").await.unwrap(), Some(removed), "found as removed");
    assert_eq!(store.connections_of(ada).await.unwrap(), from_ref(&songs));
    assert_eq!(all_to(&*store, here, 10).await, from_ref(&songs));
    let again = connection(ada, "photos", 5, here);
    fresh::put(&*store, &again).await;
    assert_eq!(all_to(&*store, here, 10).await, [songs, again]);
    assert_eq!(store.connections_to(here, None, 0).await.unwrap(), []);
}

pub(crate) async fn a_connection_is_replaced_by_compare_and_set(store: Engine) {
    let (owner, here, there) = (fresh::uid(&*store).await, id(), id());
    let replace = async |before: Option<i64>, version, source| {
        let next = connection(owner, "photos", version, source);
        store.replace_connection(before.map(Version), &next).await.unwrap()
    };
    assert!(!replace(Some(1), 2, there).await, "nothing is stored");
    assert!(replace(None, 1, here).await);
    assert!(!replace(None, 2, there).await, "a version is stored");
    assert!(replace(Some(1), 3, here).await);
    assert!(!replace(Some(1), 4, there).await, "the version was replaced");
    assert_eq!(all_to(&*store, here, 10).await, [connection(owner, "photos", 3, here)]);
    assert_eq!(all_to(&*store, there, 10).await, []);
}

pub(crate) async fn connections_to_a_source_are_paged(store: Engine) {
    let (shared, other) = (id(), id());
    let mut expected = Vec::new();
    for number in 0..12 {
        let owner = fresh::uid(&*store).await;
        for name in ["b", "a", "a.b"] {
            let first = connection(owner, name, 1, shared);
            fresh::put(&*store, &first).await;
            match (number + i64::try_from(name.len()).unwrap()) % 5 {
                0 => drop(fresh::put(&*store, &connection(owner, name, 2, other)).await),
                1 => {
                    let removed = Connection { removed: true, ..connection(owner, name, 2, shared) };
                    fresh::put(&*store, &removed).await;
                }
                _ => expected.push(first),
            }
        }
    }
    expected.sort_by_key(|connection| (connection.owner, connection.name.clone()));
    for limit in [1, 5, 7, 1_000] {
        assert_eq!(all_to(&*store, shared, limit).await, expected, "{limit}");
    }
}

pub(crate) async fn connections_match_the_reference_model(store: Engine) {
    let put = (0..3_usize, 0..2_usize, 1..8_i64, 0..3_usize, prop::bool::weighted(0.3));
    check(64, &prop::collection::vec(put, 1..25), async |puts| {
        let sources = [id(), id(), id()];
        let mut owners = Vec::new();
        for _ in 0..3 {
            owners.push(fresh::uid(&*store).await);
        }
        let mut model: BTreeMap<(Uid, &str), Connection> = BTreeMap::new();
        for (owner, name, version, source, removed) in puts {
            let (owner, name) = (owners[owner], ["one", "two"][name]);
            let put = Connection { removed, ..connection(owner, name, version, sources[source]) };
            fresh::put(&*store, &put).await;
            if model.get(&(owner, name)).is_none_or(|before| before.version < put.version) {
                model.insert((owner, name), put);
            }
        }
        let is_live = |connection: &&Connection| !connection.removed;
        for owner in owners {
            for name in ["one", "two"] {
                let found = store.connection(owner, name).await.unwrap();
                assert_eq!(found.as_ref(), model.get(&(owner, name)));
            }
            let expected = model.values().filter(is_live).filter(|connection| connection.owner == owner);
            assert!(store.connections_of(owner).await.unwrap().iter().eq(expected));
        }
        for source in sources {
            for limit in [1, 2, 100] {
                let expected =
                    model.values().filter(is_live).filter(|connection| connection.source == source);
                assert!(all_to(&*store, source, limit).await.iter().eq(expected), "{limit}");
            }
        }
    });
}

//! Hooks of accounts, and their progress.

use super::reference::check;
use super::{Engine, fresh};
use model::{HookId, Uid, Version};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::slice::from_ref;
use store::{Hook, HookProgress, ListedHook, SHARDS, Store, hook_shard};
use uuid::Uuid;

fn id() -> HookId {
    HookId(Uuid::new_v4().into_bytes())
}

fn hook(owner: Uid, name: &str, version: i64) -> Hook {
    let (version, state) = (Version(version), version.to_be_bytes().to_vec());
    Hook { owner, name: name.to_owned(), version, id: id(), removed: false, state }
}

fn listed(hook: &Hook) -> ListedHook {
    ListedHook { owner: hook.owner, name: hook.name.clone(), version: hook.version }
}

/// The listed hooks of these accounts, read page by page. Other tests use the same shards.
async fn all_of(store: &dyn Store, owners: &[Uid], limit: usize) -> Vec<ListedHook> {
    let mut found = Vec::new();
    for shard in 0..SHARDS {
        let mut after = None;
        loop {
            let page = store.hooks_in(shard, after.take(), limit).await.unwrap();
            assert!(page.len() <= limit && page.iter().all(|hook| hook_shard(hook.owner) == shard));
            after = page.last().filter(|_| page.len() == limit).map(|last| (last.owner, last.name.clone()));
            found.extend(page.into_iter().filter(|hook| owners.contains(&hook.owner)));
            if after.is_none() {
                break;
            }
        }
    }
    found.sort_by_key(|hook| (hook.owner, hook.name.clone()));
    found
}

pub(crate) async fn a_hook_is_stored(store: Engine) {
    let (ada, bob) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    assert_eq!(store.hook(ada, "search").await.unwrap(), None);
    assert_eq!(store.hooks_of(ada).await.unwrap(), []);
    let search = hook(ada, "search", 1);
    let longest = Hook { state: vec![255; 5_000], ..hook(ada, &"a-z0-9._".repeat(8), 1) };
    for one in [&search, &longest, &search] {
        fresh::put(&*store, one).await;
    }
    assert_eq!(store.hook(ada, "search").await.unwrap(), Some(search.clone()));
    assert_eq!(store.hook(bob, "search").await.unwrap(), None);
    assert_eq!(store.hooks_of(ada).await.unwrap(), [longest.clone(), search.clone()], "by name");
    assert_eq!(all_of(&*store, &[ada, bob], 100).await, [listed(&longest), listed(&search)]);

    let removed = Hook { removed: true, state: Vec::new(), ..hook(ada, "search", 2) };
    fresh::put(&*store, &removed).await;
    assert_eq!(store.hook(ada, "search").await.unwrap(), Some(removed), "found as removed");
    assert_eq!(store.hooks_of(ada).await.unwrap(), from_ref(&longest));
    assert_eq!(all_of(&*store, &[ada], 100).await, [listed(&longest)]);
    let again = hook(ada, "search", 3);
    fresh::put(&*store, &again).await;
    assert_eq!(store.hook(ada, "search").await.unwrap(), Some(again.clone()), "with another identifier");
    assert_eq!(all_of(&*store, &[ada], 100).await, [listed(&longest), listed(&again)]);
}

pub(crate) async fn a_hook_is_replaced_by_compare_and_set(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let replace = async |before: Option<i64>, version| {
        store.replace_hook(before.map(Version), &hook(owner, "search", version)).await.unwrap()
    };
    assert!(!replace(Some(1), 2).await, "nothing is stored");
    assert!(replace(None, 1).await);
    assert!(!replace(None, 2).await, "a version is stored");
    assert!(replace(Some(1), 3).await);
    assert!(!replace(Some(1), 4).await, "the version was replaced");
    assert_eq!(store.hook(owner, "search").await.unwrap().unwrap().version, Version(3));
}

pub(crate) async fn hooks_of_a_shard_are_paged(store: Engine) {
    let (mut owners, mut expected) = (Vec::new(), Vec::new());
    for _ in 0..8 {
        let owner = fresh::uid(&*store).await;
        owners.push(owner);
        for name in ["b", "a", "a.b"] {
            let one = hook(owner, name, 1);
            fresh::put(&*store, &one).await;
            expected.push(listed(&one));
        }
    }
    expected.sort_by_key(|hook| (hook.owner, hook.name.clone()));
    for limit in [1, 2, 3, 1_000] {
        assert_eq!(all_of(&*store, &owners, limit).await, expected, "{limit}");
    }
}

pub(crate) async fn hooks_match_the_reference_model(store: Engine) {
    let put = (0..3_usize, 0..2_usize, 1..8_i64, prop::bool::weighted(0.3));
    check(24, &prop::collection::vec(put, 1..20), async |puts| {
        let mut owners = Vec::new();
        for _ in 0..3 {
            owners.push(fresh::uid(&*store).await);
        }
        let mut model: BTreeMap<(Uid, &str), Hook> = BTreeMap::new();
        for (owner, name, version, removed) in puts {
            let (owner, name) = (owners[owner], ["one", "two"][name]);
            let put = Hook { removed, ..hook(owner, name, version) };
            fresh::put(&*store, &put).await;
            if model.get(&(owner, name)).is_none_or(|before| before.version < put.version) {
                model.insert((owner, name), put);
            }
        }
        let live = || model.values().filter(|hook| !hook.removed);
        for owner in &owners {
            for name in ["one", "two"] {
                let found = store.hook(*owner, name).await.unwrap();
                assert_eq!(found.as_ref(), model.get(&(*owner, name)));
            }
            let expected = live().filter(|hook| hook.owner == *owner);
            assert!(store.hooks_of(*owner).await.unwrap().iter().eq(expected));
        }
        assert!(all_of(&*store, &owners, 1_000).await.into_iter().eq(live().map(listed)));
    });
}

pub(crate) async fn the_later_progress_wins(store: Engine) {
    let (one, other, unknown) = (id(), id(), id());
    let progress =
        |id, version: i64, size| HookProgress { id, version: Version(version), state: vec![7; size] };
    for (version, size) in [(2, 20), (1, 10), (4, 2_000), (3, 30)] {
        store.put_hook_progress(&progress(one, version, size)).await.unwrap();
    }
    store.put_hook_progress(&progress(other, 1, 1)).await.unwrap();
    let stored = async || store.hook_progress(&[other, unknown, one]).await.unwrap();
    let expected = [Some(progress(other, 1, 1)), None, Some(progress(one, 4, 2_000))];
    assert_eq!(stored().await, expected, "in the order of the request");
    store.delete_hook_progress(other).await.unwrap();
    store.delete_hook_progress(unknown).await.unwrap();
    assert_eq!(stored().await, [None, None, expected[2].clone()]);
}

//! Blocks, mutes and edge filters.

use super::log::pending_at;
use super::{Engine, fresh};
use fresh::every_order;
use model::{Account, AccountName, Decision, Edge, EdgeFilter, Millis, Relation, Version};
use store::{BlockedBy, DecisionChange, Store, Work};

const NONE: Relation = Relation { blocks: false, mutes: false, blocked_by: false };

fn change(
    owner: &Account,
    decision: Decision,
    other: &AccountName,
    version: i64,
    holds: bool,
) -> DecisionChange {
    DecisionChange {
        owner: owner.uid,
        name: owner.name.clone(),
        decision,
        other: other.clone(),
        other_uid: None,
        version: Version(version),
        holds,
    }
}

async fn relation(store: &dyn Store, name: &AccountName, other: &AccountName) -> Relation {
    store.relations(name, std::slice::from_ref(other)).await.unwrap()[0]
}

pub(crate) async fn a_block_is_seen_from_both_ends(store: Engine) {
    let (ada, bob) = (fresh::account(&*store).await, fresh::account(&*store).await);
    assert_eq!(relation(&*store, &ada.name, &bob.name).await, NONE);
    assert_eq!(store.blocked_by(&bob.name, &ada.name).await.unwrap(), BlockedBy::default());
    let block = change(&ada, Decision::Block, &bob.name, 5, true);
    store.put_decision(&block).await.unwrap().expect("it is new");
    assert_eq!(store.put_decision(&block).await.unwrap(), None, "it is known");
    assert_eq!(relation(&*store, &ada.name, &bob.name).await, Relation { blocks: true, ..NONE });
    assert_eq!(relation(&*store, &bob.name, &ada.name).await, Relation { blocked_by: true, ..NONE });
    let blocked = store.blocked_by(&bob.name, &ada.name).await.unwrap();
    assert!(blocked.holds && blocked.changed >= Version(5), "{blocked:?}");
    assert!(!store.blocked_by(&ada.name, &bob.name).await.unwrap().holds, "a block has a direction");
    let found = store.decision(&ada.name, Decision::Block, &bob.name).await.unwrap();
    assert_eq!(found, Some((Version(5), true)));

    store.put_decision(&change(&ada, Decision::Mute, &bob.name, 6, true)).await.unwrap().expect("it is new");
    assert_eq!(relation(&*store, &ada.name, &bob.name).await, Relation { blocks: true, mutes: true, ..NONE });
    assert_eq!(relation(&*store, &bob.name, &ada.name).await, Relation { blocked_by: true, ..NONE });
    store
        .put_decision(&change(&ada, Decision::Block, &bob.name, 7, false))
        .await
        .unwrap()
        .expect("it is new");
    assert_eq!(relation(&*store, &ada.name, &bob.name).await, Relation { mutes: true, ..NONE });
    assert_eq!(relation(&*store, &bob.name, &ada.name).await, NONE);
    let lifted = store.blocked_by(&bob.name, &ada.name).await.unwrap();
    assert!(!lifted.holds && lifted.changed > blocked.changed, "{lifted:?}");
}

pub(crate) async fn the_later_decision_wins(store: Engine) {
    for decision in Decision::ALL {
        for order in every_order(&[(1, true), (2, false), (3, true)]) {
            let (ada, bob) = (fresh::account(&*store).await, fresh::name());
            for (version, holds) in &order {
                store.put_decision(&change(&ada, decision, &bob, *version, *holds)).await.unwrap();
            }
            let found = store.decision(&ada.name, decision, &bob).await.unwrap();
            assert_eq!(found, Some((Version(3), true)), "{order:?}");
            let relation = relation(&*store, &ada.name, &bob).await;
            assert!(relation.blocks != relation.mutes, "{order:?}");
        }
    }
}

pub(crate) async fn relations_are_returned_in_request_order(store: Engine) {
    let ada = fresh::account(&*store).await;
    let names: Vec<AccountName> = (0..40).map(|_| fresh::name()).collect();
    store.put_decision(&change(&ada, Decision::Block, &names[3], 1, true)).await.unwrap();
    store.put_decision(&change(&ada, Decision::Mute, &names[39], 1, true)).await.unwrap();
    let found = store.relations(&ada.name, &names).await.unwrap();
    for (number, relation) in found.into_iter().enumerate() {
        assert_eq!((relation.blocks, relation.mutes), (number == 3, number == 39), "{number}");
    }
    assert_eq!(store.relations(&ada.name, &[]).await.unwrap(), []);
}

pub(crate) async fn decisions_are_listed_in_order(store: Engine) {
    let ada = fresh::account(&*store).await;
    let mut names: Vec<AccountName> = (0..25).map(|_| fresh::name()).collect();
    for (number, name) in names.iter().enumerate() {
        store.put_decision(&change(&ada, Decision::Mute, name, 1, true)).await.unwrap();
        if number % 5 == 0 {
            store.put_decision(&change(&ada, Decision::Mute, name, 2, false)).await.unwrap();
        }
    }
    let mut number = 0;
    names.retain(|_| {
        number += 1;
        (number - 1) % 5 != 0
    });
    names.sort();
    for limit in [1, 7, 20, 100] {
        let mut all: Vec<AccountName> = Vec::new();
        loop {
            let page = store.decided(&ada.name, Decision::Mute, all.last(), limit).await.unwrap();
            let full = page.len() == limit;
            all.extend(page);
            if !full {
                break;
            }
        }
        assert_eq!(all, names, "{limit}");
    }
    assert_eq!(store.decided(&ada.name, Decision::Block, None, 9).await.unwrap(), []);
}

pub(crate) async fn a_decision_appends_a_task(store: Engine) {
    let (ada, bob) = (fresh::account(&*store).await, fresh::account(&*store).await);
    let block = change(&ada, Decision::Block, &bob.name, 1, true);
    let block = DecisionChange { other_uid: Some(bob.uid), ..block };
    let changes = [
        (block.clone(), Work::Block { owner: ada.uid, other: bob.uid }),
        (DecisionChange { version: Version(2), holds: false, ..block }, Work::Change { uid: ada.uid }),
        (change(&ada, Decision::Mute, &bob.name, 1, true), Work::Change { uid: ada.uid }),
    ];
    let mut positions = Vec::new();
    for (change, _) in &changes {
        positions.push(store.put_decision(change).await.unwrap().expect("it is new"));
    }
    let tasks = pending_at(&*store, &positions, 3).await;
    for (position, (_, work)) in positions.iter().zip(&changes) {
        assert!(tasks.iter().any(|task| task.position == *position && task.work == *work), "{work:?}");
    }
    store.acknowledge(&positions, &[]).await.unwrap();
}

pub(crate) async fn the_later_edge_filter_wins(store: Engine) {
    let filter = |word: &str| EdgeFilter::of(&[word.to_owned()], &[], &[]);
    for order in every_order(&[(5, "flickr"), (7, "delicious"), (6, "digg")]) {
        let (ada, bob) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
        assert_eq!(store.put_edge_filter(ada, bob, Version(9), &filter("x")).await.unwrap(), None, "no edge");
        let edge = Edge::new(Version(1), Millis(10), None);
        store.put_edge(ada, bob, &edge).await.unwrap().expect("it is new");
        for (version, word) in &order {
            store.put_edge_filter(ada, bob, Version(*version), &filter(word)).await.unwrap();
        }
        let expected = Edge { filter: filter("delicious"), filter_version: Version(7), ..edge.clone() };
        assert_eq!(store.edges(ada, &[bob]).await.unwrap(), [Some(expected.clone())], "{order:?}");
        assert_eq!(store.following(ada, None, 9).await.unwrap(), [(bob, expected.clone())]);
        // A later edge brings its own filter, an earlier one does not.
        let ended = Edge { following: false, version: Version(2), ..edge.clone() };
        store.put_edge(ada, bob, &ended).await.unwrap().expect("it is new");
        let kept = Edge { following: false, version: Version(2), ..expected };
        assert_eq!(store.edges(ada, &[bob]).await.unwrap(), [Some(kept)]);
        let again = Edge { filter: filter("digg"), ..Edge::new(Version(8), Millis(20), None) };
        store.put_edge(ada, bob, &again).await.unwrap().expect("it is new");
        assert_eq!(store.edges(ada, &[bob]).await.unwrap(), [Some(again)]);
    }
}

pub(crate) async fn a_filter_appends_a_task(store: Engine) {
    let (ada, bob) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    let first = store.put_edge(ada, bob, &Edge::new(Version(1), Millis(0), None)).await.unwrap().unwrap();
    let filter = EdgeFilter::of(&[], &["photo".to_owned()], &[]);
    let second = store.put_edge_filter(ada, bob, Version(2), &filter).await.unwrap().expect("it is new");
    assert_eq!(store.put_edge_filter(ada, bob, Version(2), &filter).await.unwrap(), None, "it is known");
    let tasks = pending_at(&*store, &[first, second], 2).await;
    let work = Work::Change { uid: ada };
    assert!(tasks.iter().any(|task| task.position == second && task.work == work), "{tasks:?}");
    store.acknowledge(&[first, second], &[]).await.unwrap();
}

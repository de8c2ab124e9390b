//! Reads, dormancy and reactivation of accounts.

use super::log::{pending_at, pending_work};
use super::{Engine, fresh};
use fresh::every_order;
use model::{Dormancy, Edge, EdgeDormancy, Millis, Position, SortKey, Uid, Version};
use std::sync::Arc;
use store::{Follower, LastRead, Store, Task, Work};

fn dormant(since: u64) -> Dormancy {
    Dormancy::Dormant { since: Position(since) }
}

fn catching_up(since: u64) -> Dormancy {
    Dormancy::CatchingUp { since: Position(since) }
}

async fn dormancy(store: &dyn Store, uid: Uid) -> (i64, Dormancy) {
    let state = store.delivery_state(uid).await.unwrap();
    let last = store.last_reads(&[uid]).await.unwrap().remove(0);
    assert_eq!((state.version, state.dormancy), (last.version, last.dormancy), "both reads agree");
    (state.version.0, state.dormancy)
}

async fn follow(store: &dyn Store, follower: Uid, followee: Uid) -> Follower {
    let edge = Edge::new(Version(3), Millis(0), None);
    let since = store.put_edge(follower, followee, &edge).await.unwrap().expect("it is new");
    Follower { uid: follower, version: edge.version, since, dormancy: None }
}

pub(crate) async fn the_latest_read_wins(store: Engine) {
    for order in every_order(&[5, 9, 7]) {
        let uid = fresh::uid(&*store).await;
        for at in &order {
            store.note_read(uid, Millis(*at)).await.unwrap();
        }
        let expected = LastRead { at: Some(Millis(9)), ..LastRead::default() };
        assert_eq!(store.last_reads(&[uid]).await.unwrap(), [expected], "{order:?}");
    }
}

pub(crate) async fn last_reads_are_returned_in_request_order(store: Engine) {
    let (ada, bob, eve) = (fresh::uid(&*store).await, fresh::uid(&*store).await, fresh::uid(&*store).await);
    store.note_read(ada, Millis(-5)).await.unwrap();
    store.note_read(bob, Millis(fresh::NOON)).await.unwrap();
    store.put_dormancy(bob, Version(1), dormant(7)).await.unwrap();
    store.put_dormancy(eve, Version(2), catching_up(8)).await.unwrap();
    let read = |at, version, dormancy| LastRead { at, version: Version(version), dormancy };
    let adas = read(Some(Millis(-5)), 0, Dormancy::Active);
    let bobs = read(Some(Millis(fresh::NOON)), 1, dormant(7));
    let eves = read(None, 2, catching_up(8));
    let found = store.last_reads(&[eve, ada, Uid(i64::MAX), bob, ada]).await.unwrap();
    assert_eq!(found, [eves, adas, LastRead::default(), bobs, adas]);
    assert_eq!(store.last_reads(&[]).await.unwrap(), []);
    // Dormancy does not change the time of the last read, and a read alone does not reactivate.
    store.note_read(eve, Millis(3)).await.unwrap();
    store.put_dormancy(ada, Version(1), dormant(9)).await.unwrap();
    let found = store.last_reads(&[eve, ada]).await.unwrap();
    assert_eq!(found, [read(Some(Millis(3)), 2, catching_up(8)), read(Some(Millis(-5)), 1, dormant(9))]);
}

pub(crate) async fn the_later_dormancy_wins(store: Engine) {
    let steps = [(1, dormant(10)), (1, dormant(7)), (2, catching_up(7)), (3, Dormancy::Active)];
    for known in 1..=steps.len() {
        for order in every_order(&steps[..known]) {
            let uid = fresh::uid(&*store).await;
            for (version, dormancy) in &order {
                store.put_dormancy(uid, Version(*version), *dormancy).await.unwrap();
            }
            assert_eq!(dormancy(&*store, uid).await, steps[known - 1], "{order:?}");
        }
    }
}

pub(crate) async fn a_dormant_account_is_reactivated_once(store: Engine) {
    let uid = fresh::uid(&*store).await;
    for (version, since) in [(1, 10), (4, 50)] {
        store.put_dormancy(uid, Version(version), dormant(since)).await.unwrap();
        let reactivated = store.reactivate(uid, Version(version), Position(since), Millis(1)).await.unwrap();
        let position = reactivated.expect("it was dormant");
        assert_eq!(dormancy(&*store, uid).await, (version + 1, catching_up(since)));
        let work = Work::CatchUp {
            uid,
            version: Version(version).following(),
            since: Position(since),
            after: None,
            within: None,
        };
        assert_eq!(pending_at(&*store, &[position], 1).await[0].work, work);
        for _ in 0..2 {
            assert_eq!(
                store.reactivate(uid, Version(version), Position(since), Millis(1)).await.unwrap(),
                None
            );
        }
        assert_eq!(pending_work(&*store, &work, 1).await[0].position, position, "once");
        store.put_dormancy(uid, Version(version + 2), Dormancy::Active).await.unwrap();
        assert_eq!(store.reactivate(uid, Version(version), Position(since), Millis(1)).await.unwrap(), None);
        assert_eq!(dormancy(&*store, uid).await, (version + 2, Dormancy::Active), "nothing was changed");
        store.acknowledge(&[position], &[]).await.unwrap();
    }
    // An account that became dormant again in the meantime stays dormant.
    store.put_dormancy(uid, Version(7), dormant(70)).await.unwrap();
    assert_eq!(store.reactivate(uid, Version(4), Position(50), Millis(1)).await.unwrap(), None);
    assert_eq!(dormancy(&*store, uid).await, (7, dormant(70)));
}

pub(crate) async fn concurrent_reactivations_append_a_task(store: Engine) {
    let uid = fresh::uid(&*store).await;
    store.put_dormancy(uid, Version(1), dormant(10)).await.unwrap();
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(
                async move { store.reactivate(uid, Version(1), Position(10), Millis(1)).await.unwrap() },
            )
        })
        .collect();
    let mut positions = Vec::new();
    for call in calls {
        positions.extend(call.await.unwrap());
    }
    assert!(!positions.is_empty(), "at least one call succeeds");
    // Concurrent calls may return the same position.
    positions.sort_unstable();
    positions.dedup();
    assert_eq!(dormancy(&*store, uid).await, (2, catching_up(10)));
    pending_at(&*store, &positions, positions.len()).await;
    store.acknowledge(&positions, &[]).await.unwrap();
}

pub(crate) async fn the_latest_edge_dormancy_wins(store: Engine) {
    let steps = [
        (1, EdgeDormancy::Dormant),
        (1, EdgeDormancy::ActiveAfter(Position(3))),
        (2, EdgeDormancy::Dormant),
        (2, EdgeDormancy::ActiveAfter(Position(9))),
        (2, EdgeDormancy::ActiveAfter(Position(5))),
    ];
    let bob = fresh::uid(&*store).await;
    let mut expected = Vec::new();
    for (known, latest) in [(1, 0), (2, 1), (3, 2), (4, 3), (5, 3)] {
        for order in every_order(&steps[..known]).into_iter().step_by(known) {
            let follower = fresh::uid(&*store).await;
            let active = follow(&*store, follower, bob).await;
            for (version, dormancy) in &order {
                store.put_edge_dormancy(follower, &[bob], Version(*version), *dormancy).await.unwrap();
            }
            expected.push((Follower { dormancy: Some(steps[latest].1), ..active }, order));
        }
    }
    expected.sort_by_key(|(follower, _)| follower.uid);
    let found = store.followers(bob, None, 1_000).await.unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, (expected, order)) in found.iter().zip(&expected) {
        assert_eq!(found, expected, "{order:?}");
    }
}

pub(crate) async fn dormancy_is_stored_per_edge(store: Engine) {
    let (ada, eve) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    let (one, two, three) = (fresh::uid(&*store).await, fresh::uid(&*store).await, fresh::uid(&*store).await);
    let active = [follow(&*store, ada, one).await, follow(&*store, ada, two).await];
    let eves = follow(&*store, eve, one).await;
    store.put_edge_dormancy(ada, &[], Version(1), EdgeDormancy::Dormant).await.unwrap();
    assert_eq!(store.followers(two, None, 9).await.unwrap(), [active[1]], "no edge was listed");
    store.put_edge_dormancy(ada, &[one, two, three], Version(1), EdgeDormancy::Dormant).await.unwrap();
    let mut expected = [Follower { dormancy: Some(EdgeDormancy::Dormant), ..active[0] }, eves];
    expected.sort_by_key(|follower| follower.uid);
    assert_eq!(store.followers(one, None, 9).await.unwrap(), expected);
    assert_eq!(
        store.followers(two, None, 9).await.unwrap(),
        [Follower { dormancy: Some(EdgeDormancy::Dormant), ..active[1] }]
    );
    assert_eq!(store.followers(three, None, 9).await.unwrap(), [], "dormancy does not create an edge");

    let again = EdgeDormancy::ActiveAfter(Position(77));
    store.put_edge_dormancy(ada, &[two], Version(2), again).await.unwrap();
    assert_eq!(
        store.followers(two, None, 9).await.unwrap(),
        [Follower { dormancy: Some(again), ..active[1] }]
    );
    assert_eq!(store.followers(one, None, 9).await.unwrap(), expected, "other edges are unchanged");
    let known = Edge::new(active[1].version, Millis(0), None);
    assert_eq!(store.put_edge(ada, two, &known).await.unwrap(), None);
    assert_eq!(
        store.followers(two, None, 9).await.unwrap(),
        [Follower { dormancy: Some(again), ..active[1] }]
    );
}

/// Tasks of fan-out modes and dormancy, including partly finished ones.
pub(crate) async fn tasks_survive_retry_and_replay(store: Engine) {
    let uid = fresh::uid(&*store).await;
    let (version, since, after) = (Version(5), Position(8), Some(Uid(i64::MAX)));
    let sort_key = SortKey { time: Millis(-7), id: fresh::id(fresh::NOON) };
    for work in [
        Work::PrepareFollowers { uid, after: None },
        Work::PrepareFollowers { uid, after },
        Work::BecomeDormant { uid, version, after: None },
        Work::BecomeDormant { uid, version, after },
        Work::CatchUp { uid, version, since, after: None, within: None },
        Work::CatchUp { uid, version, since, after, within: None },
        Work::CatchUp { uid, version, since, after: None, within: Some((Uid(3), sort_key)) },
        Work::CatchUp { uid, version, since, after, within: Some((Uid(i64::MAX), sort_key)) },
    ] {
        let first = store.append(&work).await.unwrap();
        let task = Task { attempts: 2, ..pending_at(&*store, &[first], 1).await.remove(0) };
        assert_eq!(task.work, work);
        store.retry(&task, Millis(7)).await.unwrap();
        store.requeue_due(Millis(7)).await.unwrap();
        let task = pending_work(&*store, &work, 1).await.remove(0);
        assert_eq!(task.attempts, 2);
        store.dead_letter(&task, "it failed", Millis(9)).await.unwrap();
        let letters = store.dead_letters(None, 1_000).await.unwrap();
        let letter =
            letters.iter().find(|letter| letter.work.as_ref() == Some(&work)).expect("it is a dead letter");
        assert!(store.replay(letter.number).await.unwrap());
        let again = pending_work(&*store, &work, 1).await.remove(0);
        store.acknowledge(&[again.position], &[]).await.unwrap();
    }
}

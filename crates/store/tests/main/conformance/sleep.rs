//! Who reads, who sleeps, and who comes back.

use super::log::{doing, waiting};
use super::{Engine, fresh};
use fresh::every_order;
use model::{Edge, Millis, Phase, Position, Sleep, Spot, Uid, Version};
use std::sync::Arc;
use store::{Follower, LastRead, Store, Task, Work};

fn asleep(since: u64) -> Phase {
    Phase::Asleep { since: Position(since) }
}

fn returning(since: u64) -> Phase {
    Phase::Returning { since: Position(since) }
}

async fn phase(store: &dyn Store, uid: Uid) -> (i64, Phase) {
    let reading = store.reading(uid).await.unwrap();
    let last = store.last_reads(&[uid]).await.unwrap().remove(0);
    assert_eq!((reading.version, reading.phase), (last.version, last.phase), "both tell the same");
    (reading.version.0, reading.phase)
}

async fn follow(store: &dyn Store, follower: Uid, followee: Uid) -> Follower {
    let edge = Edge { following: true, version: Version(3), since: Millis(0), from: None };
    let since = store.put_edge(follower, followee, &edge).await.unwrap().expect("it is new");
    Follower { uid: follower, version: edge.version, since, sleep: None }
}

pub(crate) async fn the_latest_read_stays(store: Engine) {
    for order in every_order(&[5, 9, 7]) {
        let uid = fresh::uid(&*store).await;
        for at in &order {
            store.note_read(uid, Millis(*at)).await.unwrap();
        }
        let expected = LastRead { at: Some(Millis(9)), ..LastRead::default() };
        assert_eq!(store.last_reads(&[uid]).await.unwrap(), [expected], "{order:?}");
    }
}

pub(crate) async fn last_reads_line_up(store: Engine) {
    let (ada, bob, eve) = (fresh::uid(&*store).await, fresh::uid(&*store).await, fresh::uid(&*store).await);
    store.note_read(ada, Millis(-5)).await.unwrap();
    store.note_read(bob, Millis(fresh::NOON)).await.unwrap();
    store.put_phase(bob, Version(1), asleep(7)).await.unwrap();
    store.put_phase(eve, Version(2), returning(8)).await.unwrap();
    let read = |at, version, phase| LastRead { at, version: Version(version), phase };
    let adas = read(Some(Millis(-5)), 0, Phase::Awake);
    let bobs = read(Some(Millis(fresh::NOON)), 1, asleep(7));
    let eves = read(None, 2, returning(8));
    let found = store.last_reads(&[eve, ada, Uid(i64::MAX), bob, ada]).await.unwrap();
    assert_eq!(found, [eves, adas, LastRead::default(), bobs, adas]);
    assert_eq!(store.last_reads(&[]).await.unwrap(), []);
    // A phase does not unread anything, and a read wakes nobody by itself.
    store.note_read(eve, Millis(3)).await.unwrap();
    store.put_phase(ada, Version(1), asleep(9)).await.unwrap();
    let found = store.last_reads(&[eve, ada]).await.unwrap();
    assert_eq!(found, [read(Some(Millis(3)), 2, returning(8)), read(Some(Millis(-5)), 1, asleep(9))]);
}

pub(crate) async fn the_later_phase_stays(store: Engine) {
    let steps = [(1, asleep(10)), (1, asleep(7)), (2, returning(7)), (3, Phase::Awake)];
    for known in 1..=steps.len() {
        for order in every_order(&steps[..known]) {
            let uid = fresh::uid(&*store).await;
            for (version, phase) in &order {
                store.put_phase(uid, Version(*version), *phase).await.unwrap();
            }
            assert_eq!(phase(&*store, uid).await, steps[known - 1], "{order:?}");
        }
    }
}

pub(crate) async fn who_sleeps_is_woken_once(store: Engine) {
    let uid = fresh::uid(&*store).await;
    for (version, since) in [(1, 10), (4, 50)] {
        store.put_phase(uid, Version(version), asleep(since)).await.unwrap();
        let woken = store.wake(uid, Version(version), Position(since), Millis(1)).await.unwrap();
        let place = woken.expect("it slept");
        assert_eq!(phase(&*store, uid).await, (version + 1, returning(since)));
        let work = Work::Return {
            uid,
            version: Version(version).following(),
            since: Position(since),
            after: None,
            within: None,
        };
        assert_eq!(waiting(&*store, &[place], 1).await[0].work, work);
        for _ in 0..2 {
            assert_eq!(store.wake(uid, Version(version), Position(since), Millis(1)).await.unwrap(), None);
        }
        assert_eq!(doing(&*store, &work, 1).await[0].position, place, "once");
        store.put_phase(uid, Version(version + 2), Phase::Awake).await.unwrap();
        assert_eq!(store.wake(uid, Version(version), Position(since), Millis(1)).await.unwrap(), None);
        assert_eq!(phase(&*store, uid).await, (version + 2, Phase::Awake), "nothing was changed");
        store.acknowledge(&[place], &[]).await.unwrap();
    }
    // Who fell asleep in the meantime sleeps on.
    store.put_phase(uid, Version(7), asleep(70)).await.unwrap();
    assert_eq!(store.wake(uid, Version(4), Position(50), Millis(1)).await.unwrap(), None);
    assert_eq!(phase(&*store, uid).await, (7, asleep(70)));
}

pub(crate) async fn whoever_wakes_it_is_followed_up(store: Engine) {
    let uid = fresh::uid(&*store).await;
    store.put_phase(uid, Version(1), asleep(10)).await.unwrap();
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.wake(uid, Version(1), Position(10), Millis(1)).await.unwrap() })
        })
        .collect();
    let mut places = Vec::new();
    for call in calls {
        places.extend(call.await.unwrap());
    }
    assert!(!places.is_empty(), "one of them did");
    // Those who come at once may be given one and the same.
    places.sort_unstable();
    places.dedup();
    assert_eq!(phase(&*store, uid).await, (2, returning(10)));
    waiting(&*store, &places, places.len()).await;
    store.acknowledge(&places, &[]).await.unwrap();
}

pub(crate) async fn the_latest_sleep_of_an_edge_stays(store: Engine) {
    let steps = [
        (1, Sleep::Asleep),
        (1, Sleep::Awake(Position(3))),
        (2, Sleep::Asleep),
        (2, Sleep::Awake(Position(9))),
        (2, Sleep::Awake(Position(5))),
    ];
    let bob = fresh::uid(&*store).await;
    let mut expected = Vec::new();
    for (known, latest) in [(1, 0), (2, 1), (3, 2), (4, 3), (5, 3)] {
        for order in every_order(&steps[..known]).into_iter().step_by(known) {
            let follower = fresh::uid(&*store).await;
            let awake = follow(&*store, follower, bob).await;
            for (version, sleep) in &order {
                store.put_sleep(follower, &[bob], Version(*version), *sleep).await.unwrap();
            }
            expected.push((Follower { sleep: Some(steps[latest].1), ..awake }, order));
        }
    }
    expected.sort_by_key(|(follower, _)| follower.uid);
    let found = store.followers(bob, None, 1_000).await.unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, (expected, order)) in found.iter().zip(&expected) {
        assert_eq!(found, expected, "{order:?}");
    }
}

pub(crate) async fn sleep_is_told_of_each_edge(store: Engine) {
    let (ada, eve) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    let (one, two, three) = (fresh::uid(&*store).await, fresh::uid(&*store).await, fresh::uid(&*store).await);
    let awake = [follow(&*store, ada, one).await, follow(&*store, ada, two).await];
    let eves = follow(&*store, eve, one).await;
    store.put_sleep(ada, &[], Version(1), Sleep::Asleep).await.unwrap();
    assert_eq!(store.followers(two, None, 9).await.unwrap(), [awake[1]], "nobody said so");
    store.put_sleep(ada, &[one, two, three], Version(1), Sleep::Asleep).await.unwrap();
    let mut expected = [Follower { sleep: Some(Sleep::Asleep), ..awake[0] }, eves];
    expected.sort_by_key(|follower| follower.uid);
    assert_eq!(store.followers(one, None, 9).await.unwrap(), expected);
    assert_eq!(
        store.followers(two, None, 9).await.unwrap(),
        [Follower { sleep: Some(Sleep::Asleep), ..awake[1] }]
    );
    assert_eq!(store.followers(three, None, 9).await.unwrap(), [], "to sleep is not to follow");

    let again = Sleep::Awake(Position(77));
    store.put_sleep(ada, &[two], Version(2), again).await.unwrap();
    assert_eq!(store.followers(two, None, 9).await.unwrap(), [Follower { sleep: Some(again), ..awake[1] }]);
    assert_eq!(store.followers(one, None, 9).await.unwrap(), expected, "one edge at a time");
    let known = Edge { following: true, version: awake[1].version, since: Millis(0), from: None };
    assert_eq!(store.put_edge(ada, two, &known).await.unwrap(), None);
    assert_eq!(store.followers(two, None, 9).await.unwrap(), [Follower { sleep: Some(again), ..awake[1] }]);
}

/// The tasks of all this, also with what is left of them.
pub(crate) async fn its_tasks_are_kept_whatever_becomes_of_them(store: Engine) {
    let uid = fresh::uid(&*store).await;
    let (version, since, after) = (Version(5), Position(8), Some(Uid(i64::MAX)));
    let spot = Spot { time: Millis(-7), id: fresh::id(fresh::NOON) };
    for work in [
        Work::Audience { uid, after: None },
        Work::Audience { uid, after },
        Work::Sleep { uid, version, after: None },
        Work::Sleep { uid, version, after },
        Work::Return { uid, version, since, after: None, within: None },
        Work::Return { uid, version, since, after, within: None },
        Work::Return { uid, version, since, after: None, within: Some((Uid(3), spot)) },
        Work::Return { uid, version, since, after, within: Some((Uid(i64::MAX), spot)) },
    ] {
        let first = store.append(&work).await.unwrap();
        let task = Task { attempts: 2, ..waiting(&*store, &[first], 1).await.remove(0) };
        assert_eq!(task.work, work);
        store.retry(&task, Millis(7)).await.unwrap();
        store.come_due(Millis(7)).await.unwrap();
        let task = doing(&*store, &work, 1).await.remove(0);
        assert_eq!(task.attempts, 2);
        store.bury(&task, "no such luck", Millis(9)).await.unwrap();
        let letters = store.dead_letters(None, 1_000).await.unwrap();
        let letter = letters.iter().find(|letter| letter.work == work).expect("it was given up");
        assert!(store.replay(letter.number).await.unwrap());
        let again = doing(&*store, &work, 1).await.remove(0);
        store.acknowledge(&[again.position], &[]).await.unwrap();
    }
}

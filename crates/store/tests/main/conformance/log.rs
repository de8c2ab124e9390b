//! The delivery log. Other tests may append to it, so a test knows only its own tasks.

use super::{Engine, fresh};
use model::{Millis, Position, PriorAudience, SortKey, TraceContext, Uid, Version, Visibility};
use std::collections::BTreeSet;
use std::time::Duration;
use store::{Accepted, Store, Task, Work};

/// The pending tasks at these positions, in order, once there are `number` of them. A log on several servers may
/// return them late.
pub(super) async fn pending_at(store: &dyn Store, mine: &[Position], number: usize) -> Vec<Task> {
    let mut found = Vec::new();
    for _ in 0..100 {
        let all = store.pending(1_000_000).await.unwrap();
        assert!(all.is_sorted_by_key(|task| task.position), "oldest first");
        found = all.into_iter().filter(|task| mine.contains(&task.position)).collect();
        if found.len() == number {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("expected {number} pending tasks of {mine:?}, found {found:?}");
}

/// The pending tasks with this work.
pub(super) async fn pending_work(store: &dyn Store, work: &Work, number: usize) -> Vec<Task> {
    let mut found = Vec::new();
    for _ in 0..100 {
        let all = store.pending(1_000_000).await.unwrap();
        found = all.into_iter().filter(|task| task.work == *work).collect();
        if found.len() == number {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("expected {number} tasks with {work:?}, found {found:?}");
}

pub(crate) async fn tasks_are_pending_until_they_are_acknowledged(store: Engine) {
    let actor = fresh::uid(&*store).await;
    let mut first = fresh::acceptance(actor, "1", fresh::NOON);
    first.activity.state.addressed = vec![actor, model::Uid(actor.0 + 1)];
    let second = fresh::next(&first, "second", false);
    let mut expected = Vec::new();
    for item in [&first, &second] {
        let position = fresh::accept(&*store, item).await;
        let state = &item.activity.state;
        let prior = item.prior.clone();
        let work = Work::Version { id: state.id, version: state.version, prior, accepted: None };
        expected.push(Task { position, work, trace: None, attempts: 0, not_before: Millis(0) });
    }
    let mine: Vec<Position> = expected.iter().map(|task| task.position).collect();
    assert_eq!(pending_at(&*store, &mine, 2).await, expected);
    assert_eq!(pending_at(&*store, &mine, 2).await, expected, "reading does not take tasks out");
    assert_eq!(store.pending(1).await.unwrap().len(), 1);
    assert_eq!(store.pending(0).await.unwrap(), []);
    store.acknowledge(&[mine[0]], &[]).await.unwrap();
    assert_eq!(pending_at(&*store, &mine, 1).await, expected[1..]);
    store.acknowledge(&mine, &[]).await.unwrap();
    pending_at(&*store, &mine, 0).await;
}

pub(crate) async fn the_floor_waits_for_the_oldest_task(store: Engine) {
    let actor = fresh::uid(&*store).await;
    let mut mine = Vec::new();
    for number in 0..5 {
        let item = fresh::acceptance(actor, &number.to_string(), fresh::NOON + number);
        mine.push(fresh::accept(&*store, &item).await);
    }
    assert!(mine.is_sorted());
    pending_at(&*store, &mine, 5).await;
    assert!(store.floor().await.unwrap() < mine[0]);
    for (acknowledged, oldest_pending) in [(3, 0), (1, 0), (0, 2), (2, 4)] {
        store.acknowledge(&[mine[acknowledged]], &[]).await.unwrap();
        let oldest = store.pending(1).await.unwrap()[0].position;
        let floor = store.floor().await.unwrap();
        assert!(floor < mine[oldest_pending], "the floor {floor:?} is past a pending task");
        assert!(floor.0 + 1 >= oldest.0, "the floor {floor:?} is behind the oldest pending task {oldest:?}");
    }
    let before = store.floor().await.unwrap();
    store.acknowledge(&[mine[4]], &[]).await.unwrap();
    let oldest = store.pending(1).await.unwrap().first().map(|task| task.position);
    let floor = store.floor().await.unwrap();
    assert!(floor >= before, "the floor went back");
    assert!(oldest.is_some() || floor >= mine[4], "without pending tasks everything is delivered");
}

pub(crate) async fn acknowledging_is_idempotent(store: Engine) {
    let actor = fresh::uid(&*store).await;
    let first = fresh::accept(&*store, &fresh::acceptance(actor, "1", fresh::NOON)).await;
    let second = fresh::accept(&*store, &fresh::acceptance(actor, "2", fresh::NOON)).await;
    pending_at(&*store, &[first, second], 2).await;
    store.acknowledge(&[first, first], &[]).await.unwrap();
    store.acknowledge(&[first], &[]).await.unwrap();
    store.acknowledge(&[], &[]).await.unwrap();
    let positions: Vec<_> =
        pending_at(&*store, &[first, second], 1).await.iter().map(|task| task.position).collect();
    assert_eq!(positions, [second]);
    store.acknowledge(&[second], &[]).await.unwrap();
}

pub(crate) async fn concurrent_acceptances_are_all_logged(store: Engine) {
    let actor = fresh::uid(&*store).await;
    let calls: Vec<_> = (0..40)
        .map(|number| {
            let store = store.clone();
            let batch = (0..3)
                .map(|part| fresh::acceptance(actor, &format!("{number}-{part}"), fresh::NOON + number))
                .collect();
            tokio::spawn(async move { store.accept(batch).await.unwrap() })
        })
        .collect();
    let mut positions = Vec::new();
    for call in calls {
        let accepted = call.await.unwrap();
        positions.extend(accepted.into_iter().map(|accepted| match accepted {
            Accepted::Stored(position) => position,
            conflict => panic!("{conflict:?}"),
        }));
    }
    let distinct: BTreeSet<Position> = positions.iter().copied().collect();
    assert_eq!(distinct.len(), 120, "positions are unique");
    pending_at(&*store, &positions, 120).await;
    store.acknowledge(&positions, &[]).await.unwrap();
    pending_at(&*store, &positions, 0).await;
}

fn every_kind() -> Vec<Work> {
    let (id, version, uid) = (fresh::id(fresh::NOON), Version(7), Uid(9));
    let prior =
        Some(PriorAudience { visibility: Visibility::Followers, addressed: vec![Uid(1), Uid(i64::MAX)] });
    let after = Uid(5);
    let (accepted, before) = (Position(3), Some(Visibility::Direct));
    vec![
        Work::Version { id, version, prior, accepted: None },
        Work::Version { id, version, prior: None, accepted: Some(accepted) },
        Work::Followers { id, version, prior: before, accepted, after },
        Work::Followers { id, version, prior: None, accepted, after },
        Work::Edge { follower: uid, followee: after, version, following: true },
        Work::Edge { follower: uid, followee: after, version, following: false },
        Work::Account { uid, after: None },
        Work::Account { uid, after: Some(after) },
        Work::Addressed { uid, after: None },
        Work::Addressed { uid, after: Some(SortKey { time: Millis(5), id }) },
        Work::Removal { owner: uid, id },
    ]
}

pub(crate) async fn every_kind_of_work_is_returned_unchanged(store: Engine) {
    let (all, mut mine) = (every_kind(), Vec::new());
    for work in &all {
        mine.push(store.append(work).await.unwrap());
    }
    let found: Vec<Work> =
        pending_at(&*store, &mine, mine.len()).await.into_iter().map(|task| task.work).collect();
    assert_eq!(found, all, "in the order of appending");
    store.acknowledge(&mine, &[]).await.unwrap();
}

pub(crate) async fn follow_up_work_is_appended_when_a_task_is_acknowledged(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let first = store.append(&Work::Account { uid: owner, after: None }).await.unwrap();
    pending_at(&*store, &[first], 1).await;
    let next = Work::Account { uid: owner, after: Some(owner) };
    store.acknowledge(&[first], &[next.clone().in_trace(None)]).await.unwrap();
    let mine = pending_work(&*store, &next, 1).await;
    assert!(mine[0].position > first);
    assert_eq!(mine[0].trace, None);
    store.acknowledge(&[mine[0].position], &[]).await.unwrap();
}

pub(crate) async fn a_task_keeps_its_trace(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let first = store.append(&Work::Account { uid: owner, after: None }).await.unwrap();
    pending_at(&*store, &[first], 1).await;
    let trace = Some(TraceContext { trace: [1; 16], span: [2; 8] });
    let work = Work::Account { uid: owner, after: Some(owner) };
    store.acknowledge(&[first], &[work.clone().in_trace(trace)]).await.unwrap();
    let task = pending_work(&*store, &work, 1).await.remove(0);
    assert_eq!(task.trace, trace, "follow-up work");
    store.retry(&Task { attempts: 1, ..task }, Millis(1)).await.unwrap();
    store.requeue_due(Millis(1)).await.unwrap();
    let task = pending_work(&*store, &work, 1).await.remove(0);
    assert_eq!(task.trace, trace, "a retry");
    store.dead_letter(&task, "the disk is full", Millis(2)).await.unwrap();
    let letters = store.dead_letters(None, 1_000).await.unwrap();
    let letter = letters.iter().find(|letter| letter.work.as_ref() == Some(&work)).unwrap();
    assert!(store.replay(letter.number).await.unwrap());
    let task = pending_work(&*store, &work, 1).await.remove(0);
    assert_eq!(task.trace, trace, "a replay");
    store.acknowledge(&[task.position], &[]).await.unwrap();
}

pub(crate) async fn a_failed_task_returns_when_its_retry_is_due(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let work = Work::Account { uid: owner, after: None };
    let first = store.append(&work).await.unwrap();
    let task = Task { attempts: 3, ..pending_at(&*store, &[first], 1).await.remove(0) };
    store.retry(&task, Millis(77)).await.unwrap();
    store.retry(&task, Millis(88)).await.unwrap();
    store.requeue_due(Millis(76)).await.unwrap();
    pending_work(&*store, &work, 0).await;
    for _ in 0..2 {
        store.requeue_due(Millis(77)).await.unwrap();
    }
    store.requeue_due(Millis(99)).await.unwrap();
    // Once, even if it is requeued repeatedly.
    let found = pending_work(&*store, &work, 1).await;
    assert!(found[0].position > first);
    assert_eq!((found[0].attempts, found[0].not_before), (3, Millis(77)));
    store.acknowledge(&[found[0].position], &[]).await.unwrap();
}

pub(crate) async fn a_retried_version_keeps_its_position_of_acceptance(store: Engine) {
    let id = fresh::id(fresh::NOON);
    let work = |accepted| Work::Version { id, version: Version(3), prior: None, accepted };
    let mut position = store.append(&work(None)).await.unwrap();
    let first = position;
    for attempts in 1..3 {
        let task = Task { attempts, ..pending_at(&*store, &[position], 1).await.remove(0) };
        store.retry(&task, Millis(1)).await.unwrap();
        store.requeue_due(Millis(1)).await.unwrap();
        position = pending_work(&*store, &work(Some(first)), 1).await.remove(0).position;
    }
    store.acknowledge(&[position], &[]).await.unwrap();
}

pub(crate) async fn a_dead_letter_can_be_replayed(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let work = Work::Account { uid: owner, after: None };
    let first = store.append(&work).await.unwrap();
    let task = Task { attempts: 10, ..pending_at(&*store, &[first], 1).await.remove(0) };
    for _ in 0..2 {
        store.dead_letter(&task, "the disk is full", Millis(99)).await.unwrap();
    }
    pending_at(&*store, &[first], 0).await;
    let mine = async || -> Vec<store::DeadLetter> {
        let all = store.dead_letters(None, 1_000).await.unwrap();
        all.into_iter().filter(|letter| letter.work.as_ref() == Some(&work)).collect()
    };
    let letters = mine().await;
    let [letter] = &letters[..] else { panic!("{letters:?}") };
    assert_eq!((letter.attempts, letter.error.as_str(), letter.at), (10, "the disk is full", Millis(99)));
    assert!(
        store
            .dead_letters(Some(letter.number), 1_000)
            .await
            .unwrap()
            .iter()
            .all(|l| l.number > letter.number)
    );
    assert!(store.replay(letter.number).await.unwrap());
    assert!(!store.replay(letter.number).await.unwrap());
    assert_eq!(mine().await, []);
    let again = pending_work(&*store, &work, 1).await;
    assert_eq!(again[0].attempts, 0);
    store.acknowledge(&[again[0].position], &[]).await.unwrap();
}

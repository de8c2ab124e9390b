//! The delivery log. Others may append to it meanwhile, so a test knows of its own tasks only.

use super::{Engine, fresh};
use model::Position;
use std::collections::BTreeSet;
use store::{Accepted, Store, Task};

/// Those of `mine` that wait, in the order in which they are given.
async fn waiting(store: &dyn Store, mine: &[Position]) -> Vec<Task> {
    let all = store.pending(1_000_000).await.unwrap();
    assert!(all.is_sorted_by_key(|task| task.position), "oldest first");
    all.into_iter().filter(|task| mine.contains(&task.position)).collect()
}

pub(crate) async fn tasks_wait_until_they_are_acknowledged(store: Engine) {
    let actor = fresh::uid(&*store).await;
    let mut first = fresh::acceptance(actor, "1", fresh::NOON);
    first.activity.state.addressed = vec![actor, model::Uid(actor.0 + 1)];
    let second = fresh::next(&first, "second", false);
    let mut expected = Vec::new();
    for item in [&first, &second] {
        let position = fresh::accept(&*store, item).await;
        let state = &item.activity.state;
        let formerly = item.formerly.clone();
        expected.push(Task { position, id: state.id, version: state.version, formerly });
    }
    let mine: Vec<Position> = expected.iter().map(|task| task.position).collect();
    assert_eq!(waiting(&*store, &mine).await, expected);
    assert_eq!(waiting(&*store, &mine).await, expected, "looking does not take");
    assert_eq!(store.pending(1).await.unwrap().len(), 1);
    assert_eq!(store.pending(0).await.unwrap(), []);
    store.acknowledge(&[mine[0]]).await.unwrap();
    assert_eq!(waiting(&*store, &mine).await, expected[1..]);
    store.acknowledge(&mine).await.unwrap();
    assert_eq!(waiting(&*store, &mine).await, []);
}

pub(crate) async fn the_floor_waits_for_the_oldest_task(store: Engine) {
    let actor = fresh::uid(&*store).await;
    let mut mine = Vec::new();
    for number in 0..5 {
        let item = fresh::acceptance(actor, &number.to_string(), fresh::NOON + number);
        mine.push(fresh::accept(&*store, &item).await);
    }
    assert!(mine.is_sorted());
    assert!(store.floor().await.unwrap() < mine[0]);
    for (acknowledged, oldest_waiting) in [(3, 0), (1, 0), (0, 2), (2, 4)] {
        store.acknowledge(&[mine[acknowledged]]).await.unwrap();
        let oldest = store.pending(1).await.unwrap()[0].position;
        let floor = store.floor().await.unwrap();
        assert!(floor < mine[oldest_waiting], "{floor:?} is past a task that waits");
        assert!(floor.0 + 1 >= oldest.0, "{floor:?} stays behind though the oldest that waits is {oldest:?}");
    }
    let before = store.floor().await.unwrap();
    store.acknowledge(&[mine[4]]).await.unwrap();
    let oldest = store.pending(1).await.unwrap().first().map(|task| task.position);
    let floor = store.floor().await.unwrap();
    assert!(floor >= before, "never back");
    assert!(oldest.is_some() || floor >= mine[4], "nothing waits: all that was appended is delivered");
}

pub(crate) async fn acknowledging_twice_is_once(store: Engine) {
    let actor = fresh::uid(&*store).await;
    let one = fresh::accept(&*store, &fresh::acceptance(actor, "1", fresh::NOON)).await;
    let two = fresh::accept(&*store, &fresh::acceptance(actor, "2", fresh::NOON)).await;
    store.acknowledge(&[one, one]).await.unwrap();
    store.acknowledge(&[one]).await.unwrap();
    store.acknowledge(&[]).await.unwrap();
    let positions: Vec<_> = waiting(&*store, &[one, two]).await.iter().map(|task| task.position).collect();
    assert_eq!(positions, [two]);
    store.acknowledge(&[two]).await.unwrap();
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
        positions.extend(accepted.into_iter().map(|one| match one {
            Accepted::Stored(position) => position,
            conflict => panic!("{conflict:?}"),
        }));
    }
    let distinct: BTreeSet<Position> = positions.iter().copied().collect();
    assert_eq!(distinct.len(), 120, "a position is one task's");
    assert_eq!(waiting(&*store, &positions).await.len(), 120);
    store.acknowledge(&positions).await.unwrap();
    assert_eq!(waiting(&*store, &positions).await, []);
}

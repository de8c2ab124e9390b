//! Tasks that are written at the same time share a message of the log.

use super::super::conformance::fresh;
use super::super::secure::nats;
use super::separate_log;
use async_nats::jetstream;
use model::{Millis, Position, Uid, Version};
use std::collections::{BTreeMap, BTreeSet};
use store::cql::CqlStore;
use store::{Feeds, Log};

const TASKS: usize = 200;

async fn pending(store: &CqlStore, count: usize) -> BTreeSet<Position> {
    for _ in 0..100 {
        let tasks = store.pending(TASKS).await.unwrap();
        if tasks.len() == count {
            return tasks.into_iter().map(|task| task.position).collect();
        }
    }
    panic!("no {count} tasks");
}

async fn messages(store: &CqlStore) -> usize {
    store.backlog(usize::MAX).await.unwrap().tasks
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_leaves_the_log_with_the_last_of_its_tasks() {
    let Some((store, servers)) = separate_log("groups").await else { return };
    let write = async |number: usize| {
        let (owner, id) = (Uid(i64::try_from(number).unwrap()), fresh::id(fresh::NOON));
        store.remove(owner, id, Millis(fresh::NOON), Version(1)).await.unwrap().unwrap()
    };
    let written = futures::future::join_all((0..TASKS).map(write)).await;
    let written: BTreeSet<Position> = written.into_iter().collect();
    assert_eq!(written.len(), TASKS, "every task has its own position");
    let stored = messages(&store).await;
    assert!(stored <= TASKS / 2, "{stored} messages");

    assert_eq!(pending(&store, TASKS).await, written);
    let before = store.floor().await.unwrap();
    let last: BTreeMap<u64, Position> = written.iter().map(|at| (at.0 >> 6, *at)).collect();
    let last: BTreeSet<Position> = last.into_values().collect();
    let first: Vec<Position> = written.difference(&last).copied().collect();
    store.acknowledge(&first, &[]).await.unwrap();
    // Messages of one task are among those that are left.
    assert_eq!((messages(&store).await, last.len()), (stored, stored));
    assert_eq!(store.floor().await.unwrap(), before);
    assert_eq!(pending(&store, stored).await, last);

    store.acknowledge(&last.iter().copied().collect::<Vec<_>>(), &[]).await.unwrap();
    assert_eq!(messages(&store).await, 0);
    assert!(store.floor().await.unwrap() >= *written.last().unwrap());
    jetstream::new(nats(&servers).await).delete_stream(&servers.stream).await.unwrap();
}

//! Turns tasks of the log into entries.

use super::recipients::{addressed, concerns_followers, followers, no_longer_addressed};
use futures::{StreamExt, TryStreamExt, stream};
use model::State;
use std::collections::HashMap;
use store::{Result, Store, Task};

/// Tasks that are taken at once.
pub(super) const BATCH: usize = 256;
/// Tasks that are worked on at once: the store writes together what comes together. With a page of followers each,
/// this is what bounds the memory.
const AT_ONCE: usize = 32;

/// Delivers until nothing is pending; gives back how many tasks that were.
pub async fn deliver_pending(store: &dyn Store) -> Result<usize> {
    let mut delivered = 0;
    loop {
        let done = deliver_batch(store).await?.len();
        if done == 0 {
            return Ok(delivered);
        }
        delivered += done;
    }
}

/// Delivers and acknowledges the oldest pending tasks, at most [`BATCH`] of them, and gives them back.
pub(super) async fn deliver_batch(store: &dyn Store) -> Result<Vec<Task>> {
    let tasks = store.pending(BATCH).await?;
    if tasks.is_empty() {
        return Ok(tasks);
    }
    let ids: Vec<_> = tasks.iter().map(|task| task.id).collect();
    let states: HashMap<_, _> =
        store.states(&ids).await?.into_iter().flatten().map(|state| (state.id, state)).collect();
    let due = tasks.iter().filter_map(|task| Some(deliver(store, task, states.get(&task.id)?)));
    stream::iter(due.collect::<Vec<_>>()).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    let positions: Vec<_> = tasks.iter().map(|task| task.position).collect();
    store.acknowledge(&positions).await?;
    Ok(tasks)
}

async fn deliver(store: &dyn Store, task: &Task, state: &State) -> Result<()> {
    // Of an activity with a later version by now only that one is delivered: its own task follows. But only this task
    // knows whom the version before it addressed.
    let present = state.version == task.version;
    let entries = if present {
        addressed(state, &task.formerly)
    } else {
        no_longer_addressed(state, &task.formerly).collect()
    };
    if !entries.is_empty() {
        store.deliver(task.position, entries).await?;
    }
    let mut more = present && concerns_followers(state);
    let mut after = None;
    while more {
        let (entries, next) = followers(store, state, after).await?;
        if !entries.is_empty() {
            store.deliver(task.position, entries).await?;
        }
        more = next.is_some();
        after = next;
    }
    Ok(())
}

//! Does what one task asks. Doing it twice does no harm: what is written is named by the task and the state.

use super::recipients::{addressed, followers, for_followers, no_longer_addressed};
use super::{Hub, backfill};
use model::{Box, Boxes, Entry, Formerly, Position, State, Uid, Version, Visibility};
use store::{Result, Store, Task, Work};

/// Accounts that are told of a change at once.
const TOLD_AT_ONCE: usize = 2_000;

/// Does a task; gives back what is still to be done for it.
pub(super) async fn perform(store: &dyn Store, hub: &Hub, task: &Task) -> Result<Option<Work>> {
    let at = task.position;
    match &task.work {
        Work::Version { id, version, formerly } => {
            let Some(state) = state(store, *id).await? else { return Ok(None) };
            deliver_version(store, hub, at, &state, *version, formerly.as_ref()).await
        }
        Work::Followers { id, version, formerly, accepted, after } => {
            let Some(state) = state(store, *id).await? else { return Ok(None) };
            deliver_to_followers(store, hub, at, &state, *version, *formerly, *accepted, Some(*after)).await
        }
        Work::Edge { follower, followee, version, following } => {
            if *following {
                let edge = store.edges(*follower, &[*followee]).await?.into_iter().flatten().next();
                // A later edge has a task of its own.
                if let Some(edge) = edge.filter(|edge| edge.version == *version) {
                    backfill::deliver(store, at, *follower, *followee, &edge).await?;
                }
            } else {
                store.note_changes(at, &[*follower]).await?;
            }
            hub.wake_later([*follower]);
            Ok(None)
        }
        Work::Account { uid, after } => {
            let followers = store.followers(*uid, *after, TOLD_AT_ONCE).await?;
            let mut told: Vec<Uid> = followers.iter().map(|(follower, _)| *follower).collect();
            let next = (told.len() == TOLD_AT_ONCE).then(|| told.last().copied()).flatten();
            if after.is_none() {
                told.push(*uid);
            }
            store.note_changes(at, &told).await?;
            hub.wake_later(told);
            Ok(next.map(|last| Work::Account { uid: *uid, after: Some(last) }))
        }
        Work::Removal { owner, id } => {
            let Some(state) = state(store, *id).await? else { return Ok(None) };
            let boxes = [Box::Addressed, Box::Followed].into_iter().collect::<Boxes>();
            let entry = Entry { boxes, ..Entry::of(&state, Box::Addressed, true) };
            store.deliver(at, vec![(*owner, entry)]).await?;
            hub.wake_later([*owner]);
            Ok(None)
        }
    }
}

async fn state(store: &dyn Store, id: model::ActivityId) -> Result<Option<State>> {
    Ok(store.states(&[id]).await?.into_iter().flatten().next())
}

async fn deliver_version(
    store: &dyn Store,
    hub: &Hub,
    at: Position,
    state: &State,
    version: Version,
    formerly: Option<&Formerly>,
) -> Result<Option<Work>> {
    // Of an activity with a later version by now only that one is delivered: its own task follows. But only this task
    // knows whom the version before it reached.
    let entries = if state.version == version {
        addressed(state, formerly)
    } else {
        no_longer_addressed(state, formerly).collect()
    };
    let reached: Vec<Uid> = entries.iter().map(|(uid, _)| *uid).chain([state.actor]).collect();
    if !entries.is_empty() {
        store.deliver(at, entries).await?;
    }
    hub.wake_later(reached);
    let before = formerly.map(|before| before.visibility);
    deliver_to_followers(store, hub, at, state, version, before, at, None).await
}

#[expect(clippy::too_many_arguments, reason = "the fields of one task")]
async fn deliver_to_followers(
    store: &dyn Store,
    hub: &Hub,
    at: Position,
    state: &State,
    version: Version,
    formerly: Option<Visibility>,
    accepted: Position,
    after: Option<Uid>,
) -> Result<Option<Work>> {
    let Some(entry) = for_followers(state, state.version == version, formerly) else { return Ok(None) };
    let (entries, next) = followers(store, &entry, accepted, after).await?;
    let reached: Vec<Uid> = entries.iter().map(|(uid, _)| *uid).collect();
    if !entries.is_empty() {
        store.deliver(at, entries).await?;
    }
    hub.wake_later(reached);
    Ok(next.map(|after| Work::Followers { id: state.id, version, formerly, accepted, after }))
}

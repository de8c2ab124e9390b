//! Does what one task asks. Doing it twice does no harm: what is written is named by the task and the state.

use super::recipients::{addressed, followers, for_followers, no_longer_addressed};
use super::returning::Return;
use super::{Hub, Rules, audience, backfill, sleep};
use crate::following;
use model::{
    Box, Boxes, Edge, Entry, Filter, Formerly, Order, Phase, Position, Sleep, State, Uid, Version, Visibility,
};
use store::{Result, Slice, Store, Task, Work};

/// Accounts that are told of a change at once.
const TOLD_AT_ONCE: usize = 2_000;
/// Activities that are looked through at once.
const PAGE: usize = 500;

/// Does a task; gives back what is still to be done for it.
pub(super) async fn perform(
    store: &dyn Store,
    hub: &Hub,
    rules: &Rules,
    task: &Task,
) -> Result<Option<Work>> {
    let at = task.position;
    match &task.work {
        Work::Version { id, version, formerly, accepted } => {
            let Some((state, present)) = state_for(store, *id, *version).await? else { return Ok(None) };
            let accepted = accepted.unwrap_or(at);
            deliver_version(store, hub, at, &state, present, formerly.as_ref(), accepted).await
        }
        Work::Followers { id, version, formerly, accepted, after } => {
            let Some((state, present)) = state_for(store, *id, *version).await? else { return Ok(None) };
            deliver_to_followers(store, hub, at, &state, present, *formerly, *accepted, Some(*after)).await
        }
        Work::Edge { follower, followee, version, following: follows } => {
            if *follows {
                let edge = following::edge(store, *follower, *followee).await?;
                // A later edge has a task of its own.
                if let Some(edge) = edge.filter(|edge| edge.version == *version) {
                    make_edge(store, rules, at, *follower, *followee, &edge).await?;
                }
            } else {
                store.unchoose(*follower, *followee, *version).await?;
                store.note_changes(at, &[*follower]).await?;
            }
            hub.wake_later([*follower]);
            audience::look(store, rules, *follower, *followee).await
        }
        Work::Account { uid, after } => {
            let followers = store.followers(*uid, *after, TOLD_AT_ONCE).await?;
            let mut told: Vec<Uid> = followers.iter().map(|follower| follower.uid).collect();
            let next = (told.len() == TOLD_AT_ONCE).then(|| told.last().copied()).flatten();
            if after.is_none() {
                told.push(*uid);
            }
            store.note_changes(at, &told).await?;
            hub.wake_later(told);
            Ok(Some(match next {
                Some(last) => Work::Account { uid: *uid, after: Some(last) },
                None => Work::Addressed { uid: *uid, after: None },
            }))
        }
        Work::Addressed { uid, after } => {
            let filter = Filter::default();
            let own = store.slice(&Slice::own(*uid, Order::Received, &filter, *after, PAGE)).await?;
            // Also those that ended meanwhile, and whom they addressed before: of the end of what they may not see any
            // more they are told only like this.
            let ids: Vec<_> = own.iter().map(|entry| entry.id).collect();
            let (states, formerly) = (store.states(&ids).await?, store.formerly(&ids).await?);
            let present = states.into_iter().flatten().flat_map(|state| state.addressed);
            let before = formerly.into_iter().flatten().flat_map(|before| before.addressed);
            let mut told: Vec<Uid> = present.chain(before).collect();
            told.sort_unstable();
            told.dedup();
            store.note_changes(at, &told).await?;
            hub.wake_later(told);
            let last = own.last().filter(|_| own.len() == PAGE).map(|entry| entry.spot(Order::Received));
            Ok(last.map(|spot| Work::Addressed { uid: *uid, after: Some(spot) }))
        }
        Work::Removal { owner, id } => {
            let Some(state) = state(store, *id).await? else { return Ok(None) };
            let boxes = [Box::Addressed, Box::Followed].into_iter().collect::<Boxes>();
            let entry = Entry { boxes, ..Entry::of(&state, Box::Addressed, true) };
            store.deliver(at, vec![(*owner, entry)]).await?;
            hub.wake_later([*owner]);
            Ok(None)
        }
        Work::Audience { uid, after } => audience::prepare(store, rules, *uid, *after).await,
        Work::Sleep { uid, version, after } => sleep::tell(store, *uid, *version, *after).await,
        Work::Return { uid, version, since, after, within } => {
            let (uid, version, since, after, within) = (*uid, *version, *since, *after, *within);
            let returning = Return { uid, version, since, after, within };
            let more = returning.perform(store, at).await?;
            hub.wake_later([uid]);
            Ok(more)
        }
    }
}

/// What a new edge brings along, by the way that things come over it.
async fn make_edge(
    store: &dyn Store,
    rules: &Rules,
    at: Position,
    follower: Uid,
    followee: Uid,
    edge: &Edge,
) -> Result<()> {
    // An earlier edge may have been asleep when it ended.
    let reading = store.reading(follower).await?;
    if reading.version != Version::default() && !matches!(reading.phase, Phase::Asleep { .. }) {
        store.put_sleep(follower, &[followee], reading.version, Sleep::Awake(at)).await?;
    }
    let way = audience::way(store, rules, follower, followee, at, edge).await?;
    backfill::deliver(store, at, follower, followee, edge, way).await
}

async fn state(store: &dyn Store, id: model::ActivityId) -> Result<Option<State>> {
    Ok(store.states(&[id]).await?.into_iter().flatten().next())
}

/// The state that a version's task is done by, and whether that version is the present one. What a version took back
/// that was overtaken meanwhile it takes back as itself: whoever comes late with it comes after the later ones.
async fn state_for(
    store: &dyn Store,
    id: model::ActivityId,
    version: Version,
) -> Result<Option<(State, bool)>> {
    let state = state(store, id).await?;
    Ok(state.map(|state| (State { version, ..state.clone() }, state.version == version)))
}

async fn deliver_version(
    store: &dyn Store,
    hub: &Hub,
    at: Position,
    state: &State,
    present: bool,
    formerly: Option<&Formerly>,
    accepted: Position,
) -> Result<Option<Work>> {
    // Of an activity with a later version by now only that one is delivered: its own task follows. But only this task
    // knows whom the version before it reached.
    let entries =
        if present { addressed(state, formerly) } else { no_longer_addressed(state, formerly).collect() };
    let reached: Vec<Uid> = entries.iter().map(|(uid, _)| *uid).chain([state.actor]).collect();
    if !entries.is_empty() {
        store.deliver(at, entries).await?;
    }
    hub.did_something(&[state.actor]);
    hub.wake_later(reached);
    let before = formerly.map(|before| before.visibility);
    deliver_to_followers(store, hub, at, state, present, before, accepted, None).await
}

#[expect(clippy::too_many_arguments, reason = "the fields of one task")]
async fn deliver_to_followers(
    store: &dyn Store,
    hub: &Hub,
    at: Position,
    state: &State,
    present: bool,
    formerly: Option<Visibility>,
    accepted: Position,
    after: Option<Uid>,
) -> Result<Option<Work>> {
    let Some(entry) = for_followers(state, present, formerly) else { return Ok(None) };
    let (entries, next) = followers(store, &entry, state.pulled, accepted, after).await?;
    let reached: Vec<Uid> = entries.iter().map(|(uid, _)| *uid).collect();
    if !entries.is_empty() {
        store.deliver(at, entries).await?;
    }
    hub.wake_later(reached);
    Ok(next.map(|after| Work::Followers { id: state.id, version: state.version, formerly, accepted, after }))
}

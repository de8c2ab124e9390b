//! Does what one task asks. Doing it twice does no harm: what is written is named by the task and the state.

use super::catch_up::CatchUp;
use super::recipients::{addressed, followers, for_followers, no_longer_addressed};
use super::{Hub, Rules, backfill, dormancy, mode};
use crate::following;
use model::{
    Dormancy, Edge, EdgeDormancy, Entry, EntryReason, EntryReasons, Filter, Order, Position, PriorAudience,
    State, Uid, Version, Visibility,
};
use store::{Result, Slice, Store, Task, Work};

/// Accounts that are told of a change at once.
const FOLLOWERS_PER_TASK: usize = 2_000;
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
        Work::Version { id, version, prior, accepted } => {
            let Some((state, present)) = state_for(store, *id, *version).await? else { return Ok(None) };
            let accepted = accepted.unwrap_or(at);
            deliver_version(store, hub, at, &state, present, prior.as_ref(), accepted).await
        }
        Work::Followers { id, version, prior, accepted, after } => {
            let Some((state, present)) = state_for(store, *id, *version).await? else { return Ok(None) };
            deliver_to_followers(store, hub, at, &state, present, *prior, *accepted, Some(*after)).await
        }
        Work::Edge { follower, followee, version, following: follows } => {
            if *follows {
                let edge = following::edge(store, *follower, *followee).await?;
                // A later edge has a task of its own.
                if let Some(edge) = edge.filter(|edge| edge.version == *version) {
                    make_edge(store, rules, at, *follower, *followee, &edge).await?;
                }
            } else {
                store.release_mode(*follower, *followee, *version).await?;
                store.note_changes(at, &[*follower]).await?;
            }
            hub.wake_later([*follower]);
            mode::look(store, rules, *follower, *followee).await
        }
        Work::Account { uid, after } => {
            let followers = store.followers(*uid, *after, FOLLOWERS_PER_TASK).await?;
            let mut told: Vec<Uid> = followers.iter().map(|follower| follower.uid).collect();
            let next = (told.len() == FOLLOWERS_PER_TASK).then(|| told.last().copied()).flatten();
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
            let (states, prior) = (store.states(&ids).await?, store.prior_audiences(&ids).await?);
            let present = states.into_iter().flatten().flat_map(|state| state.addressed);
            let before = prior.into_iter().flatten().flat_map(|before| before.addressed);
            let mut told: Vec<Uid> = present.chain(before).collect();
            told.sort_unstable();
            told.dedup();
            store.note_changes(at, &told).await?;
            hub.wake_later(told);
            let last = own.last().filter(|_| own.len() == PAGE).map(|entry| entry.sort_key(Order::Received));
            Ok(last.map(|sort_key| Work::Addressed { uid: *uid, after: Some(sort_key) }))
        }
        Work::Removal { owner, id } => {
            let Some(state) = state(store, *id).await? else { return Ok(None) };
            let reasons =
                [EntryReason::Addressed, EntryReason::Followed].into_iter().collect::<EntryReasons>();
            let entry = Entry { reasons, ..Entry::of(&state, EntryReason::Addressed, true) };
            store.deliver(at, vec![(*owner, entry)]).await?;
            hub.wake_later([*owner]);
            Ok(None)
        }
        Work::PrepareFollowers { uid, after } => mode::prepare(store, rules, *uid, *after).await,
        Work::BecomeDormant { uid, version, after } => dormancy::tell(store, *uid, *version, *after).await,
        Work::CatchUp { uid, version, since, after, within } => {
            let (uid, version, since, after, within) = (*uid, *version, *since, *after, *within);
            let catch_up = CatchUp { uid, version, since, after, within };
            let more = catch_up.perform(store, at).await?;
            hub.wake_later([uid]);
            Ok(more)
        }
    }
}

/// What a new edge brings along, by the mode that things come over it.
async fn make_edge(
    store: &dyn Store,
    rules: &Rules,
    at: Position,
    follower: Uid,
    followee: Uid,
    edge: &Edge,
) -> Result<()> {
    // An earlier edge may have been asleep when it ended.
    let reading = store.delivery_state(follower).await?;
    if reading.version != Version::default() && !matches!(reading.dormancy, Dormancy::Dormant { .. }) {
        store
            .put_edge_dormancy(follower, &[followee], reading.version, EdgeDormancy::ActiveAfter(at))
            .await?;
    }
    let mode = mode::assign(store, rules, follower, followee, at, edge).await?;
    backfill::deliver(store, at, follower, followee, edge, mode).await
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
    prior: Option<&PriorAudience>,
    accepted: Position,
) -> Result<Option<Work>> {
    // Of an activity with a later version by now only that one is delivered: its own task follows. But only this task
    // knows whom the version before it reached.
    let entries = if present { addressed(state, prior) } else { no_longer_addressed(state, prior).collect() };
    let reached: Vec<Uid> = entries.iter().map(|(uid, _)| *uid).chain([state.actor]).collect();
    if !entries.is_empty() {
        store.deliver(at, entries).await?;
    }
    hub.did_something(&[state.actor]);
    hub.wake_later(reached);
    let before = prior.map(|before| before.visibility);
    deliver_to_followers(store, hub, at, state, present, before, accepted, None).await
}

#[expect(clippy::too_many_arguments, reason = "the fields of one task")]
async fn deliver_to_followers(
    store: &dyn Store,
    hub: &Hub,
    at: Position,
    state: &State,
    present: bool,
    prior: Option<Visibility>,
    accepted: Position,
    after: Option<Uid>,
) -> Result<Option<Work>> {
    let Some(entry) = for_followers(state, present, prior) else { return Ok(None) };
    let (entries, next) = followers(store, &entry, state.pulled, accepted, after).await?;
    let reached: Vec<Uid> = entries.iter().map(|(uid, _)| *uid).collect();
    if !entries.is_empty() {
        store.deliver(at, entries).await?;
    }
    hub.wake_later(reached);
    Ok(next.map(|after| Work::Followers { id: state.id, version: state.version, prior, accepted, after }))
}

//! Performs one task. Tasks are idempotent: the keys of all writes come from the task and the state.

use super::catch_up::CatchUp;
use super::recipients::{addressed, followers, for_followers, no_longer_addressed};
use super::{Hub, Rules, backfill, dormancy, mode};
use crate::following;
use model::{
    Dormancy, Edge, EdgeDormancy, Entry, EntryReason, EntryReasons, Filter, Order, Position, PriorAudience,
    State, Uid, Version, Visibility,
};
use store::{Result, Slice, Store, Task, Work};

/// Followers notified of an account change per task.
const FOLLOWERS_PER_TASK: usize = 2_000;
/// Own activities scanned per task for their recipients.
const PAGE: usize = 500;

/// Performs a task. Returns the remaining work.
pub(super) async fn perform(
    store: &dyn Store,
    hub: &Hub,
    rules: &Rules,
    task: &Task,
) -> Result<Option<Work>> {
    let at = task.position;
    match &task.work {
        Work::Version { id, version, prior, accepted } => {
            let Some((state, is_current)) = state_for(store, *id, *version).await? else { return Ok(None) };
            let accepted = accepted.unwrap_or(at);
            deliver_version(store, hub, at, &state, is_current, prior.as_ref(), accepted).await
        }
        Work::Followers { id, version, prior, accepted, after } => {
            let Some((state, is_current)) = state_for(store, *id, *version).await? else { return Ok(None) };
            deliver_to_followers(store, hub, at, &state, is_current, *prior, *accepted, Some(*after)).await
        }
        Work::Edge { follower, followee, version, following: follows } => {
            if *follows {
                let edge = following::edge(store, *follower, *followee).await?;
                // A later edge has a separate task.
                if let Some(edge) = edge.filter(|edge| edge.version == *version) {
                    make_edge(store, rules, at, *follower, *followee, &edge).await?;
                }
            } else {
                store.release_mode(*follower, *followee, *version).await?;
                store.note_changes(at, &[*follower]).await?;
            }
            hub.wake_later([*follower]);
            mode::check_threshold(store, rules, *follower, *followee).await
        }
        Work::Account { uid, after } => {
            let followers = store.followers(*uid, *after, FOLLOWERS_PER_TASK).await?;
            let mut notified: Vec<Uid> = followers.iter().map(|follower| follower.uid).collect();
            let next = (notified.len() == FOLLOWERS_PER_TASK).then(|| notified.last().copied()).flatten();
            if after.is_none() {
                notified.push(*uid);
            }
            store.note_changes(at, &notified).await?;
            hub.wake_later(notified);
            Ok(Some(match next {
                Some(last) => Work::Account { uid: *uid, after: Some(last) },
                None => Work::Addressed { uid: *uid, after: None },
            }))
        }
        Work::Addressed { uid, after } => {
            let filter = Filter::default();
            let own = store.slice(&Slice::own(*uid, Order::Received, &filter, *after, PAGE)).await?;
            // Retracted entries and prior recipients count too: this is their only notification that an activity of
            // the account is no longer visible to them.
            let ids: Vec<_> = own.iter().map(|entry| entry.id).collect();
            let (states, prior) = (store.states(&ids).await?, store.prior_audiences(&ids).await?);
            let present = states.into_iter().flatten().flat_map(|state| state.addressed);
            let before = prior.into_iter().flatten().flat_map(|before| before.addressed);
            let mut notified: Vec<Uid> = present.chain(before).collect();
            notified.sort_unstable();
            notified.dedup();
            store.note_changes(at, &notified).await?;
            hub.wake_later(notified);
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
        Work::BecomeDormant { uid, version, after } => {
            dormancy::mark_edges_dormant(store, *uid, *version, *after).await
        }
        Work::CatchUp { uid, version, since, after, within } => {
            let (uid, version, since, after, within) = (*uid, *version, *since, *after, *within);
            let catch_up = CatchUp { uid, version, since, after, within };
            let more = catch_up.perform(store, at).await?;
            hub.wake_later([uid]);
            Ok(more)
        }
    }
}

/// Activates a new edge, assigns its fan-out mode, and backfills it.
async fn make_edge(
    store: &dyn Store,
    rules: &Rules,
    at: Position,
    follower: Uid,
    followee: Uid,
    edge: &Edge,
) -> Result<()> {
    // An earlier edge may have been dormant when it ended.
    let delivery = store.delivery_state(follower).await?;
    if delivery.version != Version::default() && !matches!(delivery.dormancy, Dormancy::Dormant { .. }) {
        store
            .put_edge_dormancy(follower, &[followee], delivery.version, EdgeDormancy::ActiveAfter(at))
            .await?;
    }
    let mode = mode::assign(store, rules, follower, followee, at, edge).await?;
    backfill::deliver(store, at, follower, followee, edge, mode).await
}

async fn state(store: &dyn Store, id: model::ActivityId) -> Result<Option<State>> {
    Ok(store.states(&[id]).await?.into_iter().flatten().next())
}

/// The state with that version's number, and whether that version is the current one. A superseded version writes its
/// retractions under its own number, so a late task never overwrites the entries of later versions.
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
    is_current: bool,
    prior: Option<&PriorAudience>,
    accepted: Position,
) -> Result<Option<Work>> {
    // A superseded version is not delivered: the current version has a separate task. But only this task knows the
    // recipients of the version before it.
    let entries =
        if is_current { addressed(state, prior) } else { no_longer_addressed(state, prior).collect() };
    let reached: Vec<Uid> = entries.iter().map(|(uid, _)| *uid).chain([state.actor]).collect();
    if !entries.is_empty() {
        store.deliver(at, entries).await?;
    }
    hub.notify_activity(&[state.actor]);
    hub.wake_later(reached);
    let before = prior.map(|before| before.visibility);
    deliver_to_followers(store, hub, at, state, is_current, before, accepted, None).await
}

#[expect(clippy::too_many_arguments, reason = "the fields of one task")]
async fn deliver_to_followers(
    store: &dyn Store,
    hub: &Hub,
    at: Position,
    state: &State,
    is_current: bool,
    prior: Option<Visibility>,
    accepted: Position,
    after: Option<Uid>,
) -> Result<Option<Work>> {
    let Some(entry) = for_followers(state, is_current, prior) else { return Ok(None) };
    let (entries, next) = followers(store, &entry, state.pulled, accepted, after).await?;
    let reached: Vec<Uid> = entries.iter().map(|(uid, _)| *uid).collect();
    if !entries.is_empty() {
        store.deliver(at, entries).await?;
    }
    hub.wake_later(reached);
    Ok(next.map(|after| Work::Followers { id: state.id, version: state.version, prior, accepted, after }))
}

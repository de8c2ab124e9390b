//! Who gets an entry of which version, and what it says. Whether it is shown there is decided when it is read; an
//! entry that does not belong any more is overwritten with one that says so, so that offsets settle and whoever watches
//! is told. An entry says who could see the version before.

use model::{Entry, EntryReason, Position, PriorAudience, State, Uid, Visibility};
use store::{Follower, Result, Store};

/// Followers that are taken at once.
const PAGE: usize = 2_000;

/// Every entry of an activity's first version: the actor's, those of the addressed, and those of these followers.
pub(crate) fn first_entries(state: &State, followers: &[Uid]) -> Vec<(Uid, Entry)> {
    let own = (state.actor, Entry::of(state, EntryReason::Authored, false));
    let followed = for_followers(state, true, None);
    let followed = followed.iter().flat_map(|entry| followers.iter().map(|uid| (*uid, entry.clone())));
    [own].into_iter().chain(addressed(state, None)).chain(followed).collect()
}

/// Entries for those whom this version addresses, and for those whom only the one before it did.
pub(super) fn addressed(state: &State, prior: Option<&PriorAudience>) -> Vec<(Uid, Entry)> {
    let before = prior.map(|before| before.visibility);
    let entry = after(before, Entry::of(state, EntryReason::Addressed, state.deleted));
    let present = state.addressed.iter().map(|uid| (*uid, entry.clone()));
    present.chain(no_longer_addressed(state, prior)).collect()
}

/// Entries that take back what those had whom an earlier version addressed and the present one does not.
pub(super) fn no_longer_addressed<'a>(
    state: &'a State,
    prior: Option<&'a PriorAudience>,
) -> impl Iterator<Item = (Uid, Entry)> + 'a {
    prior.into_iter().flat_map(move |before| {
        let dropped = before.addressed.iter().filter(|uid| !state.addressed.contains(uid));
        dropped
            .map(|uid| (*uid, after(Some(before.visibility), Entry::of(state, EntryReason::Addressed, true))))
    })
}

/// What followers are told of this activity: nothing, if neither this version nor the one before it was for them. Of an
/// earlier version than the present one only what it took back: the present one has a task of its own.
pub(super) fn for_followers(state: &State, present: bool, prior: Option<Visibility>) -> Option<Entry> {
    let hidden = state.deleted || state.visibility == Visibility::Direct;
    let was_for_them = prior.is_some_and(|before| before != Visibility::Direct);
    let wanted = if hidden { was_for_them } else { present };
    wanted.then(|| after(prior, Entry::of(state, EntryReason::Followed, hidden)))
}

/// An entry of a version that comes after one that these could see.
fn after(before: Option<Visibility>, entry: Entry) -> Entry {
    Entry { prior: before, ..entry }
}

/// Entries for those of the followers after `after` to whom the version is pushed, and after whom to go on, if there may be
/// more. Who followed later gets it with the edge, who is asleep when they come back, and what is pulled is pushed only to
/// those who pull from too many others. But that something ended everybody is told who followed before: only this version
/// knows what they could see until then.
pub(super) async fn followers(
    store: &dyn Store,
    entry: &Entry,
    pulled: bool,
    accepted: Position,
    after: Option<Uid>,
) -> Result<(Vec<(Uid, Entry)>, Option<Uid>)> {
    let found: Vec<(Uid, bool)> = if pulled && !entry.retracted {
        let found = store.pushed_followers(entry.actor, after, PAGE).await?;
        found.into_iter().map(|(uid, since)| (uid, since < accepted)).collect()
    } else {
        let found = store.followers(entry.actor, after, PAGE).await?;
        let reached = |one: &Follower| match entry.retracted {
            true => one.since < accepted,
            false => one.is_pushed_at(accepted),
        };
        found.into_iter().map(|one| (one.uid, reached(&one))).collect()
    };
    let next = found.last().filter(|_| found.len() == PAGE).map(|(uid, _)| *uid);
    let reached = found.into_iter().filter(|(_, reached)| *reached);
    Ok((reached.map(|(uid, _)| (uid, entry.clone())).collect(), next))
}

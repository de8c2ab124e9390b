//! Who gets an entry of which version, and what it says. Whether it is shown there is decided when it is read; an
//! entry that does not belong any more is overwritten with one that says so, so that offsets settle too.

use model::{Box, Entry, State, Uid, Visibility};
use store::{Result, Store};

/// Followers that are taken at once.
const PAGE: usize = 2_000;

/// Entries for those whom this version addresses, and for those whom the one before it did.
pub(super) fn addressed(state: &State, formerly: &[Uid]) -> Vec<(Uid, Entry)> {
    let present = state.addressed.iter().map(|uid| (*uid, Entry::of(state, Box::Addressed, state.deleted)));
    present.chain(no_longer_addressed(state, formerly)).collect()
}

/// Entries that take back what those had whom an earlier version addressed and the present one does not.
pub(super) fn no_longer_addressed(state: &State, formerly: &[Uid]) -> impl Iterator<Item = (Uid, Entry)> {
    let dropped = formerly.iter().filter(|uid| !state.addressed.contains(uid));
    dropped.map(|uid| (*uid, Entry::of(state, Box::Addressed, true)))
}

/// Whether followers have, or should have, entries of this activity: not if none of its versions was for them. The
/// versions before are not known, only whether there were any.
pub(super) fn concerns_followers(state: &State) -> bool {
    state.visibility != Visibility::Direct || state.updated > state.received
}

/// Entries for the followers after `after`, and after whom to go on, if there may be more.
pub(super) async fn followers(
    store: &dyn Store,
    state: &State,
    after: Option<Uid>,
) -> Result<(Vec<(Uid, Entry)>, Option<Uid>)> {
    let uids = store.followers(state.actor, after, PAGE).await?;
    let next = (uids.len() == PAGE).then(|| uids.last().copied()).flatten();
    let gone = state.deleted || state.visibility == Visibility::Direct;
    Ok((uids.into_iter().map(|uid| (uid, Entry::of(state, Box::Followed, gone))).collect(), next))
}

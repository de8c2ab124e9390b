//! Delivers a version of an activity: which accounts get an entry of it, and its content.
//!
//! Readers check the state before they show an entry. An entry that no longer belongs is overwritten with a retraction,
//! so that counts by entries stay right and watchers are notified. An entry names the visibility of the version before.

use super::task::Context;
use model::{ActivityId, Entry, EntryReason, Position, PriorAudience, State, Uid, Version, Visibility};
use store::{Follower, Result, Store, Work};

/// Followers read at a time.
const PAGE: usize = 2_000;
/// Pages that one task delivers to: acknowledging a task takes another commit.
const PAGES: usize = 5;

/// Delivers an accepted version to its recipients, then to the followers.
pub(super) struct DeliverVersion {
    pub(super) id: ActivityId,
    pub(super) version: Version,
    pub(super) prior: Option<PriorAudience>,
    pub(super) accepted: Option<Position>,
}

impl DeliverVersion {
    pub(super) async fn run(self, ctx: Context<'_>) -> Result<Option<Work>> {
        let DeliverVersion { id, version, prior, accepted } = self;
        let Some((state, is_current)) = state_for(ctx, id, version).await? else { return Ok(None) };
        let before = prior.as_ref();
        // A superseded version is not delivered: the current version has a separate task. But only this task knows the
        // recipients of the version before it.
        let entries = if is_current {
            addressed(&state, before)
        } else {
            no_longer_addressed(&state, before).collect()
        };
        let reached: Vec<Uid> = entries.iter().map(|(uid, _)| *uid).chain([state.actor]).collect();
        deliver(ctx, entries).await?;
        ctx.hub.notify_activity(&[state.actor]);
        ctx.hub.wake_later(reached);
        let (prior, accepted) = (prior.map(|before| before.visibility), accepted.unwrap_or(ctx.at));
        let followers = DeliverToFollowers { id, version, prior, accepted, after: None };
        followers.deliver(ctx, &state, is_current).await
    }
}

/// Delivers a version to the followers after `after`.
pub(super) struct DeliverToFollowers {
    pub(super) id: ActivityId,
    pub(super) version: Version,
    pub(super) prior: Option<Visibility>,
    pub(super) accepted: Position,
    pub(super) after: Option<Uid>,
}

impl DeliverToFollowers {
    pub(super) async fn run(self, ctx: Context<'_>) -> Result<Option<Work>> {
        let Some((state, is_current)) = state_for(ctx, self.id, self.version).await? else { return Ok(None) };
        self.deliver(ctx, &state, is_current).await
    }

    async fn deliver(self, ctx: Context<'_>, state: &State, is_current: bool) -> Result<Option<Work>> {
        let DeliverToFollowers { id, version, prior, accepted, after } = self;
        let Some(entry) = for_followers(state, is_current, prior) else { return Ok(None) };
        let page = |after| followers(ctx.store, &entry, state.pulled, accepted, after);
        let (mut entries, mut next) = page(after).await?;
        for pages in 1.. {
            let reached: Vec<Uid> = entries.iter().map(|(uid, _)| *uid).collect();
            // The next page is read while this one is written.
            let read = async {
                match next {
                    Some(_) if pages < PAGES => page(next).await.map(Some),
                    _ => Ok(None),
                }
            };
            let ((), following) = tokio::try_join!(deliver(ctx, entries), read)?;
            ctx.hub.wake_later(reached);
            let Some(following) = following else { break };
            (entries, next) = following;
        }
        Ok(next.map(|after| Work::Followers { id, version, prior, accepted, after }))
    }
}

async fn deliver(ctx: Context<'_>, entries: Vec<(Uid, Entry)>) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    ctx.deliver(entries).await
}

/// The state with that version's number, and whether that version is the current one. A superseded version writes its
/// retractions under its own number, so a late task never overwrites the entries of later versions.
async fn state_for(ctx: Context<'_>, id: ActivityId, version: Version) -> Result<Option<(State, bool)>> {
    let state = ctx.state(id).await?;
    Ok(state.map(|state| {
        let is_current = state.version == version;
        (State { version, ..state }, is_current)
    }))
}

/// All entries of an activity's first version: the actor's, the recipients', and those of the given followers.
pub fn first_entries(state: &State, followers: &[Uid]) -> Vec<(Uid, Entry)> {
    let own = (state.actor, Entry::of(state, EntryReason::Authored, false));
    let followed = for_followers(state, true, None);
    let followed = followed.iter().flat_map(|entry| followers.iter().map(|uid| (*uid, entry.clone())));
    [own].into_iter().chain(addressed(state, None)).chain(followed).collect()
}

/// Entries for this version's recipients, and retractions for recipients that only the version before it had.
fn addressed(state: &State, prior: Option<&PriorAudience>) -> Vec<(Uid, Entry)> {
    let before = prior.map(|before| before.visibility);
    let entry = after(before, Entry::of(state, EntryReason::Addressed, state.deleted));
    let present = state.addressed.iter().map(|uid| (*uid, entry.clone()));
    present.chain(no_longer_addressed(state, prior)).collect()
}

/// Retractions for recipients of the version before that this version does not have.
fn no_longer_addressed<'a>(
    state: &'a State,
    prior: Option<&'a PriorAudience>,
) -> impl Iterator<Item = (Uid, Entry)> + 'a {
    prior.into_iter().flat_map(move |before| {
        let dropped = before.addressed.iter().filter(|uid| !state.addressed.contains(uid));
        dropped
            .map(|uid| (*uid, after(Some(before.visibility), Entry::of(state, EntryReason::Addressed, true))))
    })
}

/// The entry for followers, unless neither this version nor the one before it was visible to them. A version that is no
/// longer the current one yields only a retraction: the current version has a separate task.
fn for_followers(state: &State, is_current: bool, prior: Option<Visibility>) -> Option<Entry> {
    let hidden = state.deleted || state.visibility == Visibility::Direct;
    let was_visible = prior.is_some_and(|before| before != Visibility::Direct);
    let is_needed = if hidden { was_visible } else { is_current };
    is_needed.then(|| after(prior, Entry::of(state, EntryReason::Followed, hidden)))
}

/// The entry, with the visibility of the version before it.
fn after(before: Option<Visibility>, entry: Entry) -> Entry {
    Entry { prior: before, ..entry }
}

/// Entries for the next page of followers after `after`, and the follower to continue after, if there may be more.
///
/// The version is pushed to active followers with a push edge from before `accepted`. A later edge backfills it, a
/// dormant account catches up with it, and a pulled version is pushed only to followers that pull from too many other
/// actors. Retractions go to every follower from before `accepted`: only this version knows what they could see.
async fn followers(
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
        let reached = |follower: &Follower| match entry.retracted {
            true => follower.since < accepted,
            false => follower.is_pushed_at(accepted),
        };
        found.into_iter().map(|follower| (follower.uid, reached(&follower))).collect()
    };
    let next = found.last().filter(|_| found.len() == PAGE).map(|(uid, _)| *uid);
    let reached = found.into_iter().filter(|(_, reached)| *reached);
    Ok((reached.map(|(uid, _)| (uid, entry.clone())).collect(), next))
}

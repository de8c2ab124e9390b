//! An edge that was made or ended. A new one is backfilled with earlier activities of the followee, from the edge's
//! start on.

use super::mode;
use super::task::Context;
use crate::following;
use model::{
    ActivityId, Dormancy, Edge, EdgeDormancy, Entry, EntryReason, EntryReasons, FanoutMode, Filter, Order,
    Position, SortKey, Uid, Version,
};
use std::collections::{BTreeMap, HashSet};
use store::{Result, Slice, Store, Work};

/// Entries read per slice.
const PAGE: usize = 500;

/// Updates the follower's collection for an edge that was made or ended.
pub(super) struct UpdateEdge {
    pub(super) follower: Uid,
    pub(super) followee: Uid,
    pub(super) version: Version,
    pub(super) following: bool,
}

impl UpdateEdge {
    pub(super) async fn run(self, ctx: Context<'_>) -> Result<Option<Work>> {
        let UpdateEdge { follower, followee, version, following: follows } = self;
        if follows {
            let edge = following::edge(ctx.store, follower, followee).await?;
            // A later edge has a separate task.
            if let Some(edge) = edge.filter(|edge| edge.version == version) {
                self.activate(ctx, &edge).await?;
            }
        } else {
            ctx.store.release_mode(follower, followee, version).await?;
            ctx.store.note_changes(ctx.at, &[follower]).await?;
            ctx.store.append(&Work::RemoveFollowed { follower, followee, after: None }).await?;
        }
        ctx.hub.wake_later([follower]);
        mode::check_threshold(ctx, follower, followee).await
    }

    /// Activates a new edge, assigns its fan-out mode, and backfills it.
    async fn activate(&self, ctx: Context<'_>, edge: &Edge) -> Result<()> {
        let (store, follower, followee) = (ctx.store, self.follower, self.followee);
        // An earlier edge may have been dormant when it ended.
        let delivery = store.delivery_state(follower).await?;
        if delivery.version != Version::default() && !matches!(delivery.dormancy, Dormancy::Dormant { .. }) {
            let active = EdgeDormancy::ActiveAfter(ctx.at);
            store.put_edge_dormancy(follower, &[followee], delivery.version, active).await?;
        }
        let mode = mode::assign(ctx, follower, followee, edge).await?;
        backfill(store, ctx.at, follower, followee, edge, mode).await
    }
}

/// Removes the follower's entries of the followee's activities after an edge ended. A read checks the edge in any case:
/// this only keeps it from reading what is hidden for good.
pub(super) struct RemoveFollowed {
    pub(super) follower: Uid,
    pub(super) followee: Uid,
    pub(super) after: Option<SortKey>,
}

impl RemoveFollowed {
    /// How often one page is looked at: an activity may have been delivered at several positions.
    const MAX_ROUNDS: usize = 3;

    pub(super) async fn run(self, Context { store, .. }: Context<'_>) -> Result<Option<Work>> {
        let RemoveFollowed { follower, followee, after } = self;
        let Some(edge) = following::edge(store, follower, followee).await? else { return Ok(None) };
        let (own, next) = own_entries(store, followee, &edge, after).await?;
        for _ in 0..RemoveFollowed::MAX_ROUNDS {
            let found = store.followed_entries(follower, &own).await?;
            let found: Vec<Entry> = found.into_iter().flatten().collect();
            // A new edge delivers at later positions. So what was found before both ends say that there is none is of
            // an earlier edge.
            if is_followed(store, follower, followee).await? {
                return Ok(None);
            }
            if found.is_empty() {
                break;
            }
            store.remove_followed(follower, &found).await?;
        }
        Ok(next.map(|after| Work::RemoveFollowed { follower, followee, after: Some(after) }))
    }
}

/// Whether either end has a live edge. A new edge is written at the followee's end first.
async fn is_followed(store: &dyn Store, follower: Uid, followee: Uid) -> Result<bool> {
    let before = Uid(follower.0.saturating_sub(1));
    let followers = store.followers(followee, Some(before), 1).await?;
    let edge = following::edge(store, follower, followee).await?;
    Ok(followers.iter().any(|found| found.uid == follower) || edge.is_some_and(|edge| edge.following))
}

/// Delivers the followee's activities to the follower, from the edge's start up to now.
///
/// - An activity that was accepted before the edge arrives at the edge's position.
/// - An activity that was accepted after the edge has a separate task, which may or may not have seen the edge. It
///   arrives at its own position, where that task would have put it. No reader has passed that position yet, because
///   this task is still pending.
/// - An activity that was hidden or deleted before the edge is delivered as retracted, because an earlier follow may
///   have left an entry. The retraction keeps the activity's own position, so that readers do not see it as news.
async fn backfill(
    store: &dyn Store,
    at: Position,
    follower: Uid,
    followee: Uid,
    edge: &Edge,
    mode: FanoutMode,
) -> Result<()> {
    let mut after = None;
    loop {
        let (mut own, next) = own_entries(store, followee, edge, after).await?;
        // Pulled entries are merged at read time.
        own.retain(|entry| !(mode == FanoutMode::Pull && entry.pulled && entry.arrived > Some(at)));
        let addressed = addressed(store, follower, &own).await?;
        own.retain(|entry| !addressed.contains(&(entry.id, entry.version)));
        for (position, entries) in by_position(at, follower, edge, own) {
            store.deliver(position, entries).await?;
        }
        match next {
            None => return Ok(()),
            more => after = more,
        }
    }
}

/// A slice of the followee's own entries after that sort key, from the edge's start on; and the sort key to continue
/// from, if there is more.
pub(super) async fn own_entries(
    store: &dyn Store,
    followee: Uid,
    edge: &Edge,
    after: Option<SortKey>,
) -> Result<(Vec<Entry>, Option<SortKey>)> {
    let filter = Filter::default();
    let own = store.slice(&Slice::own(followee, Order::Received, &filter, after, PAGE)).await?;
    let is_older = |entry: &Entry| edge.from.is_some_and(|oldest| entry.sort_key(Order::Received) < oldest);
    let last = own.last().filter(|last| own.len() == PAGE && !is_older(last));
    let next = last.map(|last| last.sort_key(Order::Received));
    Ok((own.into_iter().filter(|entry| !is_older(entry)).collect(), next))
}

/// Entries that also address the follower: they are delivered once, as addressed.
pub(super) async fn addressed(
    store: &dyn Store,
    follower: Uid,
    own: &[Entry],
) -> Result<HashSet<(ActivityId, Version)>> {
    let ids: Vec<_> = own.iter().map(|entry| entry.id).collect();
    let states = store.states(&ids).await?;
    let reached =
        states.into_iter().flatten().filter(|state| !state.deleted && state.addressed.contains(&follower));
    Ok(reached.map(|state| (state.id, state.version)).collect())
}

/// Whether the edge brings the followee's entry, without regard to its filter.
pub(super) fn is_brought(entry: &Entry, edge: &Edge) -> bool {
    !entry.retracted && edge.brings(entry.sort_key(Order::Received), entry.visibility)
}

/// The follower's copies of the followee's own entries, grouped by the position at which they arrive.
fn by_position(
    at: Position,
    follower: Uid,
    edge: &Edge,
    own: Vec<Entry>,
) -> BTreeMap<Position, Vec<(Uid, Entry)>> {
    let mut groups: BTreeMap<Position, Vec<(Uid, Entry)>> = BTreeMap::new();
    for own in own {
        let accepted = own.arrived.unwrap_or(at);
        let reasons = EntryReasons::default().with(EntryReason::Followed);
        let mut entry = Entry { reasons, prior: None, arrived: None, pulled: false, ..own };
        entry.retracted = !is_brought(&entry, edge);
        // A retraction accepted after the edge is delivered by its own task, if it concerns the follower.
        if !(entry.retracted && accepted > at) {
            let position = if entry.retracted { accepted } else { accepted.max(at) };
            groups.entry(position).or_default().push((follower, entry));
        }
    }
    groups
}

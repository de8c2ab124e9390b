//! Creates and ends edges.
//!
//! An edge is a versioned state. Creating one determines the start of its backfill; the store appends a task that
//! delivers the backfill to the follower's collections.

use futures::{StreamExt, TryStreamExt, stream};
use model::{
    Account, AccountName, Clock, Edge, EdgeFilter, Entry, Filter, Millis, Order, Quota, QuotaReached, Quotas,
    Relation, SortKey, State, Uid, Version, Visibility,
};
use store::{Result, Slice, Store, StoreError};

/// Number of public activities in a backfill.
const BACKFILL: usize = 50;
/// Maximum number of entries scanned to find them.
const MAX_SCANNED: usize = 2_000;
/// Entries read per request to the store. One page mostly suffices, because most activities are public.
const PAGE: usize = 100;
/// Edges ended concurrently, so that the store can group their writes.
const CONCURRENCY: usize = 100;

/// Why an account cannot follow another.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// One of the two blocks the other.
    #[error("a block stands between the two accounts")]
    Blocked(Relation),
    /// The follower follows as many accounts as it may.
    #[error(transparent)]
    Quota(#[from] QuotaReached),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Creates an edge, or replaces the filter of an existing one.
pub async fn follow(
    store: &dyn Store,
    clock: &Clock,
    follower: &Account,
    followee: &Account,
    filter: &EdgeFilter,
    quotas: &Quotas,
) -> std::result::Result<(), FollowError> {
    must_not_block(store, follower, followee).await?;
    let before = edge(store, follower.uid, followee.uid).await?;
    if let Some(edge) = before.as_ref().filter(|edge| edge.following) {
        if edge.filter != *filter {
            let version = Version::next(clock.now(), Some(edge.filter_version));
            store.put_edge_filter(follower.uid, followee.uid, version, filter).await?;
        }
        return Ok(());
    }
    let max = quotas.following;
    let enough = usize::try_from(max).unwrap_or(usize::MAX);
    if store.following(follower.uid, None, enough).await?.len() >= enough {
        return Err(QuotaReached { quota: Quota::Following, max }.into());
    }
    // The time is read first: activities received during the scan are delivered over the edge.
    let since = clock.now();
    let from = backfill_start(store, followee.uid).await?;
    let version = Version::next(since, before.map(|edge| edge.version.max(edge.filter_version)));
    let edge = Edge { filter: filter.clone(), ..Edge::new(version, since, from) };
    store.put_edge(follower.uid, followee.uid, &edge).await?;
    // A block that began meanwhile may have missed the edge.
    if let Err(blocked) = must_not_block(store, follower, followee).await {
        unfollow(store, clock, follower.uid, followee.uid).await?;
        return Err(blocked);
    }
    Ok(())
}

async fn must_not_block(
    store: &dyn Store,
    follower: &Account,
    followee: &Account,
) -> std::result::Result<(), FollowError> {
    let relation = relation(store, &follower.name, &followee.name).await?;
    if relation.blocks || relation.blocked_by {
        return Err(FollowError::Blocked(relation));
    }
    Ok(())
}

/// The relation of an account to another one.
pub async fn relation(store: &dyn Store, name: &AccountName, other: &AccountName) -> Result<Relation> {
    let found = store.relations(name, std::slice::from_ref(other)).await?;
    Ok(found.into_iter().next().unwrap_or_default())
}

/// Ends an edge. Does nothing if there is none.
pub async fn unfollow(store: &dyn Store, clock: &Clock, follower: Uid, followee: Uid) -> Result<()> {
    match edge(store, follower, followee).await? {
        Some(edge) if edge.following => end(store, clock.now(), follower, followee, edge).await,
        _ => Ok(()),
    }
}

/// Ends all edges of an account, to its followees and from its followers.
pub async fn leave(store: &dyn Store, clock: &Clock, uid: Uid) -> Result<()> {
    loop {
        let followed = store.following(uid, None, CONCURRENCY).await?;
        let ends: Vec<_> =
            followed.iter().map(|(other, edge)| end(store, clock.now(), uid, *other, edge.clone())).collect();
        stream::iter(ends).buffer_unordered(CONCURRENCY).try_collect::<()>().await?;
        if followed.len() < CONCURRENCY {
            break;
        }
    }
    loop {
        let followers = store.followers(uid, None, CONCURRENCY).await?;
        let ends: Vec<_> =
            followers.iter().map(|follower| unfollow(store, clock, follower.uid, uid)).collect();
        stream::iter(ends).buffer_unordered(CONCURRENCY).try_collect::<()>().await?;
        if followers.len() < CONCURRENCY {
            return Ok(());
        }
    }
}

/// The edge from `follower` to `followee`, also an ended one.
pub async fn edge(store: &dyn Store, follower: Uid, followee: Uid) -> Result<Option<Edge>> {
    Ok(store.edges(follower, &[followee]).await?.into_iter().flatten().next())
}

async fn end(store: &dyn Store, now: Millis, follower: Uid, followee: Uid, edge: Edge) -> Result<()> {
    let ended = Edge { following: false, version: Version::next(now, Some(edge.version)), ..edge };
    store.put_edge(follower, followee, &ended).await?;
    Ok(())
}

/// The start of a backfill: the 50th newest public activity of an account in the order of receipt, or the last
/// scanned one if the scan reaches its limit. `None` if there are fewer activities: then the backfill has all of
/// them.
async fn backfill_start(store: &dyn Store, actor: Uid) -> Result<Option<SortKey>> {
    let filter = Filter::default();
    let (mut after, mut scanned, mut public) = (None, 0, 0);
    while scanned < MAX_SCANNED {
        let slice = Slice::own(actor, Order::Received, &filter, after, PAGE);
        let entries = store.slice(&slice).await?;
        // Entries are hints: an activity may no longer be public although its entry still says so.
        let hinted: Vec<_> = entries.iter().filter(|entry| is_hinted_public(entry)).map(|e| e.id).collect();
        let states = store.states(&hinted).await?;
        let found = states.iter().flatten().filter(|state| is_public(state));
        for state in found {
            public += 1;
            if public == BACKFILL {
                return Ok(Some(SortKey { time: state.received, id: state.id }));
            }
        }
        if entries.len() < PAGE {
            return Ok(None);
        }
        scanned += entries.len();
        after = entries.last().map(|entry| entry.sort_key(Order::Received));
    }
    Ok(after)
}

fn is_hinted_public(entry: &Entry) -> bool {
    !entry.retracted && entry.visibility == Visibility::Public
}

fn is_public(state: &State) -> bool {
    !state.deleted && state.visibility == Visibility::Public
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::testing::{IngestFixture, NOW, draft};
    use crate::ingest::{Draft, Outcome};
    use model::ActivityId;
    use serde_json::json;
    use store::Graph;

    /// Submits an activity of the actor at each of these times. Returns the identifiers.
    async fn submit(
        place: &IngestFixture,
        actor: &Account,
        visibility: &str,
        times: std::ops::Range<i64>,
    ) -> Vec<ActivityId> {
        let activity = |time: i64| Draft {
            received: Some(Millis(time)),
            ..draft(&format!("{visibility}{time}"), json!({ "Visibility": visibility }))
        };
        let outcomes = place.ingest.accept(actor, times.map(activity).collect()).await.unwrap();
        let id = |outcome| match outcome {
            Outcome::Created(id) => id,
            other => panic!("{other:?}"),
        };
        outcomes.into_iter().map(id).collect()
    }

    async fn start(store: &dyn Store, follower: &Account, followee: &Account) {
        follow(store, &clock(), follower, followee, &EdgeFilter::default(), &Quotas::default())
            .await
            .unwrap();
    }

    fn clock() -> Clock {
        Clock::from(|| NOW)
    }

    #[tokio::test]
    async fn a_backfill_has_the_newest_50_public_activities() {
        let place = IngestFixture::new();
        let (ann, bob) = (place.account("ann").await, place.account("bob").await);
        let store: &dyn Store = place.store.as_ref();
        submit(&place, &bob, "public", 1_000..1_049).await;
        assert_eq!(backfill_start(store, bob.uid).await.unwrap(), None, "there are 49");
        let public = submit(&place, &bob, "public", 1_049..1_060).await;
        submit(&place, &bob, "followers", 2_000..2_120).await;
        submit(&place, &bob, "direct", 3_000..3_120).await;
        start(store, &ann, &bob).await;
        let edge = edge(store, ann.uid, bob.uid).await.unwrap().unwrap();
        assert_eq!(edge.from.map(|sort_key| sort_key.time), Some(Millis(1_010)), "60 less 50");
        assert_eq!((edge.following, edge.since), (true, NOW));
        assert_eq!(public.len(), 11);
    }

    #[tokio::test]
    async fn at_most_2000_entries_are_scanned() {
        let place = IngestFixture::new();
        let bob = place.account("bob").await;
        submit(&place, &bob, "public", 1_000..1_100).await;
        submit(&place, &bob, "direct", 5_000..7_000).await;
        let oldest = backfill_start(place.store.as_ref(), bob.uid).await.unwrap();
        assert_eq!(oldest.map(|sort_key| sort_key.time), Some(Millis(5_000)), "the last scanned entry");
    }

    #[tokio::test]
    async fn following_again_changes_nothing_and_leaving_ends_all_edges() {
        let place = IngestFixture::new();
        let (ann, bob, cora) =
            (place.account("ann").await, place.account("bob").await, place.account("cora").await);
        let store: &dyn Store = place.store.as_ref();
        let between = |follower: &Account, followee: &Account| edge(store, follower.uid, followee.uid);
        unfollow(store, &clock(), ann.uid, bob.uid).await.unwrap();
        assert_eq!(between(&ann, &bob).await.unwrap(), None, "an edge that never existed is not ended");

        start(store, &ann, &bob).await;
        let first = between(&ann, &bob).await.unwrap();
        start(store, &ann, &bob).await;
        assert_eq!(between(&ann, &bob).await.unwrap(), first);
        unfollow(store, &clock(), ann.uid, bob.uid).await.unwrap();
        let ended = between(&ann, &bob).await.unwrap().unwrap();
        assert!(!ended.following && ended.version > first.unwrap().version);
        start(store, &ann, &bob).await;
        assert!(between(&ann, &bob).await.unwrap().unwrap().version > ended.version);

        start(store, &bob, &cora).await;
        leave(store, &clock(), bob.uid).await.unwrap();
        assert!(place.store.following(bob.uid, None, 10).await.unwrap().is_empty());
        assert!(place.store.followers(bob.uid, None, 10).await.unwrap().is_empty());
        assert!(!between(&ann, &bob).await.unwrap().unwrap().following, "an ended edge is still stored");
    }
}

//! Creates and ends edges.
//!
//! An edge is a versioned state. Creating one determines the start of its backfill; the store appends a task that
//! delivers the backfill to the follower's collections.

use crate::clock::Clock;
use futures::{StreamExt, TryStreamExt, stream};
use model::{Account, Edge, Entry, Filter, Millis, Order, SortKey, State, Uid, Version, Visibility};
use store::{Result, Slice, Store};

/// Number of public activities in a backfill.
const BACKFILL: usize = 50;
/// Maximum number of entries scanned to find them.
const MAX_SCANNED: usize = 2_000;
/// Entries read per request to the store. One page mostly suffices, because most activities are public.
const PAGE: usize = 100;
/// Edges ended concurrently, so that the store can group their writes.
const CONCURRENCY: usize = 100;

/// Creates an edge. Does nothing if it already exists.
pub async fn follow(store: &dyn Store, clock: &Clock, follower: Uid, followee: &Account) -> Result<()> {
    let before = edge(store, follower, followee.uid).await?;
    if before.is_some_and(|edge| edge.following) {
        return Ok(());
    }
    // The time is read first: activities received during the scan are delivered over the edge.
    let since = clock.now();
    let from = backfill_start(store, followee.uid).await?;
    let version = Version::next(since, before.map(|edge| edge.version));
    let edge = Edge { following: true, version, since, from };
    store.put_edge(follower, followee.uid, &edge).await?;
    Ok(())
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
            followed.iter().map(|(other, edge)| end(store, clock.now(), uid, *other, *edge)).collect();
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
#[path = "following_tests.rs"]
mod tests;

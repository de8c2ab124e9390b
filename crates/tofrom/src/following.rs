//! Who follows whom: making and ending edges.
//!
//! An edge is a state with a version. Making one finds out what it brings along; the store has it followed up, so that
//! the follower's collections get that.

use crate::clock::Clock;
use futures::{StreamExt, TryStreamExt, stream};
use model::{Account, Edge, Entry, Filter, Millis, Order, SortKey, State, Uid, Version, Visibility};
use store::{Result, Slice, Store};

/// How many public activities a new follower finds.
const BROUGHT_ALONG: usize = 50;
/// How many of the newest are looked at to find them.
const LOOKED_AT: usize = 2_000;
/// How many are looked at at once: most of what most people do is public.
const PAGE: usize = 100;
/// Edges that are ended at once; the store writes together what comes together.
const ENDED_AT_ONCE: usize = 100;

/// Makes an edge. Where there is one already, nothing changes.
pub async fn follow(store: &dyn Store, clock: &Clock, follower: Uid, followee: &Account) -> Result<()> {
    let before = edge(store, follower, followee.uid).await?;
    if before.is_some_and(|edge| edge.following) {
        return Ok(());
    }
    // The time first: what is received while the rest is found out comes over the edge by itself.
    let since = clock.now();
    let from = oldest_brought_along(store, followee.uid).await?;
    let version = Version::next(since, before.map(|edge| edge.version));
    let edge = Edge { following: true, version, since, from };
    store.put_edge(follower, followee.uid, &edge).await?;
    Ok(())
}

/// Ends an edge. Where there is none, nothing changes.
pub async fn unfollow(store: &dyn Store, clock: &Clock, follower: Uid, followee: Uid) -> Result<()> {
    match edge(store, follower, followee).await? {
        Some(edge) if edge.following => end(store, clock.now(), follower, followee, edge).await,
        _ => Ok(()),
    }
}

/// Ends all edges of an account, to whom it follows and from who follows it.
pub async fn leave(store: &dyn Store, clock: &Clock, uid: Uid) -> Result<()> {
    loop {
        let followed = store.following(uid, None, ENDED_AT_ONCE).await?;
        let ends: Vec<_> =
            followed.iter().map(|(other, edge)| end(store, clock.now(), uid, *other, *edge)).collect();
        stream::iter(ends).buffer_unordered(ENDED_AT_ONCE).try_collect::<()>().await?;
        if followed.len() < ENDED_AT_ONCE {
            break;
        }
    }
    loop {
        let followers = store.followers(uid, None, ENDED_AT_ONCE).await?;
        let ends: Vec<_> = followers.iter().map(|one| unfollow(store, clock, one.uid, uid)).collect();
        stream::iter(ends).buffer_unordered(ENDED_AT_ONCE).try_collect::<()>().await?;
        if followers.len() < ENDED_AT_ONCE {
            return Ok(());
        }
    }
}

/// The edge from one to the other, also one that says "not any more".
pub async fn edge(store: &dyn Store, follower: Uid, followee: Uid) -> Result<Option<Edge>> {
    Ok(store.edges(follower, &[followee]).await?.into_iter().flatten().next())
}

async fn end(store: &dyn Store, now: Millis, follower: Uid, followee: Uid, edge: Edge) -> Result<()> {
    let ended = Edge { following: false, version: Version::next(now, Some(edge.version)), ..edge };
    store.put_edge(follower, followee, &ended).await?;
    Ok(())
}

/// The 50th newest public activity of an account in the order of receipt; where that is too far away, the last one that
/// was looked at. `None` if there are fewer: then all of them come along.
async fn oldest_brought_along(store: &dyn Store, actor: Uid) -> Result<Option<SortKey>> {
    let filter = Filter::default();
    let (mut after, mut looked_at, mut public) = (None, 0, 0);
    while looked_at < LOOKED_AT {
        let slice = Slice::own(actor, Order::Received, &filter, after, PAGE);
        let entries = store.slice(&slice).await?;
        // Entries are hints, which may not tell yet that an activity is not public any more.
        let hinted: Vec<_> = entries.iter().filter(|entry| is_hinted_public(entry)).map(|e| e.id).collect();
        let states = store.states(&hinted).await?;
        let found = states.iter().flatten().filter(|state| is_public(state));
        for state in found {
            public += 1;
            if public == BROUGHT_ALONG {
                return Ok(Some(SortKey { time: state.received, id: state.id }));
            }
        }
        if entries.len() < PAGE {
            return Ok(None);
        }
        looked_at += entries.len();
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

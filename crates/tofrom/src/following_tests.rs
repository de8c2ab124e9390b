//! Edges through a real store.

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
    follow(store, &clock(), ann.uid, &bob).await.unwrap();
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

    follow(store, &clock(), ann.uid, &bob).await.unwrap();
    let first = between(&ann, &bob).await.unwrap();
    follow(store, &clock(), ann.uid, &bob).await.unwrap();
    assert_eq!(between(&ann, &bob).await.unwrap(), first);
    unfollow(store, &clock(), ann.uid, bob.uid).await.unwrap();
    let ended = between(&ann, &bob).await.unwrap().unwrap();
    assert!(!ended.following && ended.version > first.unwrap().version);
    follow(store, &clock(), ann.uid, &bob).await.unwrap();
    assert!(between(&ann, &bob).await.unwrap().unwrap().version > ended.version);

    follow(store, &clock(), bob.uid, &cora).await.unwrap();
    leave(store, &clock(), bob.uid).await.unwrap();
    assert!(place.store.following(bob.uid, None, 10).await.unwrap().is_empty());
    assert!(place.store.followers(bob.uid, None, 10).await.unwrap().is_empty());
    assert!(!between(&ann, &bob).await.unwrap().unwrap().following, "an ended edge is still stored");
}

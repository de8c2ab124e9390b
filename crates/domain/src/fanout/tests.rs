//! Deliveries through a real store.

use super::{Rules, deliver_pending};
use crate::ingest::Outcome;
use crate::ingest::testing::{IngestFixture, draft};
use model::{Account, ActivityId, Edge, EntryReason, EntryReasons, Millis, Version};
use serde_json::{Value, json};
use store::{ExternalKey, Feeds, Graph, Log};

async fn follow(place: &IngestFixture, follower: &Account, followee: &Account) {
    let edge = Edge::new(Version(1), Millis(1), None);
    place.store.put_edge(follower.uid, followee.uid, &edge).await.unwrap();
}

async fn put(place: &IngestFixture, actor: &Account, id: &str, more: Value) -> ActivityId {
    let outcome = place.ingest.accept(actor, vec![draft(id, more)]).await.unwrap().remove(0);
    deliver_pending(place.store.as_ref(), &place.clock, &Rules::default()).await.unwrap();
    match outcome {
        Outcome::Created(id) | Outcome::Updated(id) => id,
        other => panic!("{other:?}"),
    }
}

async fn has(place: &IngestFixture, owner: &Account, into: EntryReason) -> Vec<ActivityId> {
    place.ids(owner, EntryReasons::default().with(into)).await
}

#[tokio::test]
async fn an_activity_reaches_followers_and_recipients() {
    let place = IngestFixture::new();
    let (bob, carol, dave) =
        (place.account("bob").await, place.account("carol").await, place.account("dave").await);
    follow(&place, &carol, &bob).await;
    let public = put(&place, &bob, "1", json!({"To": ["dave", "carol"]})).await;
    place.tick();
    let direct = put(&place, &bob, "2", json!({"To": ["dave"], "Visibility": "direct"})).await;
    assert_eq!(has(&place, &carol, EntryReason::Followed).await, [public]);
    assert_eq!(has(&place, &carol, EntryReason::Addressed).await, [public]);
    assert_eq!(has(&place, &dave, EntryReason::Addressed).await, [direct, public]);
    assert!(has(&place, &dave, EntryReason::Followed).await.is_empty());
    assert!(place.store.pending(10).await.unwrap().is_empty());
    assert_eq!(
        deliver_pending(place.store.as_ref(), &place.clock, &Rules::default()).await.unwrap(),
        0,
        "no task is pending"
    );
}

#[tokio::test]
async fn an_activity_hidden_from_followers_is_retracted() {
    let place = IngestFixture::new();
    let (bob, carol) = (place.account("bob").await, place.account("carol").await);
    follow(&place, &carol, &bob).await;
    let one = put(&place, &bob, "1", json!({})).await;
    place.tick();
    let two = put(&place, &bob, "2", json!({"Visibility": "followers"})).await;
    assert_eq!(has(&place, &carol, EntryReason::Followed).await, [two, one]);
    put(&place, &bob, "1", json!({"Visibility": "direct"})).await;
    assert_eq!(has(&place, &carol, EntryReason::Followed).await, [two]);
    put(&place, &bob, "1", json!({"Visibility": "public"})).await;
    assert_eq!(has(&place, &carol, EntryReason::Followed).await, [two, one]);
    let source = ExternalKey { actor: bob.uid, service: "delicious".to_owned(), id: "2".to_owned() };
    assert!(place.ingest.delete(&source).await.unwrap());
    deliver_pending(place.store.as_ref(), &place.clock, &Rules::default()).await.unwrap();
    assert_eq!(has(&place, &carol, EntryReason::Followed).await, [one]);
}

#[tokio::test]
async fn only_the_latest_version_is_delivered() {
    let place = IngestFixture::new();
    let (bob, carol) = (place.account("bob").await, place.account("carol").await);
    follow(&place, &carol, &bob).await;
    let versions = (0..5).map(|n| draft("1", json!({"Title": n.to_string()}))).collect();
    place.ingest.accept(&bob, versions).await.unwrap();
    assert_eq!(
        deliver_pending(place.store.as_ref(), &place.clock, &Rules::default()).await.unwrap(),
        6,
        "five versions and the edge"
    );
    assert_eq!(has(&place, &carol, EntryReason::Followed).await.len(), 1);
    let floor = place.store.floor().await.unwrap();
    let arrivals =
        place.store.arrivals(carol.uid, model::ArrivalOffset::default(), floor, 100).await.unwrap();
    assert_eq!(arrivals.len(), 1, "only the last version arrived");
}

#[tokio::test]
async fn a_recipient_that_is_no_longer_addressed_gets_a_retraction() {
    let place = IngestFixture::new();
    let (bob, carol, dave) =
        (place.account("bob").await, place.account("carol").await, place.account("dave").await);
    let one = put(&place, &bob, "1", json!({"To": ["carol"]})).await;
    assert_eq!(has(&place, &carol, EntryReason::Addressed).await, [one]);
    // Two versions before the next delivery: each task knows the recipients of the version before it.
    let versions = [json!({"To": ["dave"]}), json!({"To": []})].map(|more| draft("1", more));
    place.ingest.accept(&bob, versions.into()).await.unwrap();
    deliver_pending(place.store.as_ref(), &place.clock, &Rules::default()).await.unwrap();
    assert!(has(&place, &carol, EntryReason::Addressed).await.is_empty());
    assert!(has(&place, &dave, EntryReason::Addressed).await.is_empty());
}

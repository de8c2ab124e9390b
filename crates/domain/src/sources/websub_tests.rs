//! Hub secrets, against a real store.

use super::super::{SourceSettings, hub_secret};
use super::*;
use crate::ingest::testing::IngestFixture;
use crate::live::Hub;
use seal::SecretKeys;
use std::sync::Arc;
use store::Sources as _;

const OLD: &str = "0000000000000000000000000000000000000000000000000000000000000001";
const NEW: &str = "0000000000000000000000000000000000000000000000000000000000000002";
const ID: SourceId = SourceId([7; 16]);
const PLAIN: &str = "the secret of a hub";

fn keys(texts: &[&str]) -> Arc<SecretKeys> {
    Arc::new(SecretKeys::parse(texts).unwrap())
}

fn sources(fixture: &IngestFixture, texts: &[&str]) -> Sources {
    let hub = Arc::new(Hub::default());
    Sources::new(fixture.store.clone(), fixture.clock.clone(), hub, SourceSettings::default(), keys(texts))
        .unwrap()
}

fn signature(secret: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let digits =
        hmac::sign(&key, b"news").as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("sha256={digits}")
}

/// The outcome of a notification signed with this secret. There are no connections, so a valid subscription is unwanted.
async fn notify(sources: &Sources, secret: &str) -> Result<NotificationOutcome> {
    sources.handle_notification(ID, Some(&signature(secret)), None, b"news").await
}

#[tokio::test]
async fn an_old_key_can_be_removed_after_resealing() {
    let fixture = IngestFixture::new();
    let before = sources(&fixture, &[OLD]);
    let feed = Source::new(Url::parse("https://blog.example/feed").unwrap());
    fixture.store.replace_source(None, &feed.to_stored(Millis(1)).unwrap()).await.unwrap();
    let subscription = Subscription {
        source: SourceId([8; 16]),
        hub: Address::from(Url::parse("https://hub.example/").unwrap()),
        topic: "https://blog.example/feed".to_owned(),
        secret: HubSecret::seal(PLAIN, ID, &before.secret_keys).unwrap(),
        asked: Millis(1),
        lease: None,
        quiet: false,
    };
    before.change_subscription(ID, |_| Some(subscription.clone())).await.unwrap();
    let stored =
        || async { String::from_utf8(fixture.store.source(ID).await.unwrap().unwrap().state).unwrap() };
    assert!(!stored().await.contains(PLAIN));
    assert_eq!(notify(&before, PLAIN).await.unwrap(), NotificationOutcome::Unwanted);
    assert_eq!(notify(&before, "another").await.unwrap(), NotificationOutcome::Dropped);
    let elsewhere = SourceId([9; 16]);
    assert!(
        subscription.secret.open(elsewhere, &before.secret_keys).is_err(),
        "opened for another subscription"
    );

    assert!(notify(&sources(&fixture, &[NEW]), PLAIN).await.is_err(), "opened without the old key");
    let reseal = |texts: &'static [&'static str]| {
        let (store, clock) = (fixture.store.clone(), fixture.clock.clone());
        async move { hub_secret::reseal(store.as_ref(), &clock, &keys(texts)).await }
    };
    assert!(reseal(&[NEW]).await.is_err());
    let sealed = stored().await;
    let done = reseal(&[NEW, OLD]).await.unwrap();
    assert_eq!((done.anew, done.all), (1, 1), "the source itself has no secret");
    assert_ne!(stored().await, sealed);
    assert_eq!(reseal(&[NEW, OLD]).await.unwrap().anew, 0, "resealed twice");
    let after = sources(&fixture, &[NEW]);
    assert_eq!(notify(&after, PLAIN).await.unwrap(), NotificationOutcome::Unwanted);
    assert_eq!(notify(&after, "another").await.unwrap(), NotificationOutcome::Dropped);
}

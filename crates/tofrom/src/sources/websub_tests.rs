//! The secrets of hubs, against a real store.

use super::super::{SourceSettings, hub_secret};
use super::*;
use crate::auth::SecretKeys;
use crate::ingest::testing::Place;
use crate::live::Hub;
use std::sync::Arc;
use store::Sources as _;

const OLD: &str = "0000000000000000000000000000000000000000000000000000000000000001";
const NEW: &str = "0000000000000000000000000000000000000000000000000000000000000002";
const ID: SourceId = SourceId([7; 16]);
const PLAIN: &str = "a secret that a hub was given";

fn keys(texts: &[&str]) -> Arc<SecretKeys> {
    Arc::new(SecretKeys::parse(texts).unwrap())
}

fn sources(place: &Place, texts: &[&str]) -> Sources {
    let hub = Arc::new(Hub::default());
    Sources::new(place.store.clone(), place.clock.clone(), hub, SourceSettings::default(), keys(texts))
        .unwrap()
}

fn signature(secret: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let digits =
        hmac::sign(&key, b"news").as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("sha256={digits}")
}

/// What becomes of news that is signed with that secret. Nobody is connected, so what is believed reaches nobody.
async fn told(sources: &Sources, secret: &str) -> Result<Told> {
    sources.told(ID, Some(&signature(secret)), None, b"news").await
}

#[tokio::test]
async fn an_old_key_can_go_when_everything_is_sealed_anew() {
    let place = Place::new();
    let before = sources(&place, &[OLD]);
    let feed = Source::new(Url::parse("https://blog.example/feed").unwrap());
    place.store.replace_source(None, &feed.written(Millis(1)).unwrap()).await.unwrap();
    let one = Subscription {
        source: SourceId([8; 16]),
        hub: Address::from(Url::parse("https://hub.example/").unwrap()),
        topic: "https://blog.example/feed".to_owned(),
        secret: HubSecret::seal(PLAIN, ID, &before.secret_keys).unwrap(),
        asked: Millis(1),
        lease: None,
        quiet: false,
    };
    before.change_subscription(ID, |_| Some(one.clone())).await.unwrap();
    let stored =
        || async { String::from_utf8(place.store.source(ID).await.unwrap().unwrap().state).unwrap() };
    assert!(!stored().await.contains(PLAIN));
    assert_eq!(told(&before, PLAIN).await.unwrap(), Told::Nobody);
    assert_eq!(told(&before, "another").await.unwrap(), Told::Dropped);
    let elsewhere = SourceId([9; 16]);
    assert!(one.secret.open(elsewhere, &before.secret_keys).is_err(), "it opens in its own place only");

    assert!(told(&sources(&place, &[NEW]), PLAIN).await.is_err(), "the old key is still needed");
    let reseal = |texts: &'static [&'static str]| {
        let (store, clock) = (place.store.clone(), place.clock.clone());
        async move { hub_secret::reseal(store.as_ref(), &clock, &keys(texts)).await }
    };
    assert!(reseal(&[NEW]).await.is_err());
    let sealed = stored().await;
    let done = reseal(&[NEW, OLD]).await.unwrap();
    assert_eq!((done.anew, done.all), (1, 1), "the source beside it has no secret");
    assert_ne!(stored().await, sealed);
    assert_eq!(reseal(&[NEW, OLD]).await.unwrap().anew, 0, "it is done");
    let after = sources(&place, &[NEW]);
    assert_eq!(told(&after, PLAIN).await.unwrap(), Told::Nobody);
    assert_eq!(told(&after, "another").await.unwrap(), Told::Dropped);
}

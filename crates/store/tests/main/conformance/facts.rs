//! The store itself.

use super::{Engine, fresh};
use std::collections::HashSet;

pub(crate) async fn ping_succeeds(store: Engine) {
    store.ping().await.unwrap();
}

pub(crate) async fn the_first_call_sets_a_fact(store: Engine) {
    let name = format!("fact-{:x}", fresh::number());
    let calls: Vec<_> = (0..50)
        .map(|number| {
            let (store, name) = (store.clone(), name.clone());
            tokio::spawn(async move { store.set_once(&name, &number.to_string()).await.unwrap() })
        })
        .collect();
    let mut values = HashSet::new();
    for call in calls {
        values.insert(call.await.unwrap());
    }
    assert_eq!(values.len(), 1, "all calls return the same value: {values:?}");
    let later = store.set_once(&name, "too late").await.unwrap();
    assert!(values.contains(&later));
    let other = format!("fact-{:x}", fresh::number());
    assert_eq!(store.set_once(&other, "").await.unwrap(), "", "an empty value is set too");
    assert_eq!(store.set_once(&other, "x").await.unwrap(), "");
}

//! The store itself.

use super::{Engine, fresh};
use std::collections::HashSet;

pub(crate) async fn the_store_answers(store: Engine) {
    store.ping().await.unwrap();
}

pub(crate) async fn the_first_to_fix_a_fact_wins(store: Engine) {
    let name = format!("fact-{:x}", fresh::number());
    let calls: Vec<_> = (0..50)
        .map(|number| {
            let (store, name) = (store.clone(), name.clone());
            tokio::spawn(async move { store.set_once(&name, &number.to_string()).await.unwrap() })
        })
        .collect();
    let mut told = HashSet::new();
    for call in calls {
        told.insert(call.await.unwrap());
    }
    assert_eq!(told.len(), 1, "everybody is told the same: {told:?}");
    let later = store.set_once(&name, "too late").await.unwrap();
    assert!(told.contains(&later));
    let other = format!("fact-{:x}", fresh::number());
    assert_eq!(store.set_once(&other, "").await.unwrap(), "", "also an empty one is fixed");
    assert_eq!(store.set_once(&other, "x").await.unwrap(), "");
}

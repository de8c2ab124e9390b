//! A typical account: its own activities, addressed ones and followed ones, in turn.

use super::cluster::{Cluster, accounts, draft, follow};
use domain::fanout::{Rules, deliver_pending};
use domain::ingest::Ingest;
use model::{Account, Clock, Collection, EntryReasons, FeedQuery, Filter, Millis, Order, Start, Uid};
use std::sync::Arc;
use store::Slice;
use store::cql::CqlStore;

/// Accounts that it follows, and as many others that address it.
const OTHERS: usize = 20;
/// Activities of each of them; together as many as the account's own.
const EACH: usize = 10;
/// Milliseconds between two activities.
const PAUSE: i64 = 60_000;

/// Creates the account and everything in its collection.
pub(crate) async fn filled(cluster: &Cluster) -> (Arc<CqlStore>, Account) {
    let store = cluster.open().await;
    let clock = Clock::system();
    let ingest = Ingest::new(store.clone(), clock.clone());
    let reader = accounts(&store, "reader", 1).await.remove(0);
    let followed = accounts(&store, "followed", OTHERS).await;
    let strangers = accounts(&store, "stranger", OTHERS).await;
    let now = clock.now();
    for one in &followed {
        follow(store.as_ref(), &clock, &reader, one).await.unwrap();
    }
    let steps = OTHERS * EACH;
    let received = |step: usize, part: i64| {
        let back = (steps - step) as i64 * PAUSE;
        // An edge delivers activities received after it.
        Millis(now.0 + 1_000 * 60 * 60 * 24 - back + part)
    };
    let own = (0..steps).map(|step| draft(step, received(step, 0), &[])).collect();
    ingest.accept(&reader, own).await.unwrap();
    for (number, (one, other)) in followed.iter().zip(&strangers).enumerate() {
        let its = (0..EACH).map(|turn| turn * OTHERS + number);
        let plain = its.clone().map(|step| draft(step, received(step, 1), &[])).collect();
        ingest.accept(one, plain).await.unwrap();
        let name = [reader.name.clone()];
        let addressed = its.map(|step| draft(step, received(step, 2), &name)).collect();
        ingest.accept(other, addressed).await.unwrap();
    }
    deliver_pending(store.as_ref(), &clock, &Rules::default()).await.unwrap();
    (store, reader)
}

pub(crate) fn first_page(reader: &Account) -> FeedQuery {
    FeedQuery {
        owner: reader.uid,
        collection: Collection::ToFrom,
        filter: Filter::default(),
        order: Order::Received,
        start: Start::Skip(0),
        count: 20,
        format: None,
    }
}

/// The entries of that page, and one more that says whether there is another page.
pub(crate) fn first_slice(owner: Uid, filter: &Filter) -> Slice<'_> {
    Slice { owner, reasons: EntryReasons::ALL, order: Order::Received, filter, after: None, limit: 21 }
}

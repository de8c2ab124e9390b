//! The number of statements for a page of 20.

use super::cluster::Cluster;
use super::reader::{filled, first_page, first_slice};
use domain::feed::{Feed, FeedLimits};
use model::{Clock, Reader};
use std::collections::HashSet;
use std::sync::Arc;
use store::{AccountCache, Feeds, Store};

const AIM_COLD: u64 = 30;
const AIM_WARM: u64 = 28;

pub(crate) async fn measure(cluster: &Cluster) {
    let (filling, account) = filled(cluster).await;
    let query = first_page(&account);
    // The actors of the page and of the next entry.
    let entries = filling.slice(&first_slice(account.uid, &query.filter)).await.unwrap();
    let actors: HashSet<_> = entries.iter().map(|entry| entry.actor).collect();
    let counted = cluster.open().await;
    let store: Arc<dyn Store> = counted.clone();
    let accounts = AccountCache::new(Arc::clone(&store));
    let feed = Feed::new(Arc::clone(&store), accounts.clone(), Clock::system(), FeedLimits::default());
    let since = |before: (u64, u64)| counted.counted().0 - before.0;
    println!("| a page of 20 | entries and states | bodies | together | aim | profiles of actors |");
    println!("|---|--:|--:|--:|--:|--:|");
    for (label, aim, profiles) in [("cold", AIM_COLD, actors.len() as u64), ("warm", AIM_WARM, 0)] {
        let before = counted.counted();
        let mut page = feed.page(Reader::Owner, &query).await.unwrap();
        let all = since(before);
        assert_eq!(page.items.len(), 20);
        let before = counted.counted();
        feed.hydrate(&mut page.items, |_| true).await.unwrap();
        let bodies = since(before);
        let own = all - profiles;
        println!("| {label} | {own} | {bodies} | {} | {aim} | {profiles} |", own + bodies);
    }
}

//! Accounts with a hundred thousand followers and more.

use super::bare::Bare;
use super::cluster::accounts;
use domain::fanout::{Rules, deliver_pending};
use model::{Account, Clock, Edge, Uid, Version};
use std::time::Instant;
use store::Graph;
use store::cql::CqlStore;

/// From this many followers on the store uses 16 shards.
const ONE_SHARD: usize = 12_000;

/// An account with this many followers. Prints how long it took to create them.
pub(crate) async fn with_followers(store: &CqlStore, bare: &Bare, many: usize) -> (Account, Vec<Account>) {
    let start = Instant::now();
    let followers = accounts(store, "follower", many).await;
    println!("{many} accounts made in {:.0} s", start.elapsed().as_secs_f64());
    let actor = accounts(store, "actor", 1).await.remove(0);
    let start = Instant::now();
    let numbers: Vec<i64> = followers.iter().map(|account| account.uid.0).collect();
    follow_all(store, bare, &actor, &numbers).await;
    println!("{many} edges written in {:.0} s\n", start.elapsed().as_secs_f64());
    (actor, followers)
}

/// Makes all of these follow the actor. The store creates the first edge, and its rows are copied for the others,
/// because each of them would be a task in the log.
pub(crate) async fn follow_all(store: &CqlStore, bare: &Bare, actor: &Account, followers: &[i64]) {
    let clock = Clock::system();
    let now = clock.now();
    let edge = Edge::new(Version(now.0), now, None);
    store.put_edge(Uid(followers[0]), actor.uid, &edge).await.unwrap();
    deliver_pending(store, &clock, &Rules::default()).await.unwrap();
    let made = "SELECT edge FROM feed.following WHERE uid = ? AND followee = ?";
    let (cell,): (Vec<u8>,) = bare.first(made, (followers[0], actor.uid.0)).await;
    if followers.len() >= ONE_SHARD {
        let level =
            bare.prepare("INSERT INTO feed.followers (uid, level) VALUES (?, 1) USING TIMESTAMP 1").await;
        bare.run(&level, (actor.uid.0,)).await;
    }
    let shard = |at: usize| if followers.len() < ONE_SHARD { 0 } else { 1 << 16 | (at % 16) as i32 };
    let follower = bare
        .prepare(
            "INSERT INTO feed.follower (uid, shard, follower, edge) VALUES (?, ?, ?, ?) USING TIMESTAMP ?",
        )
        .await;
    let rows = followers.iter().enumerate();
    let ends = rows.map(|(at, uid)| (&follower, (actor.uid.0, shard(at), *uid, &cell, edge.version.0)));
    bare.write(ends).await;
    let following = bare
        .prepare("INSERT INTO feed.following (uid, followee, edge) VALUES (?, ?, ?) USING TIMESTAMP ?")
        .await;
    bare.write(followers.iter().map(|uid| (&following, (*uid, actor.uid.0, &cell, edge.version.0)))).await;
}

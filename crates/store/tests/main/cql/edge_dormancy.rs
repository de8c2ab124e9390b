//! Edge dormancy: the cost of reading it, and rows from before there were more shards.

use super::super::conformance::fresh;
use super::{KEYSPACE, open, session, shared};
use model::{Edge, EdgeDormancy, Millis, Position, Uid, Version};
use store::{FanoutModes, Graph};

/// Raises the number of shards.
async fn raise(followee: Uid, level: i8) {
    let session = session().await;
    let text = format!(
        "INSERT INTO {}.followers (uid, level) VALUES ({}, {level}) USING TIMESTAMP {level}",
        *KEYSPACE, followee.0
    );
    session.query_unpaged(text, &[]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_latest_edge_dormancy_wins_in_any_shard() {
    let Some(store) = shared().await else { return };
    let bob = fresh::uid(&*store).await;
    let (dormant, active) = (EdgeDormancy::Dormant, EdgeDormancy::ActiveAfter(Position(9)));
    // Dormancy before there were more shards, after that, and the expected one.
    let cases = [
        (Some((1, dormant)), None, dormant),
        (None, Some((1, dormant)), dormant),
        (Some((1, dormant)), Some((2, active)), active),
        (Some((2, active)), Some((1, dormant)), active),
        (Some((2, active)), Some((2, dormant)), active),
        (Some((2, active)), Some((300, dormant)), dormant),
    ];
    let edge = Edge::new(Version(1), Millis(0), None);
    let mut expected = Vec::new();
    for (_, _, known) in &cases {
        let follower = fresh::uid(&*store).await;
        store.put_edge(follower, bob, &edge).await.unwrap();
        expected.push((follower, Some(*known)));
    }
    let followers: Vec<Uid> = expected.iter().map(|(follower, _)| *follower).collect();
    let put = async |follower, written: Option<(i64, EdgeDormancy)>| {
        if let Some((version, dormancy)) = written {
            store.put_edge_dormancy(follower, &[bob], Version(version), dormancy).await.unwrap();
        }
    };
    for (follower, (before, ..)) in followers.iter().zip(cases) {
        put(*follower, before).await;
    }
    raise(bob, 1).await;
    for (follower, (_, after, _)) in followers.iter().zip(cases) {
        put(*follower, after).await;
    }
    expected.sort_by_key(|(follower, _)| *follower);
    for limit in [1, 2, 100] {
        let mut found: Vec<(Uid, Option<EdgeDormancy>)> = Vec::new();
        loop {
            let page = store.followers(bob, found.last().map(|(uid, _)| *uid), limit).await.unwrap();
            found.extend(page.iter().map(|follower| (follower.uid, follower.dormancy)));
            if page.len() < limit {
                break;
            }
        }
        assert_eq!(found, expected, "{limit}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delivery_state_and_followers_take_few_statements() {
    if shared().await.is_none() {
        return;
    }
    let store = open().await;
    let (ada, bob) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    store.assign_mode(ada, bob, Position(1), Version(1), 9).await.unwrap();
    let before = store.counted().0;
    assert_eq!(store.delivery_state(ada).await.unwrap().pulled.len(), 1);
    assert_eq!(store.counted().0 - before, 1, "every page reads it");
    let edge = Edge::new(Version(1), Millis(0), None);
    store.put_edge(ada, bob, &edge).await.unwrap();
    let before = store.counted().0;
    assert_eq!(store.followers(bob, None, 100).await.unwrap().len(), 1);
    assert_eq!(store.counted().0 - before, 3, "the level, the followers, and their dormancy");
}

//! The follow graph.

use super::{Engine, fresh};
use model::{Edge, Millis, SortKey, Uid, Version};
use store::{Follower, Work};

fn edge(version: i64, following: bool) -> Edge {
    Edge { following, ..Edge::new(Version(version), Millis(version * 10), None) }
}

pub(crate) async fn an_edge_is_seen_from_both_ends(store: Engine) {
    let (ada, bob) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    assert_eq!(store.edges(ada, &[bob]).await.unwrap(), [None]);
    let follows = Edge { from: Some(SortKey { time: Millis(-5), id: fresh::id(9) }), ..edge(1, true) };
    store.put_edge(ada, bob, &follows).await.unwrap();
    store.put_edge(ada, bob, &follows).await.unwrap();
    assert_eq!(store.edges(ada, &[bob]).await.unwrap(), [Some(follows.clone())]);
    assert_eq!(store.edges(bob, &[ada]).await.unwrap(), [None], "an edge has a direction");
    assert_eq!(store.following(ada, None, 10).await.unwrap(), [(bob, follows)]);
    assert_eq!(fresh::followers(&*store, bob, None, 10).await, [ada]);
    assert_eq!(store.following(bob, None, 10).await.unwrap(), []);
    assert_eq!(fresh::followers(&*store, ada, None, 10).await, []);

    let ended = edge(2, false);
    store.put_edge(ada, bob, &ended).await.unwrap();
    assert_eq!(store.edges(ada, &[bob]).await.unwrap(), [Some(ended)], "found as ended");
    assert_eq!(store.following(ada, None, 10).await.unwrap(), []);
    assert_eq!(fresh::followers(&*store, bob, None, 10).await, []);
}

pub(crate) async fn the_later_edge_wins(store: Engine) {
    let states = [edge(1, true), edge(2, false), edge(3, true), edge(4, false)];
    for (last, orders) in [(3, [[0, 1, 2], [2, 1, 0], [1, 2, 0]]), (4, [[3, 0, 2], [2, 3, 1], [0, 3, 2]])] {
        for order in orders {
            let (ada, bob) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
            for number in order {
                store.put_edge(ada, bob, &states[number]).await.unwrap();
            }
            // A different edge with the same version: the first one stays.
            let expected = states[last - 1].clone();
            let different = Edge { following: !expected.following, since: Millis(0), ..expected.clone() };
            store.put_edge(ada, bob, &different).await.unwrap();
            assert_eq!(store.edges(ada, &[bob]).await.unwrap(), [Some(expected.clone())], "{order:?}");
            let follows = store.following(ada, None, 10).await.unwrap();
            assert_eq!(follows.len(), usize::from(expected.following), "{order:?}");
            let followers = store.followers(bob, None, 10).await.unwrap();
            assert_eq!(followers.len(), usize::from(expected.following), "{order:?}");
        }
    }
}

pub(crate) async fn edges_are_returned_in_request_order(store: Engine) {
    let ada = fresh::uid(&*store).await;
    let (bob, eve, ida) = (fresh::uid(&*store).await, fresh::uid(&*store).await, fresh::uid(&*store).await);
    store.put_edge(ada, bob, &edge(1, true)).await.unwrap();
    store.put_edge(ada, ida, &edge(2, false)).await.unwrap();
    let found = store.edges(ada, &[ida, eve, bob, ida, Uid(i64::MAX)]).await.unwrap();
    assert_eq!(found, [Some(edge(2, false)), None, Some(edge(1, true)), Some(edge(2, false)), None]);
    assert_eq!(store.edges(ada, &[]).await.unwrap(), []);
}

pub(crate) async fn following_is_paged(store: Engine) {
    let ada = fresh::uid(&*store).await;
    let mut expected = Vec::new();
    for number in 0..25 {
        let followee = fresh::uid(&*store).await;
        let follows = number % 5 != 0;
        store.put_edge(ada, followee, &edge(number + 1, follows)).await.unwrap();
        if follows {
            expected.push((followee, edge(number + 1, true)));
        }
    }
    expected.sort_by_key(|(uid, _)| *uid);
    for limit in [1, 7, 20, 100] {
        let mut all: Vec<(Uid, Edge)> = Vec::new();
        loop {
            let page = store.following(ada, all.last().map(|(uid, _)| *uid), limit).await.unwrap();
            let full = page.len() == limit;
            all.extend(page);
            if !full {
                break;
            }
        }
        assert_eq!(all, expected, "{limit}");
    }
}

pub(crate) async fn followers_are_paged(store: Engine) {
    let bob = fresh::uid(&*store).await;
    let mut expected = Vec::new();
    for number in 0..25 {
        let follower = fresh::uid(&*store).await;
        store.put_edge(follower, bob, &edge(1, true)).await.unwrap();
        if number % 5 == 0 {
            store.put_edge(follower, bob, &edge(2, false)).await.unwrap();
        } else {
            expected.push(follower);
        }
    }
    expected.sort();
    for limit in [1, 7, 20, 100] {
        let mut all: Vec<Uid> = Vec::new();
        loop {
            let page = fresh::followers(&*store, bob, all.last().copied(), limit).await;
            let full = page.len() == limit;
            all.extend(page);
            if !full {
                break;
            }
        }
        assert_eq!(all, expected, "{limit}");
    }
}

pub(crate) async fn an_edge_appends_a_task(store: Engine) {
    let (ada, bob) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    let first = store.put_edge(ada, bob, &edge(1, true)).await.unwrap().expect("it is new");
    assert_eq!(store.put_edge(ada, bob, &edge(1, true)).await.unwrap(), None, "it is known");
    let follower = |version, since| Follower { uid: ada, version: Version(version), since, dormancy: None };
    assert_eq!(store.followers(bob, None, 9).await.unwrap(), [follower(1, first)]);
    let ended = store.put_edge(ada, bob, &edge(2, false)).await.unwrap().expect("it is new");
    let again = store.put_edge(ada, bob, &edge(3, true)).await.unwrap().expect("it is new");
    assert!(first < ended && ended < again);
    assert_eq!(store.followers(bob, None, 9).await.unwrap(), [follower(3, again)], "as it was made last");
    let tasks = super::log::pending_at(&*store, &[first, ended, again], 3).await;
    for (position, version, following) in [(first, 1, true), (ended, 2, false), (again, 3, true)] {
        let work = Work::Edge { follower: ada, followee: bob, version: Version(version), following };
        assert!(tasks.iter().any(|task| task.position == position && task.work == work), "{work:?}");
    }
    store.acknowledge(&[first, ended, again], &[]).await.unwrap();
}

//! Fan-out states of actors, and fan-out modes of edges.

use super::{Engine, fresh};
use fresh::every_order;
use model::{DeliveryState, FanoutMode, FanoutStage, FanoutState, Position, Uid, Version};
use std::sync::Arc;
use store::Store;

/// More actors than any account here pulls from.
const MANY: usize = 200;

async fn assign_mode(
    store: &dyn Store,
    (follower, followee): (Uid, Uid),
    (version, since): (i64, u64),
    max_pulled: usize,
) -> FanoutMode {
    store.assign_mode(follower, followee, Position(since), Version(version), max_pulled).await.unwrap()
}

async fn release_mode(store: &dyn Store, (follower, followee): (Uid, Uid), version: i64) {
    store.release_mode(follower, followee, Version(version)).await.unwrap();
}

async fn pulled(store: &dyn Store, follower: Uid) -> Vec<(Uid, u64)> {
    let state = store.delivery_state(follower).await.unwrap();
    state.pulled.into_iter().map(|(uid, since)| (uid, since.0)).collect()
}

async fn pushed(store: &dyn Store, followee: Uid) -> Vec<(Uid, u64)> {
    let all = store.pushed_followers(followee, None, 1_000).await.unwrap();
    all.into_iter().map(|(uid, since)| (uid, since.0)).collect()
}

async fn two_accounts(store: &dyn Store) -> (Uid, Uid) {
    (fresh::uid(store).await, fresh::uid(store).await)
}

pub(crate) async fn the_default_fanout_state_is_push(store: Engine) {
    let (ada, bob) = two_accounts(&*store).await;
    assert_eq!(store.fanout_states(&[ada, Uid(i64::MAX)]).await.unwrap(), [FanoutState::default(); 2]);
    assert_eq!(store.fanout_states(&[]).await.unwrap(), []);
    assert_eq!(store.delivery_state(ada).await.unwrap(), DeliveryState::default());
    assert_eq!(pushed(&*store, bob).await, []);
}

pub(crate) async fn the_later_fanout_state_wins(store: Engine) {
    let steps = [(1, FanoutStage::Preparing), (2, FanoutStage::Pull), (3, FanoutStage::Reverted)]
        .map(|(version, stage)| FanoutState { version: Version(version), stage });
    for known in 1..=steps.len() {
        for order in every_order(&steps[..known]) {
            let uid = fresh::uid(&*store).await;
            for fanout_state in &order {
                store.put_fanout_state(uid, fanout_state).await.unwrap();
            }
            assert_eq!(store.fanout_states(&[uid]).await.unwrap(), [steps[known - 1]], "{order:?}");
        }
    }
}

pub(crate) async fn fanout_states_are_returned_in_request_order(store: Engine) {
    let (ada, bob) = two_accounts(&*store).await;
    let first = FanoutState { version: Version(1), stage: FanoutStage::Preparing };
    let second = FanoutState { version: Version(7), stage: FanoutStage::Pull };
    store.put_fanout_state(ada, &first).await.unwrap();
    store.put_fanout_state(bob, &second).await.unwrap();
    let found = store.fanout_states(&[bob, Uid(i64::MAX), ada, bob]).await.unwrap();
    assert_eq!(found, [second, FanoutState::default(), first, second]);
}

pub(crate) async fn pulled_actors_are_in_the_delivery_state(store: Engine) {
    let (ada, bob) = two_accounts(&*store).await;
    assert_eq!(assign_mode(&*store, (ada, bob), (1, 10), MANY).await, FanoutMode::Pull);
    assert_eq!(assign_mode(&*store, (ada, bob), (1, 10), MANY).await, FanoutMode::Pull, "repeated");
    assert_eq!(pulled(&*store, ada).await, [(bob, 10)]);
    assert_eq!(pushed(&*store, bob).await, []);
    assert_eq!(pulled(&*store, bob).await, [], "an edge has a direction");
    let mut expected = vec![(bob, 10)];
    for since in 11..15 {
        let followee = fresh::uid(&*store).await;
        assign_mode(&*store, (ada, followee), (1, since), MANY).await;
        expected.push((followee, since));
    }
    expected.sort();
    assert_eq!(pulled(&*store, ada).await, expected, "by number");
}

pub(crate) async fn followers_in_push_mode_are_listed_by_actor(store: Engine) {
    let (ada, bob) = two_accounts(&*store).await;
    assert_eq!(assign_mode(&*store, (ada, bob), (1, 10), 0).await, FanoutMode::Push);
    assert_eq!(pushed(&*store, bob).await, [(ada, 10)]);
    assert_eq!(pulled(&*store, ada).await, []);
    assert_eq!(pushed(&*store, ada).await, []);
}

pub(crate) async fn the_number_of_pulled_actors_is_limited(store: Engine) {
    let ada = fresh::uid(&*store).await;
    let ((one, two), (three, four)) = (two_accounts(&*store).await, two_accounts(&*store).await);
    assert_eq!(assign_mode(&*store, (ada, one), (1, 1), 2).await, FanoutMode::Pull);
    assert_eq!(assign_mode(&*store, (ada, two), (1, 2), 2).await, FanoutMode::Pull);
    assert_eq!(assign_mode(&*store, (ada, three), (1, 3), 2).await, FanoutMode::Push);
    let bob = fresh::uid(&*store).await;
    assert_eq!(
        assign_mode(&*store, (bob, three), (1, 1), 2).await,
        FanoutMode::Pull,
        "each follower has its own limit"
    );

    // An ended edge does not count.
    release_mode(&*store, (ada, one), 2).await;
    assert_eq!(assign_mode(&*store, (ada, three), (1, 3), 2).await, FanoutMode::Push, "the mode is assigned");
    assert_eq!(assign_mode(&*store, (ada, four), (1, 4), 2).await, FanoutMode::Pull);
    // The assigned mode stays, even above the limit.
    assert_eq!(assign_mode(&*store, (ada, one), (3, 5), 2).await, FanoutMode::Pull);
    let mut expected = [(one, 5), (two, 2), (four, 4)];
    expected.sort();
    assert_eq!(pulled(&*store, ada).await, expected);
    assert_eq!(pushed(&*store, three).await, [(ada, 3)]);
}

pub(crate) async fn of_concurrent_assignments_one_wins(store: Engine) {
    for round in 0..4 {
        let (ada, bob) = two_accounts(&*store).await;
        let calls = (0..20).map(|number| {
            let store = Arc::clone(&store);
            let max_pulled = if (number + round) % 2 == 0 { MANY } else { 0 };
            tokio::spawn(async move { assign_mode(&*store, (ada, bob), (1, 10), max_pulled).await })
        });
        let calls: Vec<_> = calls.collect();
        let mut modes = Vec::new();
        for call in calls {
            modes.push(call.await.unwrap());
        }
        let assigned = modes[0];
        assert_eq!(modes, [assigned; 20]);
        for max_pulled in [0, MANY] {
            assert_eq!(assign_mode(&*store, (ada, bob), (1, 10), max_pulled).await, assigned);
        }
        let listed = |is_listed: bool, uid| if is_listed { vec![(uid, 10)] } else { Vec::new() };
        assert_eq!(pulled(&*store, ada).await, listed(assigned == FanoutMode::Pull, bob));
        assert_eq!(pushed(&*store, bob).await, listed(assigned == FanoutMode::Push, ada));
    }
}

pub(crate) async fn an_ended_edge_is_not_listed(store: Engine) {
    for (max_pulled, mode) in [(MANY, FanoutMode::Pull), (0, FanoutMode::Push)] {
        let (ada, bob) = two_accounts(&*store).await;
        let edge = (ada, bob);
        let listed = async || {
            let (pulled, pushed) = (pulled(&*store, ada).await, pushed(&*store, bob).await);
            assert!(pulled.is_empty() || pushed.is_empty());
            pulled.into_iter().chain(pushed).map(|(_, since)| since).collect::<Vec<_>>()
        };
        release_mode(&*store, edge, 4).await;
        assert_eq!(listed().await, [0; 0], "no mode is assigned");
        assert_eq!(assign_mode(&*store, edge, (5, 10), max_pulled).await, mode);
        assert_eq!(listed().await, [10]);
        release_mode(&*store, edge, 4).await;
        assert_eq!(listed().await, [10], "an earlier version is ignored");
        release_mode(&*store, edge, 6).await;
        assert_eq!(listed().await, [0; 0]);
        assert_eq!(
            assign_mode(&*store, edge, (5, 99), max_pulled).await,
            mode,
            "an earlier edge, the mode is assigned"
        );
        assert_eq!(listed().await, [0; 0]);
        // The assigned mode stays, regardless of the maximum.
        assert_eq!(assign_mode(&*store, edge, (7, 3), MANY - max_pulled).await, mode);
        assert_eq!(listed().await, [3]);
        release_mode(&*store, edge, 6).await;
        assert_eq!(listed().await, [3]);
    }
}

pub(crate) async fn the_order_of_assignments_does_not_matter(store: Engine) {
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Assign(i64, u64),
        Release(i64),
    }
    let steps = [Step::Assign(1, 8), Step::Release(2), Step::Assign(3, 6), Step::Assign(3, 4)];
    let ended = [Step::Assign(1, 8), Step::Assign(3, 6), Step::Release(4)];
    let orders = every_order(&steps).into_iter().map(|order| (order, Some(6)));
    let orders = orders.chain(every_order(&ended).into_iter().map(|order| (order, None)));
    for (max_pulled, (order, since)) in [0, MANY].into_iter().cycle().zip(orders) {
        let (ada, bob) = two_accounts(&*store).await;
        assign_mode(&*store, (ada, bob), (1, 5), max_pulled).await;
        for step in &order {
            match *step {
                Step::Assign(version, since) => {
                    assign_mode(&*store, (ada, bob), (version, since), MANY).await;
                }
                Step::Release(version) => release_mode(&*store, (ada, bob), version).await,
            }
        }
        let expected = |uid| since.map(|since| (uid, since)).into_iter().collect::<Vec<_>>();
        if max_pulled == 0 {
            assert_eq!(pushed(&*store, bob).await, expected(ada), "{order:?}");
        } else {
            assert_eq!(pulled(&*store, ada).await, expected(bob), "{order:?}");
        }
    }
}

pub(crate) async fn pushed_followers_are_paged(store: Engine) {
    let bob = fresh::uid(&*store).await;
    let mut expected = Vec::new();
    for number in 0..25 {
        let follower = fresh::uid(&*store).await;
        let max_pulled = if number % 5 == 1 { MANY } else { 0 };
        assign_mode(&*store, (follower, bob), (1, number), max_pulled).await;
        match number % 5 {
            0 => release_mode(&*store, (follower, bob), 2).await,
            1 => {}
            _ => expected.push((follower, Position(number))),
        }
    }
    expected.sort();
    for limit in [1, 5, 15, 100] {
        let mut all: Vec<(Uid, Position)> = Vec::new();
        loop {
            let after = all.last().map(|(uid, _)| *uid);
            let page = store.pushed_followers(bob, after, limit).await.unwrap();
            assert!(page.len() <= limit);
            let full = page.len() == limit;
            all.extend(page);
            if !full {
                break;
            }
        }
        assert_eq!(all, expected, "{limit}");
    }
}

//! Who is pulled, and by which mode what they do comes to each of their followers.

use super::{Engine, fresh};
use fresh::every_order;
use model::{DeliveryState, FanoutMode, FanoutStage, FanoutState, Position, Uid, Version};
use std::sync::Arc;
use store::Store;

/// More than anybody here pulls from.
const MANY: usize = 200;

async fn assign_mode(
    store: &dyn Store,
    (follower, followee): (Uid, Uid),
    (version, since): (i64, u64),
    most: usize,
) -> FanoutMode {
    store.assign_mode(follower, followee, Position(since), Version(version), most).await.unwrap()
}

async fn release_mode(store: &dyn Store, (follower, followee): (Uid, Uid), version: i64) {
    store.release_mode(follower, followee, Version(version)).await.unwrap();
}

async fn pulled(store: &dyn Store, follower: Uid) -> Vec<(Uid, u64)> {
    let reading = store.delivery_state(follower).await.unwrap();
    reading.pulled.into_iter().map(|(uid, since)| (uid, since.0)).collect()
}

async fn pushed(store: &dyn Store, followee: Uid) -> Vec<(Uid, u64)> {
    let all = store.pushed_followers(followee, None, 1_000).await.unwrap();
    all.into_iter().map(|(uid, since)| (uid, since.0)).collect()
}

async fn two(store: &dyn Store) -> (Uid, Uid) {
    (fresh::uid(store).await, fresh::uid(store).await)
}

pub(crate) async fn nobody_is_pulled_at_first(store: Engine) {
    let (ada, bob) = two(&*store).await;
    assert_eq!(store.fanout_states(&[ada, Uid(i64::MAX)]).await.unwrap(), [FanoutState::default(); 2]);
    assert_eq!(store.fanout_states(&[]).await.unwrap(), []);
    assert_eq!(store.delivery_state(ada).await.unwrap(), DeliveryState::default());
    assert_eq!(pushed(&*store, bob).await, []);
}

pub(crate) async fn the_later_audience_stays(store: Engine) {
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

pub(crate) async fn audiences_line_up(store: Engine) {
    let (ada, bob) = two(&*store).await;
    let one = FanoutState { version: Version(1), stage: FanoutStage::Preparing };
    let other = FanoutState { version: Version(7), stage: FanoutStage::Pull };
    store.put_fanout_state(ada, &one).await.unwrap();
    store.put_fanout_state(bob, &other).await.unwrap();
    let found = store.fanout_states(&[bob, Uid(i64::MAX), ada, bob]).await.unwrap();
    assert_eq!(found, [other, FanoutState::default(), one, other]);
}

pub(crate) async fn what_is_pulled_is_told_to_the_reader(store: Engine) {
    let (ada, bob) = two(&*store).await;
    assert_eq!(assign_mode(&*store, (ada, bob), (1, 10), MANY).await, FanoutMode::Pull);
    assert_eq!(assign_mode(&*store, (ada, bob), (1, 10), MANY).await, FanoutMode::Pull, "said again");
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

pub(crate) async fn what_is_pushed_nevertheless_is_told_to_the_actor(store: Engine) {
    let (ada, bob) = two(&*store).await;
    assert_eq!(assign_mode(&*store, (ada, bob), (1, 10), 0).await, FanoutMode::Push);
    assert_eq!(pushed(&*store, bob).await, [(ada, 10)]);
    assert_eq!(pulled(&*store, ada).await, []);
    assert_eq!(pushed(&*store, ada).await, []);
}

pub(crate) async fn a_follower_pulls_from_so_many_at_most(store: Engine) {
    let ada = fresh::uid(&*store).await;
    let ((one, two), (three, four)) = (two(&*store).await, two(&*store).await);
    assert_eq!(assign_mode(&*store, (ada, one), (1, 1), 2).await, FanoutMode::Pull);
    assert_eq!(assign_mode(&*store, (ada, two), (1, 2), 2).await, FanoutMode::Pull);
    assert_eq!(assign_mode(&*store, (ada, three), (1, 3), 2).await, FanoutMode::Push);
    let bob = fresh::uid(&*store).await;
    assert_eq!(assign_mode(&*store, (bob, three), (1, 1), 2).await, FanoutMode::Pull, "each counts its own");

    // Who is not followed any more does not count.
    release_mode(&*store, (ada, one), 2).await;
    assert_eq!(assign_mode(&*store, (ada, three), (1, 3), 2).await, FanoutMode::Push, "it was decided");
    assert_eq!(assign_mode(&*store, (ada, four), (1, 4), 2).await, FanoutMode::Pull);
    // What was decided stays decided, also above the limit.
    assert_eq!(assign_mode(&*store, (ada, one), (3, 5), 2).await, FanoutMode::Pull);
    let mut expected = [(one, 5), (two, 2), (four, 4)];
    expected.sort();
    assert_eq!(pulled(&*store, ada).await, expected);
    assert_eq!(pushed(&*store, three).await, [(ada, 3)]);
}

pub(crate) async fn of_many_choices_one_counts(store: Engine) {
    for round in 0..4 {
        let (ada, bob) = two(&*store).await;
        let calls = (0..20).map(|number| {
            let store = Arc::clone(&store);
            let most = if (number + round) % 2 == 0 { MANY } else { 0 };
            tokio::spawn(async move { assign_mode(&*store, (ada, bob), (1, 10), most).await })
        });
        let calls: Vec<_> = calls.collect();
        let mut given = Vec::new();
        for call in calls {
            given.push(call.await.unwrap());
        }
        let decided = given[0];
        assert_eq!(given, [decided; 20]);
        for most in [0, MANY] {
            assert_eq!(assign_mode(&*store, (ada, bob), (1, 10), most).await, decided);
        }
        let told = |is: bool, uid| if is { vec![(uid, 10)] } else { Vec::new() };
        assert_eq!(pulled(&*store, ada).await, told(decided == FanoutMode::Pull, bob));
        assert_eq!(pushed(&*store, bob).await, told(decided == FanoutMode::Push, ada));
    }
}

pub(crate) async fn an_edge_that_ended_is_not_told_of(store: Engine) {
    for (most, mode) in [(MANY, FanoutMode::Pull), (0, FanoutMode::Push)] {
        let (ada, bob) = two(&*store).await;
        let edge = (ada, bob);
        let told = async || {
            let (pulled, pushed) = (pulled(&*store, ada).await, pushed(&*store, bob).await);
            assert!(pulled.is_empty() || pushed.is_empty());
            pulled.into_iter().chain(pushed).map(|(_, since)| since).collect::<Vec<_>>()
        };
        release_mode(&*store, edge, 4).await;
        assert_eq!(told().await, [0; 0], "nothing was decided");
        assert_eq!(assign_mode(&*store, edge, (5, 10), most).await, mode);
        assert_eq!(told().await, [10]);
        release_mode(&*store, edge, 4).await;
        assert_eq!(told().await, [10], "an earlier edge had ended");
        release_mode(&*store, edge, 6).await;
        assert_eq!(told().await, [0; 0]);
        assert_eq!(assign_mode(&*store, edge, (5, 99), most).await, mode, "late, and decided");
        assert_eq!(told().await, [0; 0]);
        // By the same mode as ever, whatever is the most now.
        assert_eq!(assign_mode(&*store, edge, (7, 3), MANY - most).await, mode);
        assert_eq!(told().await, [3]);
        release_mode(&*store, edge, 6).await;
        assert_eq!(told().await, [3]);
    }
}

pub(crate) async fn the_order_of_choices_does_not_matter(store: Engine) {
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Choose(i64, u64),
        Unchoose(i64),
    }
    let steps = [Step::Choose(1, 8), Step::Unchoose(2), Step::Choose(3, 6), Step::Choose(3, 4)];
    let ended = [Step::Choose(1, 8), Step::Choose(3, 6), Step::Unchoose(4)];
    let orders = every_order(&steps).into_iter().map(|order| (order, Some(6)));
    let orders = orders.chain(every_order(&ended).into_iter().map(|order| (order, None)));
    for (most, (order, since)) in [0, MANY].into_iter().cycle().zip(orders) {
        let (ada, bob) = two(&*store).await;
        assign_mode(&*store, (ada, bob), (1, 5), most).await;
        for step in &order {
            match *step {
                Step::Choose(version, since) => {
                    assign_mode(&*store, (ada, bob), (version, since), MANY).await;
                }
                Step::Unchoose(version) => release_mode(&*store, (ada, bob), version).await,
            }
        }
        let expected = |uid| since.map(|since| (uid, since)).into_iter().collect::<Vec<_>>();
        if most == 0 {
            assert_eq!(pushed(&*store, bob).await, expected(ada), "{order:?}");
        } else {
            assert_eq!(pulled(&*store, ada).await, expected(bob), "{order:?}");
        }
    }
}

pub(crate) async fn pushed_followers_page(store: Engine) {
    let bob = fresh::uid(&*store).await;
    let mut expected = Vec::new();
    for number in 0..25 {
        let follower = fresh::uid(&*store).await;
        let most = if number % 5 == 1 { MANY } else { 0 };
        assign_mode(&*store, (follower, bob), (1, number), most).await;
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

//! Failing tasks: the worker retries them with growing pauses, turns them into dead letters in the end, and never
//! blocks other tasks.

use super::clients::Sort;
use super::ground::{FIRST, Ground};
use super::sequence::{Looker, Stage};
use super::steps::{Deed, Step};
use model::{Collection, Filter, Order, Visibility};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use store::faulty::Fault;
use tofrom::fanout::{Rules, deliver_pending};

const ANN: usize = 0;
const BOB: usize = 1;
const CORA: usize = 2;

/// Attempts before a task becomes a dead letter.
const ATTEMPTS: usize = 10;
/// The longest pause between two attempts, in milliseconds.
const LONGEST_PAUSE: i64 = 5 * 60 * 1_000;

/// Three accounts; Bob polls his `to`, Cora her `from`.
async fn stage(ground: &Ground) -> Stage<'_> {
    let looker = |owner, collection| Looker {
        sort: Sort::Poller,
        reader: owner,
        owner,
        collection,
        order: Order::Received,
        filter: Filter::default(),
    };
    let lookers = [looker(BOB, Collection::To), looker(CORA, Collection::From)];
    let mut stage = Stage::new(ground, FIRST, &[true; 3], &lookers).await;
    look(&mut stage).await;
    stage
}

/// Both clients read; returns the number of items each was shown so far.
async fn look(stage: &mut Stage<'_>) -> (usize, usize) {
    for client in 0..2 {
        stage.look(client, 10, true, None).await.unwrap();
    }
    let shown = |client: usize| stage.clients[client].shown.values().sum();
    (shown(0), shown(1))
}

async fn write(stage: &mut Stage<'_>, who: usize, address: usize, to: &[usize]) {
    let deed = Deed::Write { address, title: 0, to: Some(to.to_vec()), visibility: Some(Visibility::Public) };
    let step = Step::Person { who, deed, trouble: None, again: false };
    stage.step(&step).await.unwrap();
}

/// From now on every delivery fails. A task without recipients needs no delivery. Returns the number of attempts.
fn break_deliveries(ground: &Ground) -> Arc<AtomicUsize> {
    let attempts = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&attempts);
    ground.worker.plan(move |call| {
        (call.name == "deliver").then(|| {
            count.fetch_add(1, Ordering::Relaxed);
            Fault::Before
        })
    });
    attempts
}

async fn work(ground: &Ground) -> usize {
    deliver_pending(ground.worker.as_ref(), &ground.clock, &Rules::default()).await.unwrap()
}

/// Works until the failing task is tried again; returns the elapsed time, exact to the millisecond if it equals
/// `expected`.
async fn pause(ground: &Ground, attempts: &AtomicUsize, expected: Option<i64>) -> i64 {
    let (before, began) = (attempts.load(Ordering::Relaxed), ground.now().0);
    ground.pass(expected.map_or(0, |millis| millis - 1));
    while attempts.load(Ordering::Relaxed) == before {
        ground.pass(1);
        assert!(ground.now().0 - began <= LONGEST_PAUSE, "it is never tried again");
        work(ground).await;
    }
    ground.now().0 - began
}

#[tokio::test]
async fn a_failing_task_becomes_a_dead_letter_and_can_be_replayed() {
    let ground = Ground::new();
    let mut stage = stage(&ground).await;
    let attempts = break_deliveries(&ground);
    write(&mut stage, ANN, 0, &[BOB]).await;
    work(&ground).await;
    let mut pauses: Vec<i64> = Vec::new();
    for number in 1..ATTEMPTS {
        assert_eq!(attempts.load(Ordering::Relaxed), number);
        assert!(ground.store.dead_letters(None, 10).await.unwrap().is_empty());
        write(&mut stage, CORA, number, &[]).await;
        assert_eq!(work(&ground).await, 1, "Cora's is done");
        assert_eq!(look(&mut stage).await, (0, number), "nobody waits for the one that fails");
        let expected = pauses.last().map(|last| (last * 2).min(LONGEST_PAUSE));
        pauses.push(pause(&ground, &attempts, expected).await);
    }
    let grows = |pair: &[i64]| pair[0] < pair[1] || pair[1] == LONGEST_PAUSE;
    assert!(pauses[0] >= 100 && pauses.windows(2).all(grows), "{pauses:?}");

    assert_eq!(attempts.load(Ordering::Relaxed), ATTEMPTS);
    let letters = ground.store.dead_letters(None, 10).await.unwrap();
    let given_up = u32::try_from(ATTEMPTS).unwrap();
    assert_eq!((letters.len(), letters[0].attempts, letters[0].at), (1, given_up, ground.now()));
    assert!(letters[0].why.contains("deliver"), "{}", letters[0].why);
    ground.worker.calm();
    ground.pass(LONGEST_PAUSE);
    assert_eq!(work(&ground).await, 0, "what was given up is not tried by itself");
    assert_eq!(look(&mut stage).await.0, 0);

    assert!(ground.store.replay(letters[0].number).await.unwrap());
    assert!(!ground.store.replay(letters[0].number).await.unwrap());
    assert_eq!(work(&ground).await, 1);
    assert_eq!(look(&mut stage).await.0, 1, "Bob has it, once");
}

#[tokio::test]
async fn a_task_waiting_for_its_retry_does_not_block_later_tasks() {
    let ground = Ground::new();
    let mut stage = stage(&ground).await;
    break_deliveries(&ground);
    write(&mut stage, ANN, 0, &[BOB]).await;
    work(&ground).await;
    ground.worker.calm();
    write(&mut stage, CORA, 0, &[BOB]).await;
    assert_eq!(work(&ground).await, 1);
    assert_eq!(look(&mut stage).await, (1, 1), "the later one is there");
    ground.pass(LONGEST_PAUSE);
    assert_eq!(work(&ground).await, 1);
    assert_eq!(look(&mut stage).await, (2, 1), "and so is the other when its time has come");
}

/// More tasks than a worker takes in one batch.
#[tokio::test]
async fn many_tasks_waiting_for_their_retry_do_not_block_later_tasks() {
    const MANY: usize = 300;
    let ground = Ground::new();
    let mut stage = stage(&ground).await;
    let attempts = break_deliveries(&ground);
    for address in 0..MANY {
        write(&mut stage, ANN, address, &[BOB]).await;
    }
    while attempts.load(Ordering::Relaxed) < MANY {
        work(&ground).await;
    }
    ground.worker.calm();
    write(&mut stage, CORA, 0, &[BOB]).await;
    work(&ground).await;
    assert_eq!(look(&mut stage).await, (1, 1), "the one that is due is there");
    ground.pass(LONGEST_PAUSE);
    while work(&ground).await > 0 {}
    assert_eq!(look(&mut stage).await, (MANY + 1, 1));
}

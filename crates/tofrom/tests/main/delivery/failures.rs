//! Failing tasks: the worker retries them with growing pauses, turns them into dead letters in the end, and never
//! blocks other tasks.

use super::clients::ClientKind;
use super::sequence::{ClientSpec, Harness};
use super::steps::{Action, Step};
use super::test_bed::{FIRST, TestBed};
use domain::fanout::{Rules, deliver_pending};
use model::{Collection, Filter, Order, Visibility};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use store::faulty::Fault;

const ANN: usize = 0;
const BOB: usize = 1;
const CORA: usize = 2;

/// Attempts before a task becomes a dead letter.
const ATTEMPTS: usize = 10;
/// The longest pause between two attempts, in milliseconds.
const LONGEST_PAUSE: i64 = 5 * 60 * 1_000;

/// Three accounts; Bob polls his `to`, Cora her `from`.
async fn harness(bed: &TestBed) -> Harness<'_> {
    let spec = |owner, collection| ClientSpec {
        kind: ClientKind::Poller,
        reader: owner,
        owner,
        collection,
        order: Order::Received,
        filter: Filter::default(),
    };
    let specs = [spec(BOB, Collection::To), spec(CORA, Collection::From)];
    let mut harness = Harness::new(bed, FIRST, &[true; 3], &specs).await;
    read(&mut harness).await;
    harness
}

/// Both clients read; returns the number of items each was shown so far.
async fn read(harness: &mut Harness<'_>) -> (usize, usize) {
    for client in 0..2 {
        harness.read(client, 10, true, None).await.unwrap();
    }
    let shown = |client: usize| harness.clients[client].shown.values().sum();
    (shown(0), shown(1))
}

async fn write(harness: &mut Harness<'_>, account: usize, address: usize, to: &[usize]) {
    let action =
        Action::Write { address, title: 0, to: Some(to.to_vec()), visibility: Some(Visibility::Public) };
    let step = Step::Act { account, action, fault: None, retry: false };
    harness.step(&step).await.unwrap();
}

/// From now on every delivery fails. A task without recipients needs no delivery. Returns the number of attempts.
fn break_deliveries(bed: &TestBed) -> Arc<AtomicUsize> {
    let attempts = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&attempts);
    bed.worker.plan(move |call| {
        (call.name == "deliver").then(|| {
            count.fetch_add(1, Ordering::Relaxed);
            Fault::Before
        })
    });
    attempts
}

async fn work(bed: &TestBed) -> usize {
    deliver_pending(bed.worker.as_ref(), &bed.clock, &Rules::default()).await.unwrap()
}

/// Works until the failing task is tried again; returns the elapsed time, exact to the millisecond if it equals
/// `expected`.
async fn pause(bed: &TestBed, attempts: &AtomicUsize, expected: Option<i64>) -> i64 {
    let (before, began) = (attempts.load(Ordering::Relaxed), bed.now().0);
    bed.advance(expected.map_or(0, |millis| millis - 1));
    while attempts.load(Ordering::Relaxed) == before {
        bed.advance(1);
        assert!(bed.now().0 - began <= LONGEST_PAUSE, "the task was not retried");
        work(bed).await;
    }
    bed.now().0 - began
}

#[tokio::test]
async fn a_failing_task_becomes_a_dead_letter_and_can_be_replayed() {
    let bed = TestBed::new();
    let mut harness = harness(&bed).await;
    let attempts = break_deliveries(&bed);
    write(&mut harness, ANN, 0, &[BOB]).await;
    work(&bed).await;
    let mut pauses: Vec<i64> = Vec::new();
    for number in 1..ATTEMPTS {
        assert_eq!(attempts.load(Ordering::Relaxed), number);
        assert!(bed.store.dead_letters(None, 10).await.unwrap().is_empty());
        write(&mut harness, CORA, number, &[]).await;
        assert_eq!(work(&bed).await, 1, "Cora's task is executed");
        assert_eq!(read(&mut harness).await, (0, number), "the failing task blocks no other");
        let expected = pauses.last().map(|last| (last * 2).min(LONGEST_PAUSE));
        pauses.push(pause(&bed, &attempts, expected).await);
    }
    let grows = |pair: &[i64]| pair[0] < pair[1] || pair[1] == LONGEST_PAUSE;
    assert!(pauses[0] >= 100 && pauses.windows(2).all(grows), "{pauses:?}");

    assert_eq!(attempts.load(Ordering::Relaxed), ATTEMPTS);
    let letters = bed.store.dead_letters(None, 10).await.unwrap();
    let given_up = u32::try_from(ATTEMPTS).unwrap();
    assert_eq!((letters.len(), letters[0].attempts, letters[0].at), (1, given_up, bed.now()));
    assert!(letters[0].error.contains("deliver"), "{}", letters[0].error);
    bed.worker.calm();
    bed.advance(LONGEST_PAUSE);
    assert_eq!(work(&bed).await, 0, "a dead letter is not retried by itself");
    assert_eq!(read(&mut harness).await.0, 0);

    assert!(bed.store.replay(letters[0].number).await.unwrap());
    assert!(!bed.store.replay(letters[0].number).await.unwrap());
    assert_eq!(work(&bed).await, 1);
    assert_eq!(read(&mut harness).await.0, 1, "Bob was shown it once");
}

#[tokio::test]
async fn a_task_waiting_for_its_retry_does_not_block_later_tasks() {
    let bed = TestBed::new();
    let mut harness = harness(&bed).await;
    break_deliveries(&bed);
    write(&mut harness, ANN, 0, &[BOB]).await;
    work(&bed).await;
    bed.worker.calm();
    write(&mut harness, CORA, 0, &[BOB]).await;
    assert_eq!(work(&bed).await, 1);
    assert_eq!(read(&mut harness).await, (1, 1), "the later activity was delivered");
    bed.advance(LONGEST_PAUSE);
    assert_eq!(work(&bed).await, 1);
    assert_eq!(read(&mut harness).await, (2, 1), "the retried activity was delivered");
}

/// More tasks than a worker takes in one batch.
#[tokio::test]
async fn many_tasks_waiting_for_their_retry_do_not_block_later_tasks() {
    const MANY: usize = 300;
    let bed = TestBed::new();
    let mut harness = harness(&bed).await;
    let attempts = break_deliveries(&bed);
    for address in 0..MANY {
        write(&mut harness, ANN, address, &[BOB]).await;
    }
    while attempts.load(Ordering::Relaxed) < MANY {
        work(&bed).await;
    }
    bed.worker.calm();
    write(&mut harness, CORA, 0, &[BOB]).await;
    work(&bed).await;
    assert_eq!(read(&mut harness).await, (1, 1), "the due task was executed");
    bed.advance(LONGEST_PAUSE);
    while work(&bed).await > 0 {}
    assert_eq!(read(&mut harness).await, (MANY + 1, 1));
}

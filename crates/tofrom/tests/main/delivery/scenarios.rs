//! Sequences that once failed, each as short as possible, and a crash at every boundary of a delivery.

use super::clients::ClientKind;
use super::sequence::{ClientSpec, Sequence};
use super::steps::{Action, InjectedFault, Pick, Step};
use super::test_bed::{FIRST, TestBed};
use domain::fanout::Rules;
use model::Visibility::{self, Direct, Followers, Public};
use model::{Collection, Filter, Order};
use store::faulty::Fault;

const ANN: usize = 0;
const BOB: usize = 1;
const CORA: usize = 2;

/// Runs the steps with three accounts, all public except `private`.
async fn holds(private: &[usize], specs: Vec<ClientSpec>, steps: Vec<Step>) {
    // Every scenario holds in push mode and in pull mode.
    for pull_above in [None, Some(0)] {
        let initially_public = (0..3).map(|account| !private.contains(&account)).collect();
        let (specs, steps) = (specs.clone(), steps.clone());
        let rules = Rules { pull_above, ..Rules::default() };
        let sequence =
            Sequence { seed: 0, first: FIRST, initially_public, specs, steps, rules, caches: false };
        if let Err(violation) = sequence.run(&TestBed::new()).await {
            panic!("{rules:?}: {violation}");
        }
    }
}

fn spec(kind: ClientKind, reader: usize, owner: usize, collection: Collection) -> ClientSpec {
    ClientSpec { kind, reader, owner, collection, order: Order::Received, filter: Filter::default() }
}

fn poller(reader: usize, owner: usize) -> Vec<ClientSpec> {
    vec![spec(ClientKind::Poller, reader, owner, Collection::ToFrom)]
}

fn stream(reader: usize, owner: usize) -> Vec<ClientSpec> {
    vec![spec(ClientKind::Stream, reader, owner, Collection::ToFrom)]
}

fn act(account: usize, action: Action) -> Step {
    Step::Act { account, action, fault: None, retry: false }
}

/// Writes to the first address; another title makes another version.
fn write(account: usize, title: usize, to: &[usize], visibility: Visibility) -> Step {
    act(account, Action::Write { address: 0, title, to: Some(to.to_vec()), visibility: Some(visibility) })
}

fn follow(account: usize, followee: usize) -> Step {
    act(account, Action::Follow { followee })
}

fn unfollow(account: usize, followee: usize) -> Step {
    act(account, Action::Unfollow { followee })
}

/// The first client reads.
fn read() -> Step {
    Step::Read { client: 0, size: 10, whole: true, fault: None }
}

/// A worker takes the `n`th waiting task.
fn take(nth: usize) -> Step {
    Step::Work { picks: vec![Pick::Waiting(nth)], faults: Vec::new() }
}

#[tokio::test]
async fn an_addressed_activity_does_not_arrive_again_after_a_follow() {
    let steps = vec![read(), write(BOB, 0, &[ANN], Public), Step::WorkAll, read(), follow(ANN, BOB)];
    holds(&[], poller(ANN, ANN), steps).await;
    let refollow = vec![
        follow(ANN, BOB),
        write(BOB, 0, &[ANN], Public),
        Step::WorkAll,
        read(),
        unfollow(ANN, BOB),
        follow(ANN, BOB),
    ];
    holds(&[], poller(ANN, ANN), refollow).await;
}

#[tokio::test]
async fn an_edit_right_after_a_removal_does_not_hide_the_removal() {
    let steps = vec![
        write(BOB, 0, &[ANN], Public),
        Step::WorkAll,
        read(),
        act(ANN, Action::RemoveFromTo { nth: 0 }),
        write(BOB, 1, &[ANN], Public),
    ];
    holds(&[], stream(ANN, ANN), steps).await;
}

#[tokio::test]
async fn a_version_hidden_from_a_reader_retracts_the_previous_one() {
    for (to, visibility) in [(vec![], Followers), (vec![ANN], Direct)] {
        let steps = vec![
            follow(ANN, BOB),
            write(BOB, 0, &[], Public),
            Step::WorkAll,
            read(),
            write(BOB, 1, &to, visibility),
        ];
        holds(&[], stream(CORA, ANN), steps.clone()).await;
        holds(&[], stream(CORA, BOB), steps).await;
    }
}

/// A stream may skip versions between two reads.
#[tokio::test]
async fn a_version_seen_several_versions_ago_is_retracted() {
    let steps = vec![
        follow(ANN, BOB),
        write(BOB, 0, &[], Public),
        Step::WorkAll,
        read(),
        write(BOB, 1, &[], Followers),
        Step::WorkAll,
        write(BOB, 2, &[ANN], Direct),
        Step::WorkAll,
    ];
    holds(&[], stream(CORA, ANN), steps).await;
}

#[tokio::test]
async fn a_former_recipient_without_other_access_gets_a_retraction() {
    let steps = vec![
        follow(ANN, BOB),
        write(BOB, 0, &[CORA], Public),
        Step::WorkAll,
        read(),
        write(BOB, 1, &[], Public),
    ];
    holds(&[BOB], stream(CORA, ANN), steps).await;
}

#[tokio::test]
async fn an_actor_who_no_longer_addresses_themselves_gets_a_retraction() {
    let own = vec![spec(ClientKind::Stream, ANN, ANN, Collection::To)];
    let steps = vec![write(ANN, 0, &[ANN], Public), Step::WorkAll, read(), write(ANN, 1, &[BOB], Public)];
    holds(&[], own, steps).await;
}

#[tokio::test]
async fn activities_of_an_account_that_becomes_private_or_is_removed_are_retracted_for_recipients() {
    for action in [Action::Public(false), Action::RemoveAccount] {
        let steps = vec![write(BOB, 0, &[ANN], Public), Step::WorkAll, read(), act(BOB, action)];
        holds(&[], stream(CORA, ANN), steps.clone()).await;
        holds(&[], stream(ANN, ANN), steps).await;
    }
}

/// Whether the node that made the change crashes or not.
#[tokio::test]
async fn an_applied_account_change_reaches_streams() {
    for call in 0..3 {
        for (fault, retry) in
            [(Fault::CrashBefore, true), (Fault::CrashAfter, false), (Fault::CrashAfter, true)]
        {
            let steps = vec![
                follow(ANN, BOB),
                write(BOB, 0, &[], Public),
                Step::WorkAll,
                read(),
                Step::Act {
                    account: BOB,
                    action: Action::Public(false),
                    fault: Some(InjectedFault { call, fault }),
                    retry,
                },
            ];
            holds(&[], stream(CORA, ANN), steps).await;
        }
    }
}

/// The task of the hidden version fails and is appended to the log again, after the edge.
#[tokio::test]
async fn a_new_follower_gets_no_retraction_of_activities_hidden_before() {
    let fails = InjectedFault { call: 1, fault: Fault::Before };
    let steps = vec![
        follow(CORA, BOB),
        write(BOB, 0, &[], Public),
        Step::WorkAll,
        read(),
        write(BOB, 1, &[], Direct),
        follow(ANN, BOB),
        Step::Work { picks: vec![Pick::Waiting(0)], faults: vec![fails] },
    ];
    holds(&[], stream(ANN, ANN), steps.clone()).await;
    // Older than the edge, and for followers only: the backfill leaves it out.
    let steps = vec![read(), write(BOB, 0, &[], Public), write(BOB, 1, &[], Followers), follow(ANN, BOB)];
    holds(&[], stream(ANN, ANN), steps).await;
}

/// A delayed worker executes a task that another worker finished long ago; its retraction is older than the stored one.
#[tokio::test]
async fn a_late_worker_does_not_move_an_arrival_back() {
    let steps = vec![
        follow(ANN, BOB),
        write(BOB, 0, &[], Public),
        Step::WorkAll,
        write(BOB, 1, &[], Direct),
        take(0),
        write(BOB, 2, &[], Public),
        Step::WorkAll,
        read(),
        write(BOB, 0, &[], Direct),
        Step::WorkAll,
        write(BOB, 1, &[], Direct),
        Step::WorkAll,
        Step::Work { picks: vec![Pick::Repeat(0)], faults: Vec::new() },
    ];
    holds(&[], stream(ANN, ANN), steps).await;
}

/// A page shows an activity of Bob that was delivered before Cora's earlier one: it has not certainly arrived.
fn shown_early() -> Vec<Step> {
    vec![
        follow(ANN, BOB),
        Step::WorkAll,
        write(CORA, 0, &[], Public),
        write(BOB, 0, &[], Public),
        take(1),
        read(),
    ]
}

/// A page shows an activity before it has certainly arrived, and remembers that. The memory must end when the activity
/// arrives, even if it does not belong to the collection at that moment.
#[tokio::test]
async fn an_activity_shown_early_arrives_again_after_a_refollow() {
    let refollow = vec![unfollow(ANN, BOB), Step::WorkAll, read(), follow(ANN, BOB)];
    holds(&[], stream(ANN, ANN), [shown_early(), refollow].concat()).await;
}

/// The arrival that the page showed early is read only after a refollow, whose backfill is still pending. It is not the
/// backfill.
#[tokio::test]
async fn an_activity_shown_early_does_not_arrive_again_before_the_backfill_of_a_refollow() {
    let reads = [stream(CORA, ANN), poller(ANN, ANN)];
    let dormant = vec![
        follow(ANN, BOB),
        Step::MarkDormant { account: ANN, fault: None },
        write(BOB, 0, &[], Public),
        read(),
        Step::WorkAll,
        unfollow(ANN, BOB),
        follow(ANN, BOB),
        read(),
    ];
    let early = [shown_early(), vec![take(0), unfollow(ANN, BOB), follow(ANN, BOB), read()]].concat();
    for specs in reads {
        holds(&[], specs.clone(), dormant.clone()).await;
        holds(&[], specs, early.clone()).await;
    }
}

/// A worker may crash before and after each call of a delivery.
#[tokio::test]
async fn delivery_survives_a_crash_at_every_boundary() {
    let bed = TestBed::new();
    for call in 0..60 {
        for fault in [Fault::CrashBefore, Fault::CrashAfter] {
            let crash = |picks| Step::Work { picks, faults: vec![InjectedFault { call, fault }] };
            let steps = vec![
                follow(ANN, BOB),
                read(),
                write(BOB, 0, &[CORA], Public),
                Step::WorkAll,
                read(),
                write(BOB, 1, &[ANN], Direct),
                follow(CORA, BOB),
                act(CORA, Action::RemoveFromTo { nth: 0 }),
                unfollow(ANN, BOB),
                act(BOB, Action::Public(false)),
                follow(ANN, BOB),
                act(BOB, Action::Delete { address: 0 }),
                crash(vec![Pick::Waiting(0); 8]),
                read(),
                crash(vec![Pick::Waiting(7); 8]),
            ];
            let specs = [poller(ANN, ANN), stream(ANN, ANN), stream(CORA, ANN), stream(CORA, CORA)].concat();
            let (initially_public, rules) = (vec![true; 3], Rules::default());
            let sequence =
                Sequence { seed: 0, first: FIRST, initially_public, specs, steps, rules, caches: false };
            if let Err(violation) = sequence.run(&bed).await {
                panic!("{fault:?} at call {call}: {violation}");
            }
        }
    }
}

//! Sequences that once failed, each as short as possible, and a crash at every boundary of a delivery.

use super::clients::Sort;
use super::ground::{FIRST, Ground};
use super::sequence::{Looker, Sequence};
use super::steps::{Deed, Pick, Step, Trouble};
use model::Visibility::{self, Direct, Followers, Public};
use model::{Collection, Filter, Order};
use store::faulty::Fault;
use tofrom::fanout::Rules;

const ANN: usize = 0;
const BOB: usize = 1;
const CORA: usize = 2;

/// Runs the steps with three accounts, all public except `private`.
async fn holds(private: &[usize], lookers: Vec<Looker>, steps: Vec<Step>) {
    // Every scenario holds in push mode and in pull mode.
    for pull_above in [None, Some(0)] {
        let people = (0..3).map(|who| !private.contains(&who)).collect();
        let (lookers, steps) = (lookers.clone(), steps.clone());
        let rules = Rules { pull_above, ..Rules::default() };
        let sequence = Sequence { seed: 0, first: FIRST, people, lookers, steps, rules };
        if let Err(broken) = sequence.run(&Ground::new()).await {
            panic!("{rules:?}: {broken}");
        }
    }
}

fn looker(sort: Sort, reader: usize, owner: usize, collection: Collection) -> Looker {
    Looker { sort, reader, owner, collection, order: Order::Received, filter: Filter::default() }
}

fn poller(reader: usize, owner: usize) -> Vec<Looker> {
    vec![looker(Sort::Poller, reader, owner, Collection::ToFrom)]
}

fn stream(reader: usize, owner: usize) -> Vec<Looker> {
    vec![looker(Sort::Stream, reader, owner, Collection::ToFrom)]
}

fn person(who: usize, deed: Deed) -> Step {
    Step::Person { who, deed, trouble: None, again: false }
}

/// Writes to the first address; another title makes another version.
fn write(who: usize, title: usize, to: &[usize], visibility: Visibility) -> Step {
    person(who, Deed::Write { address: 0, title, to: Some(to.to_vec()), visibility: Some(visibility) })
}

fn follow(who: usize, whom: usize) -> Step {
    person(who, Deed::Follow { whom })
}

fn unfollow(who: usize, whom: usize) -> Step {
    person(who, Deed::Unfollow { whom })
}

/// The first client reads.
fn look() -> Step {
    Step::Look { client: 0, size: 10, whole: true, trouble: None }
}

/// A worker takes the `n`th waiting task.
fn take(nth: usize) -> Step {
    Step::Work { picks: vec![Pick::Waiting(nth)], troubles: Vec::new() }
}

#[tokio::test]
async fn an_addressed_activity_does_not_arrive_again_after_a_follow() {
    let steps = vec![look(), write(BOB, 0, &[ANN], Public), Step::WorkAll, look(), follow(ANN, BOB)];
    holds(&[], poller(ANN, ANN), steps).await;
    let again = vec![
        follow(ANN, BOB),
        write(BOB, 0, &[ANN], Public),
        Step::WorkAll,
        look(),
        unfollow(ANN, BOB),
        follow(ANN, BOB),
    ];
    holds(&[], poller(ANN, ANN), again).await;
}

#[tokio::test]
async fn an_edit_right_after_a_removal_does_not_hide_the_removal() {
    let steps = vec![
        write(BOB, 0, &[ANN], Public),
        Step::WorkAll,
        look(),
        person(ANN, Deed::TakeOut { nth: 0 }),
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
            look(),
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
        look(),
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
        look(),
        write(BOB, 1, &[], Public),
    ];
    holds(&[BOB], stream(CORA, ANN), steps).await;
}

#[tokio::test]
async fn an_actor_who_no_longer_addresses_themselves_gets_a_retraction() {
    let own = vec![looker(Sort::Stream, ANN, ANN, Collection::To)];
    let steps = vec![write(ANN, 0, &[ANN], Public), Step::WorkAll, look(), write(ANN, 1, &[BOB], Public)];
    holds(&[], own, steps).await;
}

#[tokio::test]
async fn activities_of_an_account_that_becomes_private_or_is_removed_are_retracted_for_recipients() {
    for deed in [Deed::Public(false), Deed::Leave] {
        let steps = vec![write(BOB, 0, &[ANN], Public), Step::WorkAll, look(), person(BOB, deed)];
        holds(&[], stream(CORA, ANN), steps.clone()).await;
        holds(&[], stream(ANN, ANN), steps).await;
    }
}

/// Whether the node that made the change crashes or not.
#[tokio::test]
async fn an_applied_account_change_reaches_streams() {
    for call in 0..3 {
        for (fault, again) in
            [(Fault::CrashBefore, true), (Fault::CrashAfter, false), (Fault::CrashAfter, true)]
        {
            let steps = vec![
                follow(ANN, BOB),
                write(BOB, 0, &[], Public),
                Step::WorkAll,
                look(),
                Step::Person {
                    who: BOB,
                    deed: Deed::Public(false),
                    trouble: Some(Trouble { call, fault }),
                    again,
                },
            ];
            holds(&[], stream(CORA, ANN), steps).await;
        }
    }
}

/// The task of the hidden version fails and is appended to the log again, after the edge.
#[tokio::test]
async fn a_new_follower_gets_no_retraction_of_activities_hidden_before() {
    let fails = Trouble { call: 1, fault: Fault::Before };
    let steps = vec![
        follow(CORA, BOB),
        write(BOB, 0, &[], Public),
        Step::WorkAll,
        look(),
        write(BOB, 1, &[], Direct),
        follow(ANN, BOB),
        Step::Work { picks: vec![Pick::Waiting(0)], troubles: vec![fails] },
    ];
    holds(&[], stream(ANN, ANN), steps.clone()).await;
    // Older than the edge, and for followers only: the backfill leaves it out.
    let steps = vec![look(), write(BOB, 0, &[], Public), write(BOB, 1, &[], Followers), follow(ANN, BOB)];
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
        look(),
        write(BOB, 0, &[], Direct),
        Step::WorkAll,
        write(BOB, 1, &[], Direct),
        Step::WorkAll,
        Step::Work { picks: vec![Pick::Again(0)], troubles: Vec::new() },
    ];
    holds(&[], stream(ANN, ANN), steps).await;
}

/// A page shows an activity before it has certainly arrived, and remembers that. The memory must end when the activity
/// arrives, even if it does not belong to the collection at that moment.
#[tokio::test]
async fn an_activity_shown_early_arrives_again_after_a_refollow() {
    let steps = vec![
        follow(ANN, BOB),
        Step::WorkAll,
        write(CORA, 0, &[], Public),
        write(BOB, 0, &[], Public),
        take(1),
        look(),
        unfollow(ANN, BOB),
        Step::WorkAll,
        look(),
        follow(ANN, BOB),
    ];
    holds(&[], stream(ANN, ANN), steps).await;
}

/// A worker may crash before and after each call of a delivery.
#[tokio::test]
async fn delivery_survives_a_crash_at_every_boundary() {
    let ground = Ground::new();
    for call in 0..60 {
        for fault in [Fault::CrashBefore, Fault::CrashAfter] {
            let crash = |picks| Step::Work { picks, troubles: vec![Trouble { call, fault }] };
            let steps = vec![
                follow(ANN, BOB),
                look(),
                write(BOB, 0, &[CORA], Public),
                Step::WorkAll,
                look(),
                write(BOB, 1, &[ANN], Direct),
                follow(CORA, BOB),
                person(CORA, Deed::TakeOut { nth: 0 }),
                unfollow(ANN, BOB),
                person(BOB, Deed::Public(false)),
                follow(ANN, BOB),
                person(BOB, Deed::Delete { address: 0 }),
                crash(vec![Pick::Waiting(0); 8]),
                look(),
                crash(vec![Pick::Waiting(7); 8]),
            ];
            let lookers =
                [poller(ANN, ANN), stream(ANN, ANN), stream(CORA, ANN), stream(CORA, CORA)].concat();
            let (people, rules) = (vec![true; 3], Rules::default());
            let sequence = Sequence { seed: 0, first: FIRST, people, lookers, steps, rules };
            if let Err(broken) = sequence.run(&ground).await {
                panic!("{fault:?} at call {call}: {broken}");
            }
        }
    }
}

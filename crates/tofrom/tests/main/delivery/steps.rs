//! The possible steps. A step names accounts, addresses and clients by number, and numbers wrap around, so every subset
//! of a list of steps can be run.

use super::super::support::chance::Chance;
use model::{AddressableBy, Decision, Visibility};
use store::faulty::Fault;

/// A fault in the `n`th store call of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InjectedFault {
    pub(crate) call: usize,
    pub(crate) fault: Fault,
}

/// An action of an account, through a node that may fail.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Writes to one of its addresses: a new activity, a new version, or the same content again.
    Write { address: usize, title: usize, to: Option<Vec<usize>>, visibility: Option<Visibility> },
    /// Writes more new activities than a backfill brings.
    Burst,
    /// Deletes the activity at an address.
    Delete { address: usize },
    /// Follows an account.
    Follow { followee: usize },
    /// Unfollows an account.
    Unfollow { followee: usize },
    /// Follows an account with one of a few filters, or replaces the filter.
    FollowFiltered { followee: usize, filter: usize },
    /// Ends another account's follow of it.
    RemoveFollower { follower: usize },
    /// Blocks or mutes an account, or ends that.
    Decide { decision: Decision, other: usize, holds: bool },
    /// Changes who may address it.
    Addressable(AddressableBy),
    /// Removes the `n`th activity from its `to`.
    RemoveFromTo { nth: usize },
    /// Becomes public or private.
    Public(bool),
    /// Removes the account.
    RemoveAccount,
}

/// The task that a worker takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pick {
    /// The `n`th waiting task.
    Waiting(usize),
    /// The `n`th task that any worker ever took, finished or not: a delayed worker.
    Repeat(usize),
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// The clock moves forward or back.
    Time(i64),
    /// An account acts; after a failure it may retry.
    Act { account: usize, action: Action, fault: Option<InjectedFault>, retry: bool },
    /// The account becomes dormant.
    MarkDormant { account: usize, fault: Option<InjectedFault> },
    /// A worker takes these tasks in order, and is restarted if it crashed.
    Work { picks: Vec<Pick>, faults: Vec<InjectedFault> },
    /// A worker executes all due tasks concurrently.
    WorkAll,
    /// A late write of the worker or of the node lands.
    Land { of_worker: bool, which: usize },
    /// A client reads: one page of at most `size` items, or everything.
    Read { client: usize, size: usize, whole: bool, fault: Option<InjectedFault> },
}

impl Step {
    /// A random step other than a read.
    pub(crate) fn random(chance: &mut Chance) -> Step {
        match chance.below(100) {
            0..4 => Step::Time(*chance.pick(&[1, 1, 50, 1_000, 300_000, -3])),
            4..68 => Step::Act {
                account: any_account(chance),
                action: Action::random(chance),
                fault: chance.one_in(5).then(|| InjectedFault::random(chance, 7)),
                retry: chance.one_in(2),
            },
            68..90 => Step::Work {
                picks: (0..1 + chance.below(4)).map(|_| Pick::random(chance)).collect(),
                faults: (0..chance.below(3)).map(|_| InjectedFault::random(chance, 20)).collect(),
            },
            90..95 => Step::WorkAll,
            _ => Step::Land { of_worker: chance.one_in(2), which: chance.below(4) },
        }
    }

    /// A random read.
    pub(crate) fn read(chance: &mut Chance) -> Step {
        Step::Read {
            client: chance.below(60),
            size: *chance.pick(&[1, 2, 3, 100]),
            whole: !chance.one_in(3),
            fault: chance.one_in(8).then(|| InjectedFault::random(chance, 7)),
        }
    }

    pub(crate) fn mark_dormant(chance: &mut Chance) -> Step {
        let fault = chance.one_in(4).then(|| InjectedFault::random(chance, 6));
        Step::MarkDormant { account: any_account(chance), fault }
    }

    pub(crate) fn unfollow(chance: &mut Chance) -> Step {
        let action = Action::Unfollow { followee: any_account(chance) };
        Step::Act { account: any_account(chance), action, fault: None, retry: false }
    }

    pub(crate) fn follow(chance: &mut Chance) -> Step {
        let action = Action::Follow { followee: any_account(chance) };
        Step::Act { account: any_account(chance), action, fault: None, retry: false }
    }
}

/// The first accounts act more than the others, so that their actions interact.
fn any_account(chance: &mut Chance) -> usize {
    if chance.one_in(3) { chance.below(60) } else { chance.below(2) }
}

impl InjectedFault {
    fn random(chance: &mut Chance, calls: usize) -> InjectedFault {
        use Fault::{After, Before, CrashAfter, CrashBefore, Late};
        let fault = *chance.pick(&[Before, After, Late, Late, CrashBefore, CrashAfter]);
        InjectedFault { call: chance.below(calls), fault }
    }
}

impl Pick {
    fn random(chance: &mut Chance) -> Pick {
        match chance.below(10) {
            0 => Pick::Repeat(chance.below(8)),
            1..6 => Pick::Waiting(0),
            _ => Pick::Waiting(chance.below(6)),
        }
    }
}

impl Action {
    fn random(chance: &mut Chance) -> Action {
        if chance.one_in(500) {
            return Action::Burst;
        }
        match chance.below(270) {
            0..91 => Action::Write {
                address: chance.below(2),
                title: chance.below(3),
                to: (!chance.one_in(3)).then(|| (0..chance.below(3)).map(|_| any_account(chance)).collect()),
                visibility: (!chance.one_in(3)).then(|| {
                    use Visibility::{Direct, Followers, Public};
                    *chance.pick(&[Public, Public, Followers, Direct])
                }),
            },
            91..107 => Action::Delete { address: chance.below(2) },
            107..145 => Action::Follow { followee: any_account(chance) },
            145..165 => Action::Unfollow { followee: any_account(chance) },
            165..177 => Action::RemoveFromTo { nth: chance.below(8) },
            177..196 => Action::Public(chance.one_in(2)),
            196..200 => Action::RemoveAccount,
            200..218 => Action::FollowFiltered { followee: any_account(chance), filter: chance.below(5) },
            218..223 => Action::RemoveFollower { follower: any_account(chance) },
            223..260 => Action::Decide {
                decision: *chance.pick(&Decision::ALL),
                other: any_account(chance),
                holds: chance.one_in(2),
            },
            _ => Action::Addressable(*chance.pick(&AddressableBy::ALL)),
        }
    }
}

//! The delivery property on the cluster: the same sequences, the same checks.

use super::super::delivery::sequence::Sequence;
use super::super::delivery::test_bed::Backend;
use super::super::delivery::{SequenceRunner, env_number};
use super::{RUNTIME, prepared};
use std::sync::{Mutex, PoisonError};

/// Number of sequences. `DELIVERY_CLUSTER_SEQUENCES` overrides it.
const SEQUENCES: u64 = 8;
/// Most of the time is spent waiting for disks, so many lanes can run concurrently.
const LANES: u8 = 16;

#[test]
fn every_activity_is_delivered_once_on_the_cluster() {
    try_all(Sequence::random);
}

#[test]
fn every_activity_is_delivered_once_while_fanout_modes_change_on_the_cluster() {
    try_all(Sequence::switching_modes);
}

fn try_all(sequence: fn(u64, i64) -> Sequence) {
    // The tests share the lanes, so they run one after the other.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if prepared().is_none() {
        return;
    }
    let runner = SequenceRunner::of(env_number("DELIVERY_CLUSTER_SEQUENCES").unwrap_or(SEQUENCES), sequence);
    std::thread::scope(|scope| {
        for lane in 0..LANES {
            let runner = &runner;
            scope.spawn(move || RUNTIME.block_on(runner.run_on(Backend::Cluster { lane })));
        }
    });
    runner.finish();
}

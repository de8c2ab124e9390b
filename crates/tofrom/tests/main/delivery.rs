//! The law of delivery: whatever happens in whatever order, and whatever breaks meanwhile, in the end every collection
//! has exactly what belongs there, and whoever polled or watched has been told of it, without a hole and without a repeat.
//!
//! A test is a list of steps: people write, edit, delete and follow, workers do tasks in any order and crash in the
//! middle, writes land long after everybody gave them up, and clients look now and then. `people` does what people do
//! and `learning` finds out what became of it, `work` does what workers do, `looks` what clients do. `naive` says what
//! ought to be, by looking at everything there is. At the end all faults stop, everything is delivered, and `verdict`
//! compares.
//!
//! The steps come from a seed, and times come from the steps. Identifiers are made by the service, but no two
//! activities are received in the same millisecond, so that what is random in them decides nothing: a seed always
//! gives the same, but for the order in which a worker ends what it does at once. A sequence that fails is shortened as
//! far as it still does, and printed with its seed.

mod clients;
mod failures;
mod ground;
mod learning;
mod looks;
mod naive;
mod people;
mod scenarios;
mod sequence;
mod shorten;
mod steps;
mod verdict;
mod work;

use ground::Ground;
use sequence::Sequence;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many sequences are tried, unless `DELIVERY_SEQUENCES` says otherwise.
const SEQUENCES: u64 = 5_000;

/// Many sequences, on all cores. `DELIVERY_SEED` is the first seed; with `DELIVERY_REPORTS` more than one that fails is
/// told of before the test ends.
#[test]
fn whatever_happens_everything_is_delivered_once() {
    let setting = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
    let first = setting("DELIVERY_SEED").unwrap_or(0);
    let end = first + setting("DELIVERY_SEQUENCES").unwrap_or(SEQUENCES);
    let wanted = setting("DELIVERY_REPORTS").unwrap_or(1);
    let (next, reports) = (AtomicU64::new(first), Mutex::new(Vec::new()));
    let work = async || {
        let mut ground = Ground::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end || reports.lock().unwrap().len() as u64 >= wanted {
                break;
            }
            let sequence = Sequence::random(seed);
            if let Err(broken) = sequence.run(&ground).await {
                let report = shorten::report(&sequence, &broken).await;
                reports.lock().unwrap().push(report);
                // What is left of it must not trouble the next one.
                ground = Ground::new();
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(work());
            });
        }
    });
    let reports = reports.into_inner().unwrap();
    assert!(reports.is_empty(), "{}", reports.join("\n"));
}

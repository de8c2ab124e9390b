//! The delivery property: after any sequence of writes, follows and faults, every collection holds exactly the
//! activities that belong to it, and every poller and stream has received each of them without a gap and without a
//! repeat.
//!
//! A test is a list of steps: accounts write, edit, delete and follow, workers execute tasks in any order and crash,
//! writes land long after their callers timed out, and clients read now and then. `actions` performs the accounts'
//! actions and `reconcile` finds out whether they took effect. `workers` drives the workers and `reads` the clients.
//! `naive_model` computes the expected collections from all known states. At the end all faults stop, everything is
//! delivered, and `final_checks` compares. `cached_pages` has a separate property.
//!
//! Steps come from a seed, and times come from the steps. The service creates identifiers, but no two activities are
//! received in the same millisecond, so their random part decides nothing. A seed therefore reproduces its sequence,
//! except for the order in which a worker finishes concurrent tasks. A failing sequence is shrunk and printed with its
//! seed.

mod actions;
mod cached_pages;
mod clients;
mod failures;
pub(crate) mod final_checks;
pub(crate) mod naive_model;
mod reads;
mod reconcile;
mod scenarios;
pub(crate) mod seeds;
pub(crate) mod sequence;
mod shrink;
pub(crate) mod steps;
pub(crate) mod test_bed;
mod workers;

use seeds::Seeds;
use sequence::Sequence;
use std::sync::Mutex;
use store::Part;
use test_bed::Backend;

/// Number of sequences. `DELIVERY_SEQUENCES` overrides it.
const SEQUENCES: u64 = 500;
/// Number of sequences with cached pages. `CACHE_SEQUENCES` overrides it.
const CACHE_SEQUENCES: u64 = 100;
/// The maximum number of sequences until a change that was not noted is found.
const MAX_TRIES: u64 = 200;

/// Random sequences, on all cores.
#[test]
fn every_activity_is_delivered_once() {
    try_all(deliveries(), Sequence::random, Backend::File);
}

/// The same while accounts keep switching between push and pull and between dormant and active.
#[test]
fn every_activity_is_delivered_once_while_fanout_modes_change() {
    try_all(deliveries(), Sequence::switching_modes, Backend::File);
}

/// As long as a page that was read before counts as current, a new read gives the same page.
#[test]
fn a_cached_page_is_true() {
    try_all(cachings(), Sequence::caching, Backend::File);
}

/// The same if another process delivers.
#[test]
fn a_cached_page_is_true_beside_another_process() {
    try_all(cachings(), Sequence::caching, Backend::TwoProcesses);
}

/// The property above fails for every part whose changes are not noted.
#[test]
fn a_change_that_is_not_noted_is_found() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for part in Part::ALL {
        let backend = Backend::WithoutNotes(part);
        let found = runtime.block_on(async {
            for seed in 0..MAX_TRIES {
                let sequence = Sequence::caching(seed, backend.first());
                let run = backend.try_run(backend.test_bed().await, async |bed, _| sequence.run(bed).await);
                if run.await.is_err_and(|why| why.contains("cached page")) {
                    return true;
                }
            }
            false
        });
        assert!(found, "no sequence found a change that was not noted, of {part:?}");
    }
}

fn deliveries() -> u64 {
    env_number("DELIVERY_SEQUENCES").unwrap_or(SEQUENCES)
}

fn cachings() -> u64 {
    env_number("CACHE_SEQUENCES").unwrap_or(CACHE_SEQUENCES)
}

fn try_all(sequences: u64, sequence: fn(u64, i64) -> Sequence, backend: Backend) {
    let runner = SequenceRunner::of(sequences, sequence);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(runner.run_on(backend));
            });
        }
    });
    runner.finish();
}

pub(crate) fn env_number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect(name))
}

/// Runs sequences one after the other, shared by any number of threads. `DELIVERY_SEED` is the first seed. With
/// `DELIVERY_REPORTS` the test collects that many failures before it ends.
pub(crate) struct SequenceRunner {
    seeds: Seeds,
    max_reports: u64,
    sequence: fn(u64, i64) -> Sequence,
    reports: Mutex<Vec<String>>,
}

impl SequenceRunner {
    pub(crate) fn of(sequences: u64, sequence: fn(u64, i64) -> Sequence) -> SequenceRunner {
        let first = env_number("DELIVERY_SEED").unwrap_or(0);
        let max_reports = env_number("DELIVERY_REPORTS").unwrap_or(1);
        SequenceRunner {
            seeds: Seeds::new(first, sequences),
            max_reports,
            sequence,
            reports: Mutex::default(),
        }
    }

    /// Runs sequences until the seeds are used up.
    pub(crate) async fn run_on(&self, backend: Backend) {
        let mut bed = backend.test_bed().await;
        while let Some(seed) = self.next() {
            let sequence = (self.sequence)(seed, backend.first());
            let outcome = backend.try_run(bed, async |bed, _| sequence.run(bed).await).await;
            bed = match outcome {
                Ok((bed, ())) => bed,
                Err(why) => {
                    let report = shrink::report(&sequence, &why, backend).await;
                    self.reports.lock().unwrap().push(report);
                    backend.test_bed().await
                }
            };
        }
    }

    fn next(&self) -> Option<u64> {
        let enough = self.reports.lock().unwrap().len() as u64 >= self.max_reports;
        if enough { None } else { self.seeds.next() }
    }

    pub(crate) fn finish(self) {
        self.seeds.tried();
        let reports = self.reports.into_inner().unwrap();
        assert!(reports.is_empty(), "{}", reports.join("\n"));
    }
}

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
pub(crate) mod ground;
mod learning;
mod looks;
pub(crate) mod naive;
mod people;
mod scenarios;
pub(crate) mod seeds;
pub(crate) mod sequence;
mod shorten;
pub(crate) mod steps;
pub(crate) mod verdict;
mod work;

use ground::Place;
use seeds::Seeds;
use sequence::Sequence;
use std::sync::Mutex;

/// How many sequences are tried, unless `DELIVERY_SEQUENCES` says otherwise.
const SEQUENCES: u64 = 500;

/// Many sequences, on all cores.
#[test]
fn whatever_happens_everything_is_delivered_once() {
    try_all(Sequence::random);
}

/// The same where accounts change over to being pulled and back, and fall asleep and return, all the time.
#[test]
fn by_whichever_way_everything_is_delivered_once() {
    try_all(Sequence::crossing);
}

fn try_all(sequence: fn(u64, i64) -> Sequence) {
    let trial = Trial::of(setting("DELIVERY_SEQUENCES").unwrap_or(SEQUENCES), sequence);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(trial.run_on(Place::File));
            });
        }
    });
    trial.judge();
}

pub(crate) fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect(name))
}

/// Sequences one after the other, for any number of hands. `DELIVERY_SEED` is the first seed; with
/// `DELIVERY_REPORTS` more than one that fails is told of before the test ends.
pub(crate) struct Trial {
    seeds: Seeds,
    wanted: u64,
    sequence: fn(u64, i64) -> Sequence,
    reports: Mutex<Vec<String>>,
}

impl Trial {
    pub(crate) fn of(sequences: u64, sequence: fn(u64, i64) -> Sequence) -> Trial {
        let first = setting("DELIVERY_SEED").unwrap_or(0);
        let wanted = setting("DELIVERY_REPORTS").unwrap_or(1);
        Trial { seeds: Seeds::new(first, sequences), wanted, sequence, reports: Mutex::default() }
    }

    /// Runs sequences as long as there are any.
    pub(crate) async fn run_on(&self, place: Place) {
        let mut ground = place.ground().await;
        while let Some(seed) = self.next() {
            let sequence = (self.sequence)(seed, place.first());
            let came = place.judge(ground, async |ground, _| sequence.run(ground).await).await;
            ground = match came {
                Ok((ground, ())) => ground,
                Err(why) => {
                    let report = shorten::report(&sequence, &why, place).await;
                    self.reports.lock().unwrap().push(report);
                    place.ground().await
                }
            };
        }
    }

    fn next(&self) -> Option<u64> {
        let enough = self.reports.lock().unwrap().len() as u64 >= self.wanted;
        if enough { None } else { self.seeds.next() }
    }

    pub(crate) fn judge(self) {
        self.seeds.tried();
        let reports = self.reports.into_inner().unwrap();
        assert!(reports.is_empty(), "{}", reports.join("\n"));
    }
}

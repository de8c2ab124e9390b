//! The store that sequences run on: one for many sequences, with fresh accounts each.

use super::super::cluster::{self, Engines};
use super::super::support::chance::Chance;
use super::super::support::folder::Folder;
use super::sequence::Violation;
use domain::feed::{Feed, FeedLimits};
use domain::ingest::{Ingest, Randomness};
use futures::FutureExt;
use model::{Clock, Millis};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;
use store::cql::CqlStore;
use store::faulty::Faulty;
use store::jetstream::Servers;
use store::sqlite::{ChangeNotes, Options, SqliteStore};
use store::{AccountCache, Log, Part, Store};

/// The time at which every sequence starts.
pub(crate) const FIRST: i64 = 1_794_696_000_000;
/// Start of this process: part of names and identifiers, because a cluster holds data of earlier processes too.
static STARTED: LazyLock<i64> = LazyLock::new(|| Clock::system().now().0);
static TEST_BEDS: AtomicU64 = AtomicU64::new(0);
/// Retries after an engine was too busy to answer.
const MAX_RETRIES: u64 = 5;
/// The retention of the brief feed: several steps.
const BRIEF: Duration = Duration::from_millis(300);
const DAY: i64 = 24 * 60 * 60 * 1_000;

/// The store that sequences run on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Backend {
    /// One file for each test bed.
    File,
    /// The same, with node and worker as two processes.
    TwoProcesses,
    /// One file, and changes of this part are not noted.
    WithoutNotes(Part),
    /// The shared cluster; each lane has its own log and time range.
    Cluster { lane: u8 },
}

impl Backend {
    pub(crate) async fn test_bed(self) -> TestBed {
        match self {
            Backend::File => TestBed::new(),
            Backend::TwoProcesses => TestBed::in_file(true, ChangeNotes::Plain),
            Backend::WithoutNotes(part) => TestBed::in_file(false, ChangeNotes::Without(part)),
            Backend::Cluster { lane } => TestBed::on_cluster(&cluster::engines().unwrap(), lane).await,
        }
    }

    /// Calls `run` on the test bed. If the engine did not answer, calls it again on a new test bed with the number of
    /// earlier tries. A test bed with a failed run is discarded: its leftovers must not disturb the next run.
    pub(crate) async fn try_run<T>(
        self,
        mut bed: TestBed,
        run: impl AsyncFn(&TestBed, u64) -> Result<T, Violation>,
    ) -> Result<(TestBed, T), Violation> {
        let mut tried = 0;
        loop {
            match bed.try_run(run(&bed, tried)).await {
                Ok(outcome) => return Ok((bed, outcome)),
                Err(failed) if failed.engine_failed && tried < MAX_RETRIES => {
                    drop(bed);
                    bed = self.test_bed().await;
                    tried += 1;
                }
                Err(failed) => return Err(failed.why),
            }
        }
    }

    /// The time at which sequences start. Scheduled tasks of a cluster share one table, so lanes must be far apart.
    /// They lie far in the past, where the services of other tests ignore them.
    pub(crate) fn first(self) -> i64 {
        match self {
            Backend::File | Backend::TwoProcesses | Backend::WithoutNotes(_) => FIRST,
            Backend::Cluster { lane } => FIRST - (1_000 - i64::from(lane)) * DAY,
        }
    }
}

/// A run that failed.
pub(crate) struct FailedRun {
    pub(crate) why: Violation,
    /// The engine did not answer some call. A busy cluster may still apply the write at any later time, which no
    /// sequence expects, so the run proves nothing.
    pub(crate) engine_failed: bool,
}

/// A store, a node that accepts and reads, and a worker. Node and worker fail independently.
pub(crate) struct TestBed {
    /// The worker's view, so that tasks taken from its log can be dealt to the worker.
    pub(crate) store: Arc<dyn Store>,
    pub(crate) node: Arc<Faulty>,
    pub(crate) worker: Arc<Faulty>,
    /// The wrapper behind `store`, to count unplanned failures.
    plain: Arc<Faulty>,
    pub(crate) accounts: AccountCache,
    pub(crate) ingest: Ingest,
    pub(crate) feed: Feed,
    /// Reads for the comparison with cached pages: `feed` and a brief one, which hides what was received longer ago
    /// than [`BRIEF`], and the same of an observer that is another process.
    pub(crate) feeds: [Feed; 2],
    pub(crate) observers: [Feed; 2],
    pub(crate) clock: Clock,
    time: Arc<AtomicI64>,
    chance: Arc<Mutex<Chance>>,
    _folder: Option<Folder>,
}

impl TestBed {
    pub(crate) fn new() -> TestBed {
        TestBed::in_file(false, ChangeNotes::Checked)
    }

    fn in_file(two_processes: bool, notes: ChangeNotes) -> TestBed {
        let folder = Folder::new();
        let open = |notes| {
            let options = Options { synchronous_off: true, notes, ..Options::default() };
            Arc::new(SqliteStore::open(&folder.path().join("delivery.db"), options).unwrap())
        };
        let node = open(notes);
        let worker = if two_processes { open(notes) } else { Arc::clone(&node) };
        let bed = TestBed::over(node, worker, open(ChangeNotes::Plain));
        TestBed { _folder: Some(folder), ..bed }
    }

    /// Node and worker are separate processes there. A lane reuses its log for the next sequence, because only the
    /// store can create logs; leftover tasks are discarded.
    pub(crate) async fn on_cluster(engines: &Engines, lane: u8) -> TestBed {
        let Engines { nodes, servers } = engines.on_stream(&format!("law_{lane}"));
        // The node reads what the worker has delivered just before.
        let servers = Servers { floor_max_age: Duration::ZERO, ..servers };
        let node = Arc::new(with_retries(async || CqlStore::open(&nodes, &servers).await).await);
        let worker = Arc::new(with_retries(async || CqlStore::open(&nodes, &servers).await).await);
        while with_retries(async || worker.backlog(1).await).await.tasks > 0 {
            let left = with_retries(async || worker.pending(1_000).await).await;
            let left: Vec<_> = left.iter().map(|task| task.position).collect();
            with_retries(async || worker.acknowledge(&left, &[]).await).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        TestBed::over(Arc::clone(&node) as Arc<dyn Store>, worker, node)
    }

    fn over(node: Arc<dyn Store>, store: Arc<dyn Store>, observer: Arc<dyn Store>) -> TestBed {
        let [node, worker, plain] =
            [node, Arc::clone(&store), store].map(|store| Arc::new(Faulty::new(store)));
        let time = Arc::new(AtomicI64::new(FIRST));
        let shared_time = Arc::clone(&time);
        let clock = Clock::from(move || Millis(shared_time.load(Ordering::Relaxed)));
        let chance = Arc::new(Mutex::new(id_generator(TEST_BEDS.fetch_add(1, Ordering::Relaxed))));
        let generator = Arc::clone(&chance);
        let randomness = Randomness::from(move |bytes| {
            let mut chance = generator.lock().unwrap();
            bytes.iter_mut().for_each(|byte| [*byte] = chance.bytes());
            Ok(())
        });
        let accounts = AccountCache::new(node.clone());
        // A busy machine is no violation.
        let limits = FeedLimits { deadline: Duration::from_secs(120), ..FeedLimits::default() };
        let brief = FeedLimits { retention: Some(BRIEF), ..limits };
        let feed_of = |store: Arc<dyn Store>| {
            let (accounts, clock) = (accounts.clone(), clock.clone());
            move |limits| Feed::new(Arc::clone(&store), accounts.clone(), clock.clone(), limits)
        };
        TestBed {
            ingest: Ingest::new(node.clone(), clock.clone()).with_randomness(randomness),
            feed: Feed::new(node.clone(), accounts.clone(), clock.clone(), limits),
            feeds: [limits, brief].map(feed_of(node.clone())),
            observers: [limits, brief].map(feed_of(observer)),
            store: plain.clone(),
            node,
            worker,
            plain,
            accounts,
            clock,
            time,
            chance,
            _folder: None,
        }
    }

    /// Runs a future; a panic counts as a failure.
    pub(crate) async fn try_run<T>(
        &self,
        run: impl Future<Output = Result<T, Violation>>,
    ) -> Result<T, FailedRun> {
        let engine_failed =
            || [&self.node, &self.worker, &self.plain].iter().map(|store| store.unplanned()).sum::<usize>();
        let before = engine_failed();
        let outcome = AssertUnwindSafe(run).catch_unwind().await;
        let outcome = outcome.unwrap_or_else(|_| Err("panicked: see the message above".to_owned()));
        outcome.map_err(|why| FailedRun { why, engine_failed: engine_failed() > before })
    }

    pub(crate) fn now(&self) -> Millis {
        self.clock.now()
    }

    pub(crate) fn set_time(&self, millis: i64) {
        self.time.store(millis, Ordering::Relaxed);
    }

    /// Moves the clock forward, or back if negative.
    pub(crate) fn advance(&self, millis: i64) {
        self.time.fetch_add(millis, Ordering::Relaxed);
    }

    /// Restarts the generation of identifiers: the same seed gives the same identifiers on every test bed of this
    /// process.
    pub(crate) fn reseed(&self, seed: u64) {
        *self.chance.lock().unwrap() = id_generator(u64::MAX - seed);
    }

    /// A name that is not taken. Names sort in the order of their creation, on every test bed: recipients are sorted by
    /// name.
    pub(crate) fn fresh_name(&self) -> String {
        static NAMES: AtomicU64 = AtomicU64::new(0);
        format!("person-{}-{:08}", *STARTED, NAMES.fetch_add(1, Ordering::Relaxed))
    }
}

/// Calls an engine that may be busy, with retries.
pub(crate) async fn with_retries<T>(ask: impl AsyncFn() -> store::Result<T>) -> T {
    for _ in 0..10 {
        if let Ok(answer) = ask().await {
            return answer;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    ask().await.unwrap()
}

/// A generator of identifiers that differ for every number and every process.
fn id_generator(number: u64) -> Chance {
    Chance::new(number.rotate_left(44) ^ STARTED.unsigned_abs())
}

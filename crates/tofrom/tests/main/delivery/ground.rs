//! The store that sequences run on: one for many sequences, with fresh accounts each.

use super::super::cluster::{self, Engines};
use super::super::support::chance::Chance;
use super::super::support::world::Folder;
use super::sequence::Broken;
use futures::FutureExt;
use model::Millis;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;
use store::cql::CqlStore;
use store::faulty::Faulty;
use store::sqlite::{Options, SqliteStore};
use store::{Log, Store};
use tofrom::accounts::AccountCache;
use tofrom::clock::Clock;
use tofrom::feed::{Feed, FeedLimits};
use tofrom::ingest::{Ingest, Randomness};

/// The time at which every sequence starts.
pub(crate) const FIRST: i64 = 1_794_696_000_000;
/// A cluster holds data of earlier processes too, so its sequences start at the present time.
static BEGAN: LazyLock<i64> = LazyLock::new(|| Clock::system().now().0);
static GROUNDS: AtomicU64 = AtomicU64::new(0);
/// Retries after an engine was too busy to answer.
const AGAIN: u64 = 5;
const DAY: i64 = 24 * 60 * 60 * 1_000;

/// The store that sequences run on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// One file for each test bed.
    File,
    /// The shared cluster; each lane has its own log and time range.
    Cluster { lane: u8 },
}

impl Place {
    pub(crate) async fn ground(self) -> Ground {
        match self {
            Place::File => Ground::new(),
            Place::Cluster { lane } => Ground::on_cluster(&cluster::engines().unwrap(), lane).await,
        }
    }

    /// Runs `f` on the test bed. If the engine did not answer, `f` runs again on a new test bed and is given the number
    /// of earlier tries. A test bed with a failed run is discarded: its leftovers must not disturb the next run.
    pub(crate) async fn judge<T>(
        self,
        mut ground: Ground,
        run: impl AsyncFn(&Ground, u64) -> Result<T, Broken>,
    ) -> Result<(Ground, T), Broken> {
        let mut tried = 0;
        loop {
            match ground.judge(run(&ground, tried)).await {
                Ok(came) => return Ok((ground, came)),
                Err(failed) if failed.unanswered && tried < AGAIN => {
                    drop(ground);
                    ground = self.ground().await;
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
            Place::File => FIRST,
            Place::Cluster { lane } => FIRST - (1_000 - i64::from(lane)) * DAY,
        }
    }
}

/// A run that failed.
pub(crate) struct Failed {
    pub(crate) why: Broken,
    /// The engine did not answer some call. A busy cluster may still apply the write at any later time, which no
    /// sequence expects, so the run proves nothing.
    pub(crate) unanswered: bool,
}

/// A store, a node that accepts and reads, and a worker. Node and worker fail independently.
pub(crate) struct Ground {
    /// The worker's view, so that tasks taken from its log can be dealt to the worker.
    pub(crate) store: Arc<dyn Store>,
    pub(crate) node: Arc<Faulty>,
    pub(crate) worker: Arc<Faulty>,
    /// The fault-free store behind `store`.
    plain: Arc<Faulty>,
    pub(crate) accounts: AccountCache,
    pub(crate) ingest: Ingest,
    pub(crate) feed: Feed,
    pub(crate) clock: Clock,
    time: Arc<AtomicI64>,
    chance: Arc<Mutex<Chance>>,
    _folder: Option<Folder>,
}

impl Ground {
    pub(crate) fn new() -> Ground {
        let folder = Folder::new();
        let options = Options { synchronous_off: true, ..Options::default() };
        let store = Arc::new(SqliteStore::open(&folder.path().join("delivery.db"), options).unwrap());
        Ground { _folder: Some(folder), ..Ground::over(Arc::clone(&store) as Arc<dyn Store>, store) }
    }

    /// Node and worker are separate processes there. A lane reuses its log for the next sequence, because only the
    /// store can create logs; leftover tasks are discarded.
    pub(crate) async fn on_cluster(engines: &Engines, lane: u8) -> Ground {
        let Engines { nodes, servers } = engines.on_stream(&format!("law_{lane}"));
        let node = Arc::new(insist(async || CqlStore::open(&nodes, &servers).await).await);
        let worker = Arc::new(insist(async || CqlStore::open(&nodes, &servers).await).await);
        while insist(async || worker.backlog(1).await).await.tasks > 0 {
            let left = insist(async || worker.pending(1_000).await).await;
            let left: Vec<_> = left.iter().map(|task| task.position).collect();
            insist(async || worker.acknowledge(&left, &[]).await).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ground::over(node, worker)
    }

    fn over(node: Arc<dyn Store>, store: Arc<dyn Store>) -> Ground {
        let [node, worker, plain] =
            [node, Arc::clone(&store), store].map(|store| Arc::new(Faulty::new(store)));
        let time = Arc::new(AtomicI64::new(FIRST));
        let told = Arc::clone(&time);
        let clock = Clock::from(move || Millis(told.load(Ordering::Relaxed)));
        let chance = Arc::new(Mutex::new(drawn_by(GROUNDS.fetch_add(1, Ordering::Relaxed))));
        let drawn = Arc::clone(&chance);
        let randomness = Randomness::from(move |bytes| {
            let mut chance = drawn.lock().unwrap();
            bytes.iter_mut().for_each(|byte| [*byte] = chance.bytes());
            Ok(())
        });
        let accounts = AccountCache::new(node.clone());
        // A busy machine is no violation.
        let limits = FeedLimits { deadline: Duration::from_secs(120), ..FeedLimits::default() };
        Ground {
            ingest: Ingest::new(node.clone(), clock.clone()).with_randomness(randomness),
            feed: Feed::new(node.clone(), accounts.clone(), clock.clone(), limits),
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
    pub(crate) async fn judge<T>(&self, run: impl Future<Output = Result<T, Broken>>) -> Result<T, Failed> {
        let unanswered =
            || [&self.node, &self.worker, &self.plain].iter().map(|store| store.unplanned()).sum::<usize>();
        let before = unanswered();
        let came = AssertUnwindSafe(run).catch_unwind().await;
        let came = came.unwrap_or_else(|_| Err("it panics, as was told above".to_owned()));
        came.map_err(|why| Failed { why, unanswered: unanswered() > before })
    }

    pub(crate) fn now(&self) -> Millis {
        self.clock.now()
    }

    pub(crate) fn set_time(&self, millis: i64) {
        self.time.store(millis, Ordering::Relaxed);
    }

    /// Moves the clock forward, or back if negative.
    pub(crate) fn pass(&self, millis: i64) {
        self.time.fetch_add(millis, Ordering::Relaxed);
    }

    /// Restarts the generation of identifiers: the same seed gives the same identifiers on every test bed of this
    /// process.
    pub(crate) fn draw_anew(&self, seed: u64) {
        *self.chance.lock().unwrap() = drawn_by(u64::MAX - seed);
    }

    /// A name that is not taken.
    pub(crate) fn fresh_name(&self) -> String {
        static NAMES: AtomicU64 = AtomicU64::new(0);
        format!("person-{}-{}", *BEGAN, NAMES.fetch_add(1, Ordering::Relaxed))
    }
}

/// Calls an engine that may be busy, with retries.
pub(crate) async fn insist<T>(ask: impl AsyncFn() -> store::Result<T>) -> T {
    for _ in 0..10 {
        if let Ok(answer) = ask().await {
            return answer;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    ask().await.unwrap()
}

/// A generator of identifiers that differ for every number and every process.
fn drawn_by(number: u64) -> Chance {
    Chance::new(number.rotate_left(44) ^ BEGAN.unsigned_abs())
}

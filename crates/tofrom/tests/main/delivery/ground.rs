//! Where sequences happen: one store for many of them, with fresh accounts each.

use super::super::support::world::Folder;
use model::Millis;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use store::Store;
use store::faulty::Faulty;
use store::sqlite::{Options, SqliteStore};
use tofrom::accounts::AccountCache;
use tofrom::clock::Clock;
use tofrom::feed::{Feed, FeedLimits};
use tofrom::ingest::Ingest;

/// When every sequence begins.
pub(super) const FIRST: i64 = 1_794_696_000_000;

/// A store, a node that takes in and reads, and a worker; each of the two may break by itself.
pub(super) struct Ground {
    pub(super) store: Arc<dyn Store>,
    pub(super) node: Arc<Faulty>,
    pub(super) worker: Arc<Faulty>,
    pub(super) accounts: AccountCache,
    pub(super) ingest: Ingest,
    pub(super) feed: Feed,
    pub(super) clock: Clock,
    time: Arc<AtomicI64>,
    _folder: Folder,
}

impl Ground {
    pub(super) fn new() -> Ground {
        let folder = Folder::new();
        let options = Options { synchronous_off: true, ..Options::default() };
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::open(&folder.path().join("delivery.db"), options).unwrap());
        let (node, worker) =
            (Arc::new(Faulty::new(Arc::clone(&store))), Arc::new(Faulty::new(Arc::clone(&store))));
        let time = Arc::new(AtomicI64::new(FIRST));
        let told = Arc::clone(&time);
        let clock = Clock::from(move || Millis(told.load(Ordering::Relaxed)));
        let accounts = AccountCache::new(node.clone());
        Ground {
            ingest: Ingest::new(node.clone(), clock.clone()),
            feed: Feed::new(node.clone(), accounts.clone(), clock.clone(), FeedLimits::default()),
            store,
            node,
            worker,
            accounts,
            clock,
            time,
            _folder: folder,
        }
    }

    pub(super) fn now(&self) -> Millis {
        self.clock.now()
    }

    pub(super) fn set_time(&self, millis: i64) {
        self.time.store(millis, Ordering::Relaxed);
    }

    /// The time goes on by so much, or back.
    pub(super) fn pass(&self, millis: i64) {
        self.time.fetch_add(millis, Ordering::Relaxed);
    }

    /// A name that nobody had before.
    pub(super) fn fresh_name(&self) -> String {
        static NAMES: AtomicU64 = AtomicU64::new(0);
        format!("person-{}", NAMES.fetch_add(1, Ordering::Relaxed))
    }
}

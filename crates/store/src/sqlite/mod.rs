//! The engine for one machine: everything is in one SQLite file.
//!
//! - **Writes** go through one thread that commits them in groups (`writer`) and notes what they change (`changes`).
//!   Another process may write to the same file, such as a command beside the running server. So nothing is taken from a
//!   cache (`value_cache`) unless no other process has committed since it was read.
//! - **Reads** run on the calling thread, with a connection from a small pool (`pool`): a page needs several.
//!   Looking up an account costs 2 to 3.5 µs of CPU this way, and 7 to 19 µs on a blocking thread (`measure`, 16
//!   callers on 2 cores). Long reads (listings, backups, checks) go to a blocking thread.
//! - **Collections** are runs, one per facet and reason, that are merged by a read (`feed`).

mod accounts;
mod activities;
mod audit;
mod backup;
mod changes;
mod connect;
mod copying;
mod credentials;
mod entries;
mod erasure;
mod expiry;
mod facets;
mod fanout_mode;
mod feed;
mod grants;
mod graph;
mod hooks;
mod log;
#[cfg(test)]
mod measure;
mod name_index;
mod pool;
mod relations;
mod restore;
mod schema;
mod search;
mod seen;
mod sessions;
mod sources;
mod storage_use;
mod traces;
mod usage;
mod value_cache;
mod values;
mod writer;

pub use changes::ChangeNotes;
pub use restore::{Restored, restore};
pub use traces::{Texts, Trace};

use crate::{Changes, Result, Store};
use async_trait::async_trait;
use changes::ChangeTable;
use facets::Facets;
use model::Millis;
use pool::Pool;
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use value_cache::ValueCaches;
use writer::Writer;

/// Prepared statements cached per connection: more than this engine has.
const STATEMENT_CACHE: usize = 180;

/// Settings of the store.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of connections for reading, and so of concurrent reads.
    pub readers: usize,
    /// How long to wait for another process that is writing.
    pub busy_timeout: Duration,
    /// The maximum number of queued writes. Further callers wait for room.
    pub queue: usize,
    /// The age, by the time of receipt, from which entries and bodies are deleted. `None`: never.
    pub retention: Option<Duration>,
    /// Does not wait for the disk. Only for tests: a power failure loses acknowledged writes.
    pub synchronous_off: bool,
    /// How changes are noted, by which cached pages are known to be current.
    pub notes: ChangeNotes,
}

impl Default for Options {
    fn default() -> Options {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Options {
            readers: cores.max(4),
            busy_timeout: Duration::from_secs(5),
            queue: 2_000,
            retention: None,
            synchronous_off: false,
            notes: ChangeNotes::Plain,
        }
    }
}

/// A store in one file. Clones share it, and dropping the last one closes it.
#[derive(Clone)]
pub struct SqliteStore {
    path: PathBuf,
    // In this order: the writer closes last, and the last connection to close cleans up the write-ahead log.
    pool: Arc<Pool>,
    writer: Arc<Writer>,
    facets: Arc<Facets>,
    changes: Arc<ChangeTable>,
    value_caches: Arc<ValueCaches>,
    counters: Arc<Counters>,
    update_locks: Arc<crate::StripedLocks>,
    retention: Option<Duration>,
    /// Whether the write-ahead log may contain deleted texts.
    truncate_due: Arc<AtomicBool>,
}

/// The cost of collection reads since the start.
#[derive(Default)]
struct Counters {
    rows: AtomicU64,
    runs: AtomicU64,
}

impl Counters {
    fn add_rows(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    fn add_runs(&self, runs: u64) {
        self.runs.fetch_add(runs, Ordering::Relaxed);
    }
}

impl SqliteStore {
    /// Whether opening this file would migrate its schema. A file that cannot be read fails when it is opened.
    pub fn needs_upgrade(path: &Path) -> bool {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(path, flags).map_err(Into::into);
        opened.and_then(|connection| schema::is_older(&connection)).unwrap_or(false)
    }

    /// Opens the file, creates it if it does not exist, and migrates its schema, after a backup beside it.
    pub fn open(path: &Path, options: Options) -> Result<SqliteStore> {
        connect::create_file(path)?;
        let writer = connect::writer(path, &options)?;
        let readers = (0..options.readers.max(1)).map(|_| connect::reader(path, &options));
        let pool = Pool::new(readers.collect::<Result<_>>()?);
        let facets = Arc::new(Facets::default());
        let changes = ChangeTable::start(&writer, connect::reader(path, &options)?, options.notes)?;
        let writer = Writer::start(writer, Arc::clone(&facets), Arc::clone(&changes), options.queue)?;
        Ok(SqliteStore {
            path: path.to_owned(),
            pool,
            writer: Arc::new(writer),
            facets,
            changes,
            value_caches: Arc::default(),
            counters: Arc::default(),
            update_locks: Arc::default(),
            retention: options.retention,
            truncate_due: Arc::default(),
        })
    }

    /// The number of entry rows that slices and arrivals have read since the start.
    pub fn rows_stepped(&self) -> u64 {
        self.counters.rows.load(Ordering::Relaxed)
    }

    /// The number of runs that slices have found in the directory since the start.
    pub fn runs_visited(&self) -> u64 {
        self.counters.runs.load(Ordering::Relaxed)
    }

    /// A short read of one statement.
    async fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T> + Send) -> Result<T> {
        self.pool.inline(work).await
    }

    /// A short read of several statements, all of one snapshot.
    async fn read_snapshot<T>(&self, work: impl FnOnce(&Connection) -> Result<T> + Send) -> Result<T> {
        self.pool.inline(|connection| pool::snapshot(connection, || work(connection))).await
    }

    /// A read that may take long.
    async fn read_long<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.pool.blocking(work).await
    }

    /// A write in a transaction. It is durable when this returns.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.writer.write(work).await
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn ping(&self) -> Result<()> {
        let any = "SELECT 1 FROM sqlite_schema LIMIT 1";
        self.read(|connection| Ok(connection.prepare_cached(any)?.query_row([], |_| Ok(()))?)).await
    }

    async fn durability_warnings(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    async fn broadcast(&self, _notice: &crate::Notice) -> Result<()> {
        Ok(())
    }

    async fn subscribe(&self) -> Result<Option<crate::Notices>> {
        Ok(None)
    }

    async fn set_once(&self, name: &str, value: &str) -> Result<String> {
        let (name, value) = (name.to_owned(), value.to_owned());
        self.write(move |connection| {
            connection
                .prepare_cached("INSERT INTO fact (name, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
                .execute([&name, &value])?;
            let mut stored = connection.prepare_cached("SELECT value FROM fact WHERE name = ?1")?;
            Ok(stored.query_row([&name], |row| row.get(0))?)
        })
        .await
    }

    async fn forget_expired(&self, now: Millis) -> Result<()> {
        self.delete_expired(now).await?;
        self.delete_older_than_retention(now).await
    }

    async fn storage_use(&self, accounts: usize) -> Result<Option<crate::StorageUse>> {
        self.sizes(accounts).await.map(Some)
    }

    fn searches_text(&self) -> bool {
        true
    }

    fn changes(&self) -> Option<&dyn Changes> {
        Some(self.changes.as_ref())
    }

    fn update_locks(&self) -> &crate::StripedLocks {
        &self.update_locks
    }
}

//! One machine: everything in one SQLite file.
//!
//! - **Writes** go through one thread that commits them in groups (`writer`); another process may write to
//!   the same file meanwhile (a command beside the running service), so positions and versions are always
//!   asked of the file, never remembered.
//! - **Reads** run right on the calling thread, with a connection from a small pool (`pool`): a page is made
//!   of several. Looking an account up costs 2 to 3.5 µs of CPU in all that way, and 7 to 19 µs handed to a
//!   thread that may block (`measure`, 16 callers on 2 cores). What takes longer (listings, backups, checks)
//!   goes to such a thread.
//! - **Collections** are runs of one facet in one reason, merged when they are read (`feed`).

mod accounts;
mod activities;
mod backup;
mod connect;
mod copying;
mod credentials;
mod entries;
mod facets;
mod fanout_mode;
mod feed;
mod grants;
mod graph;
mod log;
#[cfg(test)]
mod measure;
mod networks;
mod pool;
mod schema;
mod sources;
mod values;
mod writer;

use crate::{Result, Store};
use async_trait::async_trait;
use facets::Facets;
use pool::Pool;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use writer::Writer;

/// Prepared statements that each connection keeps: more than this engine has.
const STATEMENTS: usize = 160;

/// How the file is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connections for reading; as many reads run at once.
    pub readers: usize,
    /// How long to wait for another process that is writing.
    pub busy_timeout: Duration,
    /// How many writes may wait; who comes then waits before that.
    pub queue: usize,
    /// Answers without waiting for the disk. Only for tests: a loss of power loses what was answered.
    pub synchronous_off: bool,
}

impl Default for Options {
    fn default() -> Options {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Options {
            readers: cores.max(4),
            busy_timeout: Duration::from_secs(5),
            queue: 2_000,
            synchronous_off: false,
        }
    }
}

/// A store in one file. Clones share it; the last one closes it.
#[derive(Clone)]
pub struct SqliteStore {
    path: PathBuf,
    // In this order: the writer closes last, and whoever closes last tidies the write-ahead log up.
    pool: Arc<Pool>,
    writer: Arc<Writer>,
    facets: Arc<Facets>,
    recent: Arc<feed::Recent>,
    counters: Arc<Counters>,
    update_gates: Arc<crate::Gates>,
}

/// What reading collections has cost since the start.
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
    /// Opens the file, makes it if there is none, and brings its schema up to date.
    pub fn open(path: &Path, options: Options) -> Result<SqliteStore> {
        connect::create_file(path)?;
        let writer = connect::writer(path, &options)?;
        let readers = (0..options.readers.max(1)).map(|_| connect::reader(path, &options));
        let pool = Pool::new(readers.collect::<Result<_>>()?);
        let facets = Arc::new(Facets::default());
        let writer = Arc::new(Writer::start(writer, Arc::clone(&facets), options.queue)?);
        Ok(SqliteStore {
            path: path.to_owned(),
            pool,
            writer,
            facets,
            recent: Arc::default(),
            counters: Arc::default(),
            update_gates: Arc::default(),
        })
    }

    /// How many entries' rows slices and arrivals have read since the start.
    pub fn rows_stepped(&self) -> u64 {
        self.counters.rows.load(Ordering::Relaxed)
    }

    /// How many runs slices have met in the directory since the start.
    pub fn runs_visited(&self) -> u64 {
        self.counters.runs.load(Ordering::Relaxed)
    }

    /// A short read of one statement.
    async fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T> + Send) -> Result<T> {
        self.pool.inline(work).await
    }

    /// A short read of several statements, all of one moment.
    async fn read_together<T>(&self, work: impl FnOnce(&Connection) -> Result<T> + Send) -> Result<T> {
        self.pool.inline(|connection| pool::at_one_moment(connection, || work(connection))).await
    }

    /// A read that may take long.
    async fn read_long<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.pool.aside(work).await
    }

    /// A write in a transaction; it has happened durably when this returns.
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
            let mut fixed = connection.prepare_cached("SELECT value FROM fact WHERE name = ?1")?;
            Ok(fixed.query_row([&name], |row| row.get(0))?)
        })
        .await
    }

    fn update_gates(&self) -> &crate::Gates {
        &self.update_gates
    }
}

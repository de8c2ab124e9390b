//! The engine for a cluster: collections and identities in Apache Cassandra or ScyllaDB, the delivery log in NATS
//! JetStream.
//!
//! Writes avoid reading first, and they commute: the timestamp of a cell comes from its content. An operation that
//! must happen once is a conditional write of one row. An operation of several steps stores an intent before the
//! first one, and any process that finds an unfinished intent finishes it.

mod accounts;
mod activities;
mod audit;
mod compaction;
mod connect;
mod connections;
mod copying;
mod credentials;
mod db;
mod dead_letters;
mod edge_dormancy;
mod erasure;
mod expiry;
mod fanout_mode;
mod feed;
mod grants;
mod graph;
mod hooks;
mod leases;
mod log;
mod lwt;
mod name_index;
#[cfg(feature = "next-schema")]
mod next_schema;
mod polling;
mod relations;
mod replicas;
mod replication;
mod retries;
mod scan;
mod schema;
mod schema_version;
mod seen;
mod sessions;
mod sources;
mod speculation;
mod sweep;
mod usage;

pub use connect::Nodes;
pub use schema::PROGRAM_VERSION;
pub use schema_version::SchemaVersion;
pub use speculation::Speculation;

use crate::jetstream::{JetStream, Servers};
use crate::{Notice, Notices, Result, Store};
use async_trait::async_trait;
use compaction::Compaction;
use db::{Db, Outcome, Query, corrupt};
use futures::{StreamExt, TryStreamExt, stream};
use lwt::Lwt;
use model::{Millis, Position};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use uuid::Uuid;

/// Later than every time. `LATEST - time` is a timestamp with which the earliest time wins.
const LATEST: i64 = 4_000_000_000_000;

/// Concurrent statements of one call.
const CONCURRENCY: usize = 32;

/// Runs calls concurrently, up to [`CONCURRENCY`]. The results are in the order of the calls.
async fn concurrently<T, F>(calls: impl IntoIterator<Item = F>) -> Result<Vec<T>>
where
    F: Future<Output = Result<T>>,
{
    // Collected first, because the compiler does not accept a borrowing stream as `Send` here.
    let calls: Vec<F> = calls.into_iter().collect();
    stream::iter(calls).buffered(CONCURRENCY).try_collect().await
}

/// The store of a cluster.
pub struct CqlStore {
    db: Arc<Db>,
    log: Arc<JetStream>,
    directory: feed::Directory,
    /// The first position with stored arrivals, and the hour for which it was read.
    oldest: Mutex<Option<(i64, Position)>>,
    polling: polling::ShardScans,
    retries: retries::KnownRetries,
    settled: Mutex<sweep::SettledMinutes>,
    update_locks: crate::StripedLocks,
    usage: Arc<usage::UsageMeter>,
    /// The name of this process as a lease holder.
    name: String,
    /// The age, by the time of receipt, from which entries and bodies expire. `None`: never.
    retention: Option<Duration>,
}

impl CqlStore {
    /// Opens the store. Its tables must exist; see [`apply_schema`].
    pub async fn open(nodes: &Nodes, servers: &Servers) -> Result<CqlStore> {
        let db = Arc::new(Db::connect(nodes).await?);
        SchemaVersion::demand(&db).await?;
        let log = log::connect(&db, servers).await?;
        sweep::prepare(&db).await?;
        polling::prepare(&db).await?;
        let name = Uuid::now_v7().to_string();
        let usage = usage::UsageMeter::start(Arc::clone(&db));
        Ok(CqlStore {
            db,
            log,
            directory: feed::Directory::default(),
            oldest: Mutex::default(),
            polling: polling::ShardScans::default(),
            retries: retries::KnownRetries::default(),
            settled: Mutex::default(),
            update_locks: crate::StripedLocks::default(),
            usage,
            name,
            retention: None,
        })
    }

    /// Differences between the settings and the keyspaces and the stream that exist.
    pub async fn setting_warnings(&self) -> Result<Vec<String>> {
        let mut warnings = replication::setting_warnings(&self.db).await?;
        warnings.extend(self.log.setting_warnings().await?);
        Ok(warnings)
    }

    /// Lets entries and bodies expire that are older than this, by the time of receipt. It concerns what is written
    /// from now on.
    #[must_use]
    pub fn with_retention(self, retention: Option<Duration>) -> CqlStore {
        CqlStore { retention, ..self }
    }

    /// The number of statements sent and of rows received since the start.
    pub fn counted(&self) -> (u64, u64) {
        self.db.counted()
    }

    /// The number of requests to NATS for the floor since the start.
    pub fn floor_requests(&self) -> u64 {
        self.log.floor_requests()
    }
}

/// The statements that [`apply_schema`] would run.
pub async fn plan_schema(nodes: &Nodes, retention: Option<Duration>) -> Result<Vec<String>> {
    let db = Db::connect(nodes).await?;
    let compaction = Compaction::of(&db, retention).await?;
    let mut statements = schema::plan(&db, schema::is_scylla(&db).await?, &compaction);
    statements.extend(compaction.changes(&db).await?);
    Ok(statements)
}

/// The version of the stored schema. `None`: there is none.
pub async fn stored_schema(nodes: &Nodes) -> Result<Option<SchemaVersion>> {
    SchemaVersion::stored(&Db::connect(nodes).await?).await
}

/// Creates missing tables, and changes the compaction of tables where the engine or the retention demands another one.
/// Safe to repeat, and while other processes serve.
pub async fn apply_schema(
    nodes: &Nodes,
    retention: Option<Duration>,
    progress: &mut (dyn FnMut(&str) + Send),
) -> Result<()> {
    let db = Db::connect(nodes).await?;
    let compaction = Compaction::of(&db, retention).await?;
    schema::apply(&db, &compaction, progress).await?;
    compaction.apply(&db, progress).await
}

const FACT: Query = Query::read("SELECT value FROM ident.fact WHERE name = ?");
const SET_ONCE: Lwt = Lwt::new(
    "INSERT INTO ident.fact (name, value, op) VALUES (?, ?, ?) IF NOT EXISTS",
    "SELECT op FROM ident.fact WHERE name = ?",
);

#[async_trait]
impl Store for CqlStore {
    async fn ping(&self) -> Result<()> {
        self.db.row::<(String,)>(&FACT, ("ping",)).await.map(drop)
    }

    async fn durability_warnings(&self) -> Result<Vec<String>> {
        let mut durability_warnings = self.db.durability_warnings().await?;
        durability_warnings.extend(self.log.durability_warnings().await);
        Ok(durability_warnings)
    }

    async fn broadcast(&self, notice: &Notice) -> Result<()> {
        self.log.broadcast(notice).await
    }

    async fn subscribe(&self) -> Result<Option<Notices>> {
        self.log.subscribe().await.map(Some)
    }

    async fn set_once(&self, name: &str, value: &str) -> Result<String> {
        let op = Uuid::new_v4();
        let ours = |found: Option<(Uuid,)>| found.map(|(by,)| by == op);
        if self.db.apply_lwt(&SET_ONCE, (name, value, op), (name,), ours).await? {
            return Ok(value.to_owned());
        }
        let found: Option<(String,)> = self.db.row(&FACT, (name,)).await?;
        found.map(|(value,)| value).ok_or_else(|| corrupt(format!("fact {name} was set but is missing")))
    }

    /// The database expires rows itself.
    async fn forget_expired(&self, _now: Millis) -> Result<()> {
        Ok(())
    }

    async fn storage_use(&self, _accounts: usize) -> Result<Option<crate::StorageUse>> {
        Ok(None)
    }

    fn searches_text(&self) -> bool {
        false
    }

    fn update_locks(&self) -> &crate::StripedLocks {
        &self.update_locks
    }
}

//! Very many accounts on very many machines: collections and identities in Apache Cassandra or ScyllaDB, the delivery log
//! in NATS JetStream.
//!
//! Nothing here reads before it writes where it can be helped, and nothing is written twice differently: a cell's
//! timestamp comes from what is written, so that writes commute. What must happen once is a conditional write of one
//! row. What takes several steps is stored whole before the first one, and whoever finds it unfinished finishes it.

mod accounts;
mod activities;
mod connections;
mod copying;
mod credentials;
mod db;
mod edge_dormancy;
mod fanout_mode;
mod feed;
mod grants;
mod graph;
mod leases;
mod log;
mod lwt;
mod message;
mod networks;
mod polling;
mod scan;
mod schema;
mod sources;
mod sweep;

pub use db::Nodes;

use crate::jetstream::{JetStream, Servers};
use crate::{Notice, Notices, Result, Store};
use async_trait::async_trait;
use db::{Db, Outcome, Query, corrupt};
use futures::{StreamExt, TryStreamExt, stream};
use lwt::Lwt;
use model::Position;
use std::sync::{Arc, Mutex};
use uuid::Uuid;

/// Above every time that there is: a number that grows as a time falls is this less the time.
const LATEST: i64 = 4_000_000_000_000;

/// How many single rows are asked for at once.
const CONCURRENCY: usize = 32;

/// Waits for many, so many at once; their results line up.
async fn together<T, F>(calls: impl IntoIterator<Item = F>) -> Result<Vec<T>>
where
    F: Future<Output = Result<T>>,
{
    // Collected first: a stream that borrows what its closures borrow is not `Send` enough for the compiler.
    let calls: Vec<F> = calls.into_iter().collect();
    stream::iter(calls).buffered(CONCURRENCY).try_collect().await
}

/// The store of a cluster.
pub struct CqlStore {
    db: Arc<Db>,
    log: JetStream,
    directory: feed::Directory,
    /// Where arrivals began that were kept, and up to which hour that was asked for.
    oldest: Mutex<Option<(i64, Position)>>,
    polling: polling::Walks,
    update_gates: crate::Gates,
    /// By which leases tell this process from others.
    name: String,
}

impl CqlStore {
    /// Opens the store; its tables are there already.
    pub async fn open(nodes: &Nodes, servers: &Servers) -> Result<CqlStore> {
        let db = Arc::new(Db::connect(nodes).await?);
        let log = log::connect(&db, servers).await?;
        sweep::prepare(&db).await?;
        polling::prepare(&db).await?;
        let name = Uuid::now_v7().to_string();
        Ok(CqlStore {
            db,
            log,
            directory: feed::Directory::default(),
            oldest: Mutex::default(),
            polling: polling::Walks::default(),
            update_gates: crate::Gates::default(),
            name,
        })
    }

    /// How many statements were sent, and how many rows came back, since it was opened.
    pub fn counted(&self) -> (u64, u64) {
        self.db.counted()
    }
}

/// The statements that [`apply_schema`] would run.
pub async fn plan_schema(nodes: &Nodes) -> Result<Vec<String>> {
    let db = Db::connect(nodes).await?;
    Ok(schema::plan(&db, schema::is_scylla(&db).await?))
}

/// Makes the tables that are missing; safe to run twice, and while others serve.
pub async fn apply_schema(nodes: &Nodes, progress: &mut (dyn FnMut(&str) + Send)) -> Result<()> {
    schema::apply(&Db::connect(nodes).await?, progress).await
}

const FACT: Query = Query::read("SELECT value FROM ident.fact WHERE name = ?");
const SET_ONCE: Lwt = Lwt::new(
    "INSERT INTO ident.fact (name, value, op) VALUES (?, ?, ?) IF NOT EXISTS",
    "SELECT op FROM ident.fact WHERE name = ?",
);

#[async_trait]
impl Store for CqlStore {
    async fn ping(&self) -> Result<()> {
        self.db.row::<(String,)>(&FACT, ("ping",)).await?;
        self.log.ping().await
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
        if self.db.take(&SET_ONCE, (name, value, op), (name,), ours).await? {
            return Ok(value.to_owned());
        }
        let found: Option<(String,)> = self.db.row(&FACT, (name,)).await?;
        found.map(|(value,)| value).ok_or_else(|| corrupt(format!("{name} was fixed and is not there")))
    }

    fn update_gates(&self) -> &crate::Gates {
        &self.update_gates
    }
}

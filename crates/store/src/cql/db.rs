//! Access to the database: a session, prepared statements, and the classification of errors.

use super::connect::{Connection, Nodes, TIMEOUT, connect};
use super::speculation::Latencies;
use crate::{Result, StoreError, StripedLocks, telemetry};
use model::{ActivityId, Fnv};
use scylla::client::execution_profile::{ExecutionProfile, ExecutionProfileHandle};
use scylla::client::session::Session;
use scylla::cluster::Node;
use scylla::deserialize::row::DeserializeRow;
use scylla::errors::{DbError, ExecutionError, RequestAttemptError};
use scylla::policies::load_balancing::{
    LoadBalancingPolicy, NodeIdentifier, SingleTargetLoadBalancingPolicy,
};
use scylla::response::query_result::QueryRowsResult;
use scylla::serialize::batch::BatchValues;
use scylla::serialize::row::SerializeRow;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use scylla::statement::{Consistency, Statement};
use scylla::value::{CqlValue, Row};
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// The timeout of a schema change: busy nodes take seconds.
const SCHEMA_TIMEOUT: Duration = Duration::from_secs(60);

/// Attempts of a statement that a node has evicted from its cache of prepared statements: the driver prepares it again,
/// and a node with too small a cache may evict it before it executes it.
const MAX_PREPARATIONS: usize = 10;

/// A statement. `feed.` and `ident.` in its text are placeholders for the two keyspaces.
pub(super) struct Query {
    text: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Read,
    Serial,
    Write,
    Conditional,
}

impl Kind {
    /// Its name in metrics.
    fn name(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::Serial => "serial",
            Kind::Write => "write",
            Kind::Conditional => "conditional",
        }
    }
}

impl Query {
    /// A read from a quorum.
    pub(super) const fn read(text: &'static str) -> Query {
        Query { text, kind: Kind::Read }
    }

    /// A serial read of a row that is only written conditionally. It completes a pending lightweight transaction.
    pub(super) const fn serial(text: &'static str) -> Query {
        Query { text, kind: Kind::Serial }
    }

    /// A write to a quorum. It must be idempotent.
    pub(super) const fn write(text: &'static str) -> Query {
        Query { text, kind: Kind::Write }
    }

    /// A conditional write (lightweight transaction). The driver never retries it.
    pub(super) const fn conditional(text: &'static str) -> Query {
        Query { text, kind: Kind::Conditional }
    }
}

/// The outcome of a conditional write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The condition held, and the row was written.
    Applied,
    /// The condition did not hold, and nothing was changed.
    Refused,
    /// Unknown: the row must be read.
    Unknown,
}

/// The database.
pub(super) struct Db {
    pub(super) session: Session,
    /// The session's order of nodes for a statement.
    pub(super) balancing: Arc<dyn LoadBalancingPolicy>,
    /// Recorded if speculative execution needs them.
    latencies: Option<Arc<Latencies>>,
    nodes: Nodes,
    prepared: RwLock<HashMap<(&'static str, Kind), PreparedStatement>>,
    statements: AtomicU64,
    rows: AtomicU64,
    /// The number of reads of several partitions, which take turns among the nodes.
    pub(super) turns: AtomicUsize,
    locks: StripedLocks,
}

impl Db {
    /// Connects to the nodes.
    pub(super) async fn connect(nodes: &Nodes) -> Result<Db> {
        let Connection { session, balancing, latencies } = connect(nodes).await?;
        Ok(Db {
            session,
            balancing,
            latencies,
            nodes: nodes.clone(),
            prepared: RwLock::default(),
            statements: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            turns: AtomicUsize::new(0),
            locks: StripedLocks::default(),
        })
    }

    /// The lock for conditional writes of a row. Rows may share one.
    pub(super) fn lock_for(&self, key: &impl Debug) -> &tokio::sync::Mutex<()> {
        self.locks.of(key)
    }

    /// The nodes.
    pub(super) fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// The number of statements sent and of rows received since the start.
    pub(super) fn counted(&self) -> (u64, u64) {
        (self.statements.load(Ordering::Relaxed), self.rows.load(Ordering::Relaxed))
    }

    /// The text of a statement with the names of the keyspaces.
    pub(super) fn with_keyspaces(&self, text: &str) -> String {
        let Nodes { keyspace, .. } = &self.nodes;
        text.replace("ident.", &format!("{keyspace}_ident.")).replace("feed.", &format!("{keyspace}."))
    }

    /// Runs a statement without preparing it, to read system tables.
    pub(super) async fn query_unprepared(&self, text: String) -> Result<Option<QueryRowsResult>> {
        let mut statement = Statement::new(text);
        statement.set_request_timeout(Some(SCHEMA_TIMEOUT));
        let response = self.session.query_unpaged(statement, &[]).await.map_err(failed)?;
        Ok(response.into_rows_result().ok())
    }

    /// Runs schema changes in sequence on one node, the same one for every process: two nodes that create the same
    /// table concurrently end with different schemas. The other nodes learn of each change while the next one runs.
    pub(super) async fn change_schema(&self, statements: impl Iterator<Item = String>) -> Result<()> {
        let Nodes { nodes, datacenter, .. } = &self.nodes;
        let state = self.session.get_cluster_state();
        let reachable = state.get_nodes_info().iter().filter(|node| node.is_connected());
        let local = reachable.filter(|node| node.datacenter.as_deref() == Some(datacenter));
        let node = local.min_by_key(|node| node.host_id).ok_or_else(|| {
            let nodes = nodes.join(", ");
            StoreError::Unavailable(format!("no node of datacenter {datacenter} is reachable at {nodes}"))
        })?;
        let profile = on_node(node);
        for statement in statements {
            let mut statement = Statement::new(statement);
            statement.set_request_timeout(Some(SCHEMA_TIMEOUT));
            statement.set_execution_profile_handle(Some(profile.clone()));
            self.session.query_unpaged(statement, &[]).await.map_err(failed)?;
        }
        Ok(())
    }

    /// Waits until all reachable nodes have the same schema.
    pub(super) async fn await_schema_agreement(&self) -> Result<()> {
        let agreed = self.session.await_schema_agreement().await;
        agreed
            .map(drop)
            .map_err(|error| StoreError::Unavailable(format!("the nodes have different schemas: {error}")))
    }

    /// Settings under which an acknowledged write could be lost, from every reachable node.
    pub(super) async fn durability_warnings(&self) -> Result<Vec<String>> {
        let scylla = super::schema::is_scylla(self).await?;
        let text = match scylla {
            true => "SELECT value FROM system.config WHERE name = 'commitlog_sync'",
            false => "SELECT value FROM system_views.settings WHERE name = 'commitlog_sync'",
        };
        let mut durability_warnings = Vec::new();
        for node in self.session.get_cluster_state().get_nodes_info() {
            if !node.is_connected() {
                continue;
            }
            let mut statement = Statement::new(text);
            statement.set_execution_profile_handle(Some(on_node(node)));
            let response = self.session.query_unpaged(statement, &[]).await.map_err(failed)?;
            let rows = response.into_rows_result().map_err(|error| corrupt(error.to_string()))?;
            let found = rows.maybe_first_row::<(String,)>().map_err(|error| corrupt(error.to_string()))?;
            let sync = found.map_or_else(String::new, |(value,)| value.trim_matches('"').to_owned());
            if sync != "batch" && sync != "group" {
                durability_warnings.push(format!(
                    "the node {} acknowledges writes before they are synced: set commitlog_sync to group or batch instead of {sync}",
                    node.address
                ));
            }
        }
        Ok(durability_warnings)
    }

    async fn prepare(&self, query: &Query) -> Result<PreparedStatement> {
        // One text can be used with two consistency levels.
        let key = (query.text, query.kind);
        if let Some(known) = self.prepared.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(known.clone());
        }
        let unavailable = |error| StoreError::Unavailable(format!("{error}: {}", query.text));
        let mut prepared =
            self.session.prepare(self.with_keyspaces(query.text)).await.map_err(unavailable)?;
        match query.kind {
            Kind::Read | Kind::Write => prepared.set_is_idempotent(true),
            Kind::Serial => prepared.set_consistency(Consistency::LocalSerial),
            Kind::Conditional => prepared.set_is_idempotent(false),
        }
        // The columns of a conditional write's result depend on its outcome.
        prepared.set_use_cached_result_metadata(query.kind != Kind::Conditional);
        let mut known = self.prepared.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(key, prepared.clone());
        Ok(prepared)
    }

    async fn execute(
        &self,
        query: &Query,
        values: impl SerializeRow,
    ) -> std::result::Result<Option<QueryRowsResult>, Failure> {
        self.execute_with(None, query, values).await
    }

    async fn execute_with(
        &self,
        profile: Option<ExecutionProfileHandle>,
        query: &Query,
        values: impl SerializeRow,
    ) -> std::result::Result<Option<QueryRowsResult>, Failure> {
        let mut prepared = self.prepare(query).await.map_err(Failure::Store)?;
        if profile.is_some() {
            prepared.set_execution_profile_handle(profile);
        }
        self.statements.fetch_add(1, Ordering::Relaxed);
        let failed = |error| Failure::Execution(Box::new(error));
        let started = Instant::now();
        let mut attempt = 1;
        let response = loop {
            let response = self.session.execute_unpaged(&prepared, &values).await;
            match &response {
                Err(error) if attempt < MAX_PREPARATIONS && is_unprepared(error) => attempt += 1,
                _ => break response,
            }
        };
        let took = started.elapsed();
        telemetry::cql_request(query.kind.name(), took, response.is_err());
        // Only idempotent statements are sent twice.
        if let (Some(latencies), Kind::Read | Kind::Write) = (&self.latencies, query.kind) {
            latencies.record(took);
        }
        let response = response.map_err(failed)?;
        let rows = response.into_rows_result().ok();
        self.rows.fetch_add(rows.as_ref().map_or(0, |rows| rows.rows_num() as u64), Ordering::Relaxed);
        Ok(rows)
    }

    /// The rows of a statement, which contains its own limit.
    pub(super) async fn rows<R>(&self, query: &Query, values: impl SerializeRow) -> Result<Vec<R>>
    where
        R: for<'r> DeserializeRow<'r, 'r>,
    {
        self.rows_with(None, query, values).await
    }

    /// The rows of a statement that is executed with this profile instead of the session's.
    pub(super) async fn rows_with<R>(
        &self,
        profile: Option<ExecutionProfileHandle>,
        query: &Query,
        values: impl SerializeRow,
    ) -> Result<Vec<R>>
    where
        R: for<'r> DeserializeRow<'r, 'r>,
    {
        let Some(rows) = self.execute_with(profile, query, values).await.map_err(Failure::of_read)? else {
            return Ok(Vec::new());
        };
        let typed = rows.rows::<R>().map_err(|error| corrupt(format!("{error}: {}", query.text)))?;
        typed.map(|row| row.map_err(|error| corrupt(format!("{error}: {}", query.text)))).collect()
    }

    /// The first row of a statement, if there is one.
    pub(super) async fn row<R>(&self, query: &Query, values: impl SerializeRow) -> Result<Option<R>>
    where
        R: for<'r> DeserializeRow<'r, 'r>,
    {
        Ok(self.rows(query, values).await?.into_iter().next())
    }

    /// Writes to a quorum.
    pub(super) async fn write(&self, query: &Query, values: impl SerializeRow) -> Result<()> {
        self.execute(query, values).await.map(drop).map_err(Failure::of_write)
    }

    /// Writes rows of one partition to a quorum, with one request.
    pub(super) async fn write_rows(&self, query: &Query, rows: Vec<impl SerializeRow>) -> Result<()> {
        let prepared = self.prepare(query).await?;
        let mut batch = Batch::new(BatchType::Unlogged);
        rows.iter().for_each(|_| batch.append_statement(prepared.clone()));
        self.write_batch(batch, rows).await
    }

    /// Executes two writes of one row together: the row has either both or none of them.
    pub(super) async fn write_both(
        &self,
        first: &Query,
        second: &Query,
        values: (impl SerializeRow, impl SerializeRow),
    ) -> Result<()> {
        let mut batch = Batch::new(BatchType::Unlogged);
        batch.append_statement(self.prepare(first).await?);
        batch.append_statement(self.prepare(second).await?);
        self.write_batch(batch, values).await
    }

    async fn write_batch(&self, mut batch: Batch, values: impl BatchValues) -> Result<()> {
        batch.set_is_idempotent(true);
        self.statements.fetch_add(1, Ordering::Relaxed);
        let started = Instant::now();
        let written = self.session.batch(&batch, values).await;
        telemetry::cql_request("batch", started.elapsed(), written.is_err());
        written.map(drop).map_err(|error| Failure::Execution(Box::new(error)).of_write())
    }

    /// Executes a conditional write.
    pub(super) async fn conditional(&self, query: &Query, values: impl SerializeRow) -> Result<Outcome> {
        let rows = match self.execute(query, values).await {
            Ok(rows) => rows,
            Err(Failure::Execution(error)) if may_have_applied(&error) => return Ok(Outcome::Unknown),
            Err(failure) => return Err(failure.of_read()),
        };
        // The engines return different columns besides this one.
        let applied = rows.as_ref().and_then(|rows| {
            let (at, _) = rows.column_specs().get_by_name("[applied]")?;
            let row: Row = rows.rows().ok()?.next()?.ok()?;
            match row.columns.get(at)? {
                Some(CqlValue::Boolean(applied)) => Some(*applied),
                _ => None,
            }
        });
        match applied {
            Some(true) => Ok(Outcome::Applied),
            Some(false) => Ok(Outcome::Refused),
            None => Err(corrupt(format!("conditional write without an outcome: {}", query.text))),
        }
    }
}

enum Failure {
    Store(StoreError),
    Execution(Box<ExecutionError>),
}

impl Failure {
    fn of_read(self) -> StoreError {
        match self {
            Failure::Store(error) => error,
            Failure::Execution(error) => StoreError::Unavailable(error.to_string()),
        }
    }

    fn of_write(self) -> StoreError {
        match self {
            Failure::Execution(error) if may_have_applied(&error) => StoreError::Unknown(error.to_string()),
            failure => failure.of_read(),
        }
    }
}

/// An execution profile that sends statements to this node only.
fn on_node(node: &Arc<Node>) -> ExecutionProfileHandle {
    let target = NodeIdentifier::Node(Arc::clone(node));
    ExecutionProfile::builder()
        .consistency(Consistency::One)
        .request_timeout(Some(TIMEOUT))
        .load_balancing_policy(SingleTargetLoadBalancingPolicy::new(target, None))
        .build()
        .into_handle()
}

fn failed(error: ExecutionError) -> StoreError {
    StoreError::Unavailable(error.to_string())
}

/// Whether the node did not execute the statement because it does not know it.
fn is_unprepared(error: &ExecutionError) -> bool {
    matches!(
        error,
        ExecutionError::LastAttemptError(RequestAttemptError::DbError(DbError::Unprepared { .. }, _))
    )
}

/// Whether a write that failed like this may have taken effect, or still will.
fn may_have_applied(error: &ExecutionError) -> bool {
    match error {
        ExecutionError::BadQuery(_) | ExecutionError::EmptyPlan | ExecutionError::PrepareError(_) => false,
        ExecutionError::ConnectionPoolError(_) => false,
        ExecutionError::LastAttemptError(RequestAttemptError::DbError(error, _)) => !matches!(
            error,
            DbError::Unavailable { .. }
                | DbError::Invalid
                | DbError::SyntaxError
                | DbError::Overloaded
                | DbError::Unprepared { .. }
        ),
        _ => true,
    }
}

/// An activity identifier as a column value.
pub(super) fn uuid(id: ActivityId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}

/// The activity identifier of a column value.
pub(super) fn activity_id(id: Uuid) -> Result<ActivityId> {
    ActivityId::from_bytes(id.into_bytes()).ok_or_else(|| corrupt("invalid activity identifier"))
}

/// The hash of a name, modulo `slots`. It determines where rows are stored, so it must be the same in every build.
pub(super) fn hash_slot(name: &[u8], slots: u64) -> u64 {
    let hash = Fnv::new().bytes(name).finish();
    // The upper half is better mixed than the lower.
    (hash ^ hash >> 32) % slots
}

/// An invalid stored value.
pub(super) fn corrupt(what: impl Into<String>) -> StoreError {
    StoreError::Corrupt(what.into())
}

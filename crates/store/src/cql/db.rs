//! The way to the database: a session, prepared statements, and what an answer or its absence means.

use crate::{Gates, Result, StoreError};
use model::{ActivityId, Fnv};
use scylla::client::execution_profile::{ExecutionProfile, ExecutionProfileHandle};
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::cluster::Node;
use scylla::deserialize::row::DeserializeRow;
use scylla::errors::{DbError, ExecutionError, RequestAttemptError};
use scylla::policies::load_balancing::{DefaultPolicy, NodeIdentifier, SingleTargetLoadBalancingPolicy};
use scylla::policies::retry::DefaultRetryPolicy;
use scylla::policies::speculative_execution::SimpleSpeculativeExecutionPolicy;
use scylla::response::query_result::QueryRowsResult;
use scylla::serialize::row::SerializeRow;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use scylla::statement::{Consistency, SerialConsistency, Statement};
use scylla::value::{CqlValue, Row};
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use uuid::Uuid;

/// How long a request may take before its outcome is unknown.
const TIMEOUT: Duration = Duration::from_secs(10);
/// When a read is sent to a second node as well.
const SECOND_TRY: Duration = Duration::from_millis(500);

/// How long a definition may take: nodes that are busy take seconds.
const DEFINITION_TIMEOUT: Duration = Duration::from_secs(60);

/// A statement. `feed.` and `ident.` in its text stand for the two keyspaces.
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

impl Query {
    /// Reads what a quorum has.
    pub(super) const fn read(text: &'static str) -> Query {
        Query { text, kind: Kind::Read }
    }

    /// Reads a row that is only written conditionally, and finishes what is under way there.
    pub(super) const fn serial(text: &'static str) -> Query {
        Query { text, kind: Kind::Serial }
    }

    /// Writes to a quorum. It must be safe to repeat.
    pub(super) const fn write(text: &'static str) -> Query {
        Query { text, kind: Kind::Write }
    }

    /// Writes on a condition (a lightweight transaction); never repeated by the driver.
    pub(super) const fn conditional(text: &'static str) -> Query {
        Query { text, kind: Kind::Conditional }
    }
}

/// What became of a conditional write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The condition held; it is written.
    Applied,
    /// The condition did not hold; nothing was changed.
    Refused,
    /// Nobody knows: read it back.
    Unknown,
}

/// Where the database is.
#[derive(Clone, Debug)]
pub struct Nodes {
    /// Addresses to begin with, `host:port`.
    pub nodes: Vec<String>,
    /// The datacenter whose nodes are asked.
    pub datacenter: String,
    /// The name of the keyspace for collections; the one for identities has `_ident` behind it.
    pub keyspace: String,
}

/// The database.
pub(super) struct Db {
    session: Session,
    nodes: Nodes,
    prepared: RwLock<HashMap<(&'static str, Kind), PreparedStatement>>,
    statements: AtomicU64,
    rows: AtomicU64,
    gates: Gates,
}

impl Db {
    /// Connects to the nodes.
    pub(super) async fn connect(nodes: &Nodes) -> Result<Db> {
        let policy =
            DefaultPolicy::builder().prefer_datacenter(nodes.datacenter.clone()).token_aware(true).build();
        let profile = ExecutionProfile::builder()
            .consistency(Consistency::LocalQuorum)
            .serial_consistency(Some(SerialConsistency::LocalSerial))
            .request_timeout(Some(TIMEOUT))
            .load_balancing_policy(policy)
            .retry_policy(Arc::new(DefaultRetryPolicy::new()))
            .speculative_execution_policy(Some(Arc::new(SimpleSpeculativeExecutionPolicy {
                max_retry_count: 1,
                retry_interval: SECOND_TRY,
            })))
            .build();
        let session = SessionBuilder::new()
            .known_nodes(&nodes.nodes)
            // To wait after each definition would take most of the time: `agree` waits once.
            .auto_await_schema_agreement(false)
            .default_execution_profile_handle(profile.into_handle())
            .build()
            .await
            .map_err(|error| StoreError::Unavailable(format!("Cassandra or ScyllaDB: {error}")))?;
        Ok(Db {
            session,
            nodes: nodes.clone(),
            prepared: RwLock::default(),
            statements: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            gates: Gates::default(),
        })
    }

    /// The gate before conditional writes of a row; rows may share one.
    pub(super) fn gate(&self, key: &impl Debug) -> &tokio::sync::Mutex<()> {
        self.gates.of(key)
    }

    /// Where it is.
    pub(super) fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// How many statements were sent, and how many rows came back, since the start.
    pub(super) fn counted(&self) -> (u64, u64) {
        (self.statements.load(Ordering::Relaxed), self.rows.load(Ordering::Relaxed))
    }

    /// The statement's text with the keyspaces' names.
    pub(super) fn named(&self, text: &str) -> String {
        let Nodes { keyspace, .. } = &self.nodes;
        text.replace("ident.", &format!("{keyspace}_ident.")).replace("feed.", &format!("{keyspace}."))
    }

    /// Runs a statement that reads the engine's own tables, as it is.
    pub(super) async fn plain(&self, text: String) -> Result<Option<QueryRowsResult>> {
        let mut statement = Statement::new(text);
        statement.set_request_timeout(Some(DEFINITION_TIMEOUT));
        let answer = self.session.query_unpaged(statement, &[]).await.map_err(failed)?;
        Ok(answer.into_rows_result().ok())
    }

    /// Runs definitions one after the other on one node, the same for every process: two nodes that define the same table at
    /// once come to different schemas. The others learn of each definition while the next one runs.
    pub(super) async fn define(&self, definitions: impl Iterator<Item = String>) -> Result<()> {
        let Nodes { nodes, datacenter, .. } = &self.nodes;
        let state = self.session.get_cluster_state();
        let reachable = state.get_nodes_info().iter().filter(|node| node.is_connected());
        let near = reachable.filter(|node| node.datacenter.as_deref() == Some(datacenter));
        let node = near.min_by_key(|node| node.host_id).ok_or_else(|| {
            let nodes = nodes.join(", ");
            StoreError::Unavailable(format!("no node of datacenter {datacenter} is reachable at {nodes}"))
        })?;
        let profile = on_node(node);
        for definition in definitions {
            let mut statement = Statement::new(definition);
            statement.set_request_timeout(Some(DEFINITION_TIMEOUT));
            statement.set_execution_profile_handle(Some(profile.clone()));
            self.session.query_unpaged(statement, &[]).await.map_err(failed)?;
        }
        Ok(())
    }

    /// Waits until all nodes that can be reached have the same schema.
    pub(super) async fn agree(&self) -> Result<()> {
        let agreed = self.session.await_schema_agreement().await;
        agreed
            .map(drop)
            .map_err(|error| StoreError::Unavailable(format!("the nodes' schemas differ: {error}")))
    }

    /// Why what a node acknowledges might get lost: asks every node that can be reached.
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
            let answer = self.session.query_unpaged(statement, &[]).await.map_err(failed)?;
            let rows = answer.into_rows_result().map_err(|error| corrupt(error.to_string()))?;
            let found = rows.maybe_first_row::<(String,)>().map_err(|error| corrupt(error.to_string()))?;
            let sync = found.map_or_else(String::new, |(value,)| value.trim_matches('"').to_owned());
            if sync != "batch" && sync != "group" {
                durability_warnings.push(format!(
                    "the node {} acknowledges before it syncs (commitlog_sync is {sync}); set it to group or batch",
                    node.address
                ));
            }
        }
        Ok(durability_warnings)
    }

    async fn prepare(&self, query: &Query) -> Result<PreparedStatement> {
        // One text can be meant in two fanout_mode.
        let key = (query.text, query.kind);
        if let Some(known) = self.prepared.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(known.clone());
        }
        let unavailable = |error| StoreError::Unavailable(format!("{error}: {}", query.text));
        let mut prepared = self.session.prepare(self.named(query.text)).await.map_err(unavailable)?;
        match query.kind {
            Kind::Read | Kind::Write => prepared.set_is_idempotent(true),
            Kind::Serial => prepared.set_consistency(Consistency::LocalSerial),
            Kind::Conditional => prepared.set_is_idempotent(false),
        }
        // What a conditional write gives back depends on what became of it.
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
        let prepared = self.prepare(query).await.map_err(Failure::Store)?;
        self.statements.fetch_add(1, Ordering::Relaxed);
        let failed = |error| Failure::Execution(Box::new(error));
        let answer = self.session.execute_unpaged(&prepared, values).await.map_err(failed)?;
        let rows = answer.into_rows_result().ok();
        self.rows.fetch_add(rows.as_ref().map_or(0, |rows| rows.rows_num() as u64), Ordering::Relaxed);
        Ok(rows)
    }

    /// The rows that a statement gives; it says itself how many at most.
    pub(super) async fn rows<R>(&self, query: &Query, values: impl SerializeRow) -> Result<Vec<R>>
    where
        R: for<'r> DeserializeRow<'r, 'r>,
    {
        let Some(rows) = self.execute(query, values).await.map_err(Failure::of_read)? else {
            return Ok(Vec::new());
        };
        let typed = rows.rows::<R>().map_err(|error| corrupt(format!("{error}: {}", query.text)))?;
        typed.map(|row| row.map_err(|error| corrupt(format!("{error}: {}", query.text)))).collect()
    }

    /// The row that a statement gives, if there is one.
    pub(super) async fn row<R>(&self, query: &Query, values: impl SerializeRow) -> Result<Option<R>>
    where
        R: for<'r> DeserializeRow<'r, 'r>,
    {
        Ok(self.rows(query, values).await?.into_iter().next())
    }

    /// Writes; when it returns, a quorum has it.
    pub(super) async fn write(&self, query: &Query, values: impl SerializeRow) -> Result<()> {
        self.execute(query, values).await.map(drop).map_err(Failure::of_write)
    }

    /// Writes rows of one partition with one request; when it returns, a quorum has them all.
    pub(super) async fn write_rows(&self, query: &Query, rows: Vec<impl SerializeRow>) -> Result<()> {
        let prepared = self.prepare(query).await?;
        let mut batch = Batch::new(BatchType::Unlogged);
        rows.iter().for_each(|_| batch.append_statement(prepared.clone()));
        batch.set_is_idempotent(true);
        self.statements.fetch_add(1, Ordering::Relaxed);
        let written = self.session.batch(&batch, rows).await;
        written.map(drop).map_err(|error| Failure::Execution(Box::new(error)).of_write())
    }

    /// Writes on a condition.
    pub(super) async fn conditional(&self, query: &Query, values: impl SerializeRow) -> Result<Outcome> {
        let rows = match self.execute(query, values).await {
            Ok(rows) => rows,
            Err(Failure::Execution(error)) if may_have_happened(&error) => return Ok(Outcome::Unknown),
            Err(failure) => return Err(failure.of_read()),
        };
        // Engines give more or fewer columns beside this one.
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
            None => Err(corrupt(format!("a condition without an outcome: {}", query.text))),
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
            Failure::Execution(error) if may_have_happened(&error) => StoreError::Unknown(error.to_string()),
            failure => failure.of_read(),
        }
    }
}

/// Statements with this profile go to that node and no other.
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

/// Whether a write that ended like this may have been done, now or later.
fn may_have_happened(error: &ExecutionError) -> bool {
    match error {
        ExecutionError::BadQuery(_) | ExecutionError::EmptyPlan | ExecutionError::PrepareError(_) => false,
        ExecutionError::ConnectionPoolError(_) => false,
        ExecutionError::LastAttemptError(RequestAttemptError::DbError(error, _)) => !matches!(
            error,
            DbError::Unavailable { .. } | DbError::Invalid | DbError::SyntaxError | DbError::Overloaded
        ),
        _ => true,
    }
}

/// An identifier as the database takes it.
pub(super) fn uuid(id: ActivityId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}

/// The identifier that the database gives.
pub(super) fn activity_id(id: Uuid) -> Result<ActivityId> {
    ActivityId::from_bytes(id.into_bytes()).ok_or_else(|| corrupt("an identifier of no activity"))
}

/// Where something lies among so many places. What is stored is found by it, so it is the same in every build.
pub(super) fn offset(name: &[u8], offsets: u64) -> u64 {
    let hash = Fnv::new().bytes(name).finish();
    // The upper half is mixed better than the lower.
    (hash ^ hash >> 32) % offsets
}

/// Something is stored that should not be.
pub(super) fn corrupt(what: impl Into<String>) -> StoreError {
    StoreError::Corrupt(what.into())
}

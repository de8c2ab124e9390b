//! The tables by schema version. Every statement is idempotent and may run while earlier versions serve: tables and
//! columns are only ever added.

use super::compaction::Compaction;
use super::connect::Nodes;
use super::db::{Db, corrupt};
use crate::Result;

pub(super) const VERSIONS: &[&str] = &[include_str!("schema/1.cql")];

/// All statements of the schema.
pub(super) fn plan(db: &Db, scylla: bool, compaction: &Compaction) -> Vec<String> {
    let Nodes { datacenter, keyspace, replication, .. } = db.nodes();
    let replication = format!(
        "{{'class': 'NetworkTopologyStrategy', '{}': {replication}}}",
        datacenter.replace('\'', "''")
    );
    let keyspace_statement = |name: &str| {
        format!(
            "CREATE KEYSPACE IF NOT EXISTS {name} WITH replication = {replication} AND durable_writes = true"
        )
    };
    // Some versions of ScyllaDB do not support conditional writes with tablets.
    let without_tablets = if scylla { " AND tablets = {'enabled': false}" } else { "" };
    let tables = VERSIONS.iter().flat_map(|version| statements(version));
    let tables = tables.map(|text| db.with_keyspaces(&compaction.adapted(&text)));
    [keyspace_statement(keyspace), keyspace_statement(&format!("{keyspace}_ident")) + without_tablets]
        .into_iter()
        .chain(tables)
        .collect()
}

/// The statements of a file, without comments.
pub(super) fn statements(file: &str) -> Vec<String> {
    let lines = file.lines().filter(|line| !line.trim_start().starts_with("--"));
    let text = lines.collect::<Vec<_>>().join("\n");
    text.split(";\n").map(str::trim).filter(|statement| !statement.is_empty()).map(str::to_owned).collect()
}

/// Creates missing keyspaces and tables.
pub(super) async fn apply(
    db: &Db,
    compaction: &Compaction,
    progress: &mut (dyn FnMut(&str) + Send),
) -> Result<()> {
    if missing(db, compaction).await?.is_empty() {
        return Ok(());
    }
    // Schema changes of a stopped process may still be spreading between the nodes.
    db.await_schema_agreement().await?;
    let missing = missing(db, compaction).await?;
    db.change_schema(missing.into_iter().inspect(|statement| progress(statement))).await?;
    db.await_schema_agreement().await
}

/// The statements that would change anything. Even one without an effect costs every node a second.
async fn missing(db: &Db, compaction: &Compaction) -> Result<Vec<String>> {
    let existing = existing(db).await?;
    let exists = |statement: &String| {
        let creates = |kind: &str, name: &String| {
            statement.starts_with(&format!("CREATE {kind} IF NOT EXISTS {name} "))
        };
        existing.iter().any(|name| creates("KEYSPACE", name) || creates("TABLE", name))
    };
    let mut statements = plan(db, is_scylla(db).await?, compaction);
    statements.retain(|statement| !exists(statement));
    Ok(statements)
}

/// The existing keyspaces, and their tables with the keyspace as prefix.
async fn existing(db: &Db) -> Result<Vec<String>> {
    let keyspace = &db.nodes().keyspace;
    let mut existing = Vec::new();
    for name in [keyspace.clone(), format!("{keyspace}_ident")] {
        let text = format!("SELECT table_name FROM system_schema.tables WHERE keyspace_name = '{name}'");
        let Some(rows) = db.query_unprepared(text).await? else { continue };
        let typed = rows.rows::<(String,)>().map_err(|error| corrupt(error.to_string()))?;
        let tables: Vec<String> = typed.flatten().map(|(table,)| format!("{name}.{table}")).collect();
        // An empty keyspace may exist too: creating it again does no harm.
        existing.extend((!tables.is_empty()).then_some(name));
        existing.extend(tables);
    }
    Ok(existing)
}

/// Whether the engine is ScyllaDB; Cassandra has no such table.
pub(super) async fn is_scylla(db: &Db) -> Result<bool> {
    let text = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'system' AND table_name = 'scylla_local'";
    let rows = db.query_unprepared(text.to_owned()).await?;
    Ok(rows.is_some_and(|rows| rows.rows_num() > 0))
}

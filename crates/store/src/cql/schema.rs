//! The tables, version by version. Every statement may be run twice and while older nodes serve: tables and columns are
//! only ever added.

use super::db::{Db, Nodes, corrupt};
use crate::Result;

const VERSIONS: &[&str] = &[include_str!("schema/1.cql")];

/// How many copies of everything there are, as far as there are nodes.
const COPIES: usize = 3;

/// What would be run, statement by statement.
pub(super) fn plan(db: &Db, scylla: bool) -> Vec<String> {
    let Nodes { datacenter, keyspace, .. } = db.nodes();
    let replication =
        format!("{{'class': 'NetworkTopologyStrategy', '{}': {COPIES}}}", datacenter.replace('\'', "''"));
    let make = |name: &str| {
        format!(
            "CREATE KEYSPACE IF NOT EXISTS {name} WITH replication = {replication} AND durable_writes = true"
        )
    };
    // Conditional writes and tablets do not go together in every version of ScyllaDB.
    let plain = if scylla { " AND tablets = {'enabled': false}" } else { "" };
    let tables = VERSIONS.iter().flat_map(|version| statements(version)).map(|text| db.named(&text));
    [make(keyspace), make(&format!("{keyspace}_ident")) + plain].into_iter().chain(tables).collect()
}

/// The statements of a file, without comments.
fn statements(file: &str) -> Vec<String> {
    let lines = file.lines().filter(|line| !line.trim_start().starts_with("--"));
    let text = lines.collect::<Vec<_>>().join("\n");
    text.split(";\n").map(str::trim).filter(|one| !one.is_empty()).map(str::to_owned).collect()
}

/// Makes what is missing.
pub(super) async fn apply(db: &Db, progress: &mut (dyn FnMut(&str) + Send)) -> Result<()> {
    if missing(db).await?.is_empty() {
        return Ok(());
    }
    // The definitions of a process that was stopped may still be on their way from node to node.
    db.agree().await?;
    let missing = missing(db).await?;
    db.define(missing.into_iter().inspect(|statement| progress(statement))).await?;
    db.agree().await
}

/// The statements that would change anything: even one that changes nothing costs every node a second.
async fn missing(db: &Db) -> Result<Vec<String>> {
    let there = defined(db).await?;
    let is_there = |statement: &String| {
        let makes = |kind: &str, name: &String| {
            statement.starts_with(&format!("CREATE {kind} IF NOT EXISTS {name} "))
        };
        there.iter().any(|name| makes("KEYSPACE", name) || makes("TABLE", name))
    };
    let mut statements = plan(db, is_scylla(db).await?);
    statements.retain(|statement| !is_there(statement));
    Ok(statements)
}

/// The keyspaces that there are and their tables, these with their keyspaces.
async fn defined(db: &Db) -> Result<Vec<String>> {
    let keyspace = &db.nodes().keyspace;
    let mut defined = Vec::new();
    for name in [keyspace.clone(), format!("{keyspace}_ident")] {
        let text = format!("SELECT table_name FROM system_schema.tables WHERE keyspace_name = '{name}'");
        let Some(rows) = db.plain(text).await? else { continue };
        let typed = rows.rows::<(String,)>().map_err(|error| corrupt(error.to_string()))?;
        let tables: Vec<String> = typed.flatten().map(|(table,)| format!("{name}.{table}")).collect();
        // One without tables may be there, too: to make it again does no harm.
        defined.extend((!tables.is_empty()).then_some(name));
        defined.extend(tables);
    }
    Ok(defined)
}

/// Whether the engine is ScyllaDB; Cassandra has no such table.
pub(super) async fn is_scylla(db: &Db) -> Result<bool> {
    let text = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'system' AND table_name = 'scylla_local'";
    let rows = db.plain(text.to_owned()).await?;
    Ok(rows.is_some_and(|rows| rows.rows_num() > 0))
}

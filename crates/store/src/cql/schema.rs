//! The tables by schema version. Every statement is idempotent and may run while earlier versions serve: tables and
//! columns are only ever added.

use super::compaction::Compaction;
use super::connect::Nodes;
use super::db::{Db, corrupt};
use super::schema_version;
use crate::Result;
use std::collections::BTreeSet;

/// A file per version. Each ends with the statement that declares its `oldest_reader`.
pub(super) const VERSIONS: &[&str] = &[
    include_str!("schema/1.cql"),
    include_str!("schema/3.cql"),
    #[cfg(feature = "next-schema")]
    include_str!("schema/next.cql"),
];

/// The schema version of this program.
#[expect(clippy::cast_possible_truncation, reason = "there are few versions")]
pub const PROGRAM_VERSION: u32 = VERSIONS.len() as u32;

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
    let statements = text.split(";\n").map(|statement| statement.trim().trim_end_matches(';'));
    statements.filter(|statement| !statement.is_empty()).map(str::to_owned).collect()
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
    // A version is declared when every node has all of it: a node may learn of changes in another order.
    let missing = missing(db, compaction).await?.into_iter();
    let (declarations, changes): (Vec<_>, Vec<_>) =
        missing.partition(|statement| schema_version::is_declaration(statement));
    for statements in [changes, declarations] {
        db.change_schema(statements.into_iter().inspect(|statement| progress(statement))).await?;
        db.await_schema_agreement().await?;
    }
    Ok(())
}

/// The statements that would change anything. Even one without an effect costs every node a second.
async fn missing(db: &Db, compaction: &Compaction) -> Result<Vec<String>> {
    let existing = existing(db).await?;
    let exists = |statement: &String| {
        let creates = |kind: &str, name: &String| {
            statement.starts_with(&format!("CREATE {kind} IF NOT EXISTS {name} "))
        };
        let adds = |name: &String| {
            name.rsplit_once('.').is_some_and(|(table, column)| {
                statement.starts_with(&format!("ALTER TABLE {table} ADD {column} "))
            })
        };
        existing.iter().any(|name| creates("KEYSPACE", name) || creates("TABLE", name) || adds(name))
    };
    let mut statements = plan(db, is_scylla(db).await?, compaction);
    statements.retain(|statement| !exists(statement));
    Ok(statements)
}

/// The existing keyspaces, their tables as `keyspace.table`, and the columns of these as `keyspace.table.column`.
async fn existing(db: &Db) -> Result<BTreeSet<String>> {
    let keyspace = &db.nodes().keyspace;
    let mut existing = BTreeSet::new();
    for name in [keyspace.clone(), format!("{keyspace}_ident")] {
        let text = format!(
            "SELECT table_name, column_name FROM system_schema.columns WHERE keyspace_name = '{name}'"
        );
        let Some(rows) = db.query_unprepared(text).await? else { continue };
        let typed = rows.rows::<(String, String)>().map_err(|error| corrupt(error.to_string()))?;
        for (table, column) in typed.flatten() {
            existing.insert(format!("{name}.{table}.{column}"));
            existing.insert(format!("{name}.{table}"));
            // An empty keyspace may exist too: creating it again does no harm.
            existing.insert(name.clone());
        }
    }
    Ok(existing)
}

/// Whether the engine is ScyllaDB; Cassandra has no such table.
pub(super) async fn is_scylla(db: &Db) -> Result<bool> {
    let text = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'system' AND table_name = 'scylla_local'";
    let rows = db.query_unprepared(text.to_owned()).await?;
    Ok(rows.is_some_and(|rows| rows.rows_num() > 0))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_version_ends_with_its_declaration() {
        for (number, file) in (1..).zip(super::VERSIONS) {
            let last = super::statements(file).pop().unwrap();
            let declaration = format!("CREATE TABLE IF NOT EXISTS ident.schema_version_{number} (");
            assert!(last.starts_with(&declaration), "{last}");
        }
    }
}

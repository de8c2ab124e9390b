//! The replication of existing keyspaces, compared with the settings.

use super::connect::Nodes;
use super::db::{Db, corrupt};
use crate::Result;
use std::collections::HashMap;

/// Keyspaces whose replication factor differs from the settings. `schema apply` does not change it: a larger one
/// needs a repair before reads are complete.
pub(super) async fn setting_warnings(db: &Db) -> Result<Vec<String>> {
    let Nodes { datacenter, keyspace, replication, .. } = db.nodes();
    let mut warnings = Vec::new();
    for name in [keyspace.clone(), format!("{keyspace}_ident")] {
        let text = format!("SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = '{name}'");
        let Some(rows) = db.query_unprepared(text).await? else { continue };
        let row = rows.maybe_first_row::<(HashMap<String, String>,)>();
        let Some((found,)) = row.map_err(|error| corrupt(error.to_string()))? else { continue };
        let factor = found.get(datacenter).map_or("0", String::as_str);
        if factor != replication.to_string() {
            warnings.push(format!(
                "keyspace {name} has {factor} replicas in {datacenter}, cql.replication is {replication}: change one \
                 of them with ALTER KEYSPACE and nodetool repair, or in the settings"
            ));
        }
    }
    Ok(warnings)
}

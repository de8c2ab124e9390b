//! Which programs may start on which schema.
//!
//! The last statement of each file in `schema/` creates a table whose name has the version, and whose comment has the
//! oldest program that may start on it. It runs when all nodes have everything else. Tables are only added, so both numbers only ever grow, in any order of any
//! number of `tofrom schema apply`. No row holds them, because the first nodes of a cluster are no quorum yet.

use super::db::{Db, corrupt};
use super::schema::PROGRAM_VERSION;
use crate::{Result, StoreError};

const TABLE_PREFIX: &str = "schema_version_";
const COMMENT_PREFIX: &str = "oldest_reader=";

/// Whether a statement declares a version.
pub(super) fn is_declaration(statement: &str) -> bool {
    statement.contains(&format!("_ident.{TABLE_PREFIX}"))
}

/// The version of the stored schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemaVersion {
    /// The newest version that was applied.
    pub version: u32,
    /// Programs with an older version do not start.
    pub oldest_reader: u32,
}

impl SchemaVersion {
    /// The stored version. `None`: no version was applied completely.
    pub(super) async fn stored(db: &Db) -> Result<Option<SchemaVersion>> {
        let keyspace = format!("{}_ident", db.nodes().keyspace);
        let text = format!(
            "SELECT table_name, comment FROM system_schema.tables WHERE keyspace_name = '{keyspace}'"
        );
        let Some(rows) = db.query_unprepared(text).await? else { return Ok(None) };
        let typed = rows.rows::<(String, Option<String>)>().map_err(|error| corrupt(error.to_string()))?;
        let tables: Vec<(String, Option<String>)> = typed.flatten().collect();
        SchemaVersion::of_tables(&tables)
    }

    fn of_tables(tables: &[(String, Option<String>)]) -> Result<Option<SchemaVersion>> {
        let mut newest: Option<SchemaVersion> = None;
        for (table, comment) in tables {
            let Some(version) = table.strip_prefix(TABLE_PREFIX) else { continue };
            let oldest_reader = comment.as_deref().and_then(|comment| comment.strip_prefix(COMMENT_PREFIX));
            let parsed = version.parse().ok().zip(oldest_reader.and_then(|number| number.parse().ok()));
            let (version, oldest_reader) =
                parsed.ok_or_else(|| corrupt(format!("invalid name or comment of the table {table}")))?;
            let before = newest.unwrap_or(SchemaVersion { version, oldest_reader });
            newest = Some(SchemaVersion {
                version: before.version.max(version),
                oldest_reader: before.oldest_reader.max(oldest_reader),
            });
        }
        Ok(newest)
    }

    /// Why a program of this version must not start, and what to do.
    fn refusal(found: Option<SchemaVersion>, program: u32) -> Option<String> {
        match found {
            None => Some("it has no complete schema: run tofrom schema apply".to_owned()),
            Some(SchemaVersion { version, .. }) if version < program => Some(format!(
                "its schema has version {version}, and this program needs {program}: run tofrom schema apply of this \
                 program"
            )),
            Some(SchemaVersion { version, oldest_reader }) if program < oldest_reader => Some(format!(
                "its schema has version {version}, for programs from {oldest_reader}, and this program has {program}: \
                 use a newer program"
            )),
            Some(_) => None,
        }
    }

    /// Fails unless this program may start on the stored schema.
    pub(super) async fn demand(db: &Db) -> Result<()> {
        let found = SchemaVersion::stored(db).await?;
        if let Some(refusal) = SchemaVersion::refusal(found, PROGRAM_VERSION) {
            return Err(StoreError::Unavailable(format!("keyspace {}: {refusal}", db.nodes().keyspace)));
        }
        if let Some(SchemaVersion { version, oldest_reader }) = found
            && version > PROGRAM_VERSION
        {
            tracing::info!(
                version,
                oldest_reader,
                program = PROGRAM_VERSION,
                "schema newer than this program"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::SchemaVersion;

    fn tables(some: &[(&str, &str)]) -> Vec<(String, Option<String>)> {
        some.iter().map(|(name, comment)| ((*name).to_owned(), Some((*comment).to_owned()))).collect()
    }

    #[test]
    fn the_largest_numbers_count() {
        let some =
            [("schema_version_3", "oldest_reader=2"), ("fact", ""), ("schema_version_2", "oldest_reader=1")];
        let newest = SchemaVersion { version: 3, oldest_reader: 2 };
        assert_eq!(SchemaVersion::of_tables(&tables(&some)).unwrap(), Some(newest));
        assert_eq!(SchemaVersion::of_tables(&tables(&[("fact", "")])).unwrap(), None);
        SchemaVersion::of_tables(&tables(&[("schema_version_2", "")])).unwrap_err();
        SchemaVersion::of_tables(&tables(&[("schema_version_x", "oldest_reader=1")])).unwrap_err();
    }

    #[test]
    fn a_program_starts_unless_the_schema_is_older_or_excludes_it() {
        let refusal = |version, oldest_reader, program| {
            SchemaVersion::refusal(Some(SchemaVersion { version, oldest_reader }), program)
        };
        assert_eq!(refusal(2, 1, 2), None);
        assert_eq!(refusal(3, 2, 2), None);
        let older = refusal(1, 1, 2).unwrap();
        assert!(older.contains("version 1") && older.contains("needs 2") && older.contains("schema apply"));
        let excluded = refusal(4, 3, 2).unwrap();
        assert!(
            excluded.contains("from 3") && excluded.contains("has 2") && excluded.contains("newer program")
        );
        assert!(SchemaVersion::refusal(None, 1).unwrap().contains("schema apply"));
    }
}

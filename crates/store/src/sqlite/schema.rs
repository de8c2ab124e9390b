//! The schema and its changes, counted in SQLite's `user_version`.

use crate::{Result, StoreError};
use rusqlite::{Connection, TransactionBehavior};

/// Marks a file as ours, so that another program's database is never written to: "tofr".
const APPLICATION: i32 = 0x746f_6672;

/// Migrations: the first takes an empty file to version 1, the next would take that to version 2. A released migration
/// is never edited.
const STEPS: &[&str] = &[include_str!("schema/1.sql")];

/// Whether the file is one that this program may write to: new, or of a version that it knows.
pub(super) fn check(connection: &Connection) -> Result<()> {
    version(connection).map(drop)
}

/// Brings the file to the newest schema.
pub(super) fn migrate(connection: &mut Connection) -> Result<()> {
    if version(connection)? == STEPS.len() {
        return Ok(());
    }
    // Asked again inside: another process may have done it meanwhile.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version = version(&transaction)?;
    for step in STEPS.iter().skip(version) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", i64::try_from(STEPS.len()).unwrap_or(i64::MAX))?;
    Ok(transaction.commit()?)
}

/// How many of the steps the file has behind it.
fn version(connection: &Connection) -> Result<usize> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let version = usize::try_from(pragma("user_version")?).unwrap_or(usize::MAX);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let ours = pragma("application_id")? == APPLICATION;
    match (ours, tables) {
        (false, 0) => Ok(0),
        (false, _) => Err(StoreError::Corrupt("the file is another program's database".to_owned())),
        (true, _) if version > STEPS.len() => Err(StoreError::Corrupt(format!(
            "the file's schema is version {version}, this program knows up to {}: use a newer program",
            STEPS.len()
        ))),
        (true, _) => Ok(version),
    }
}

//! The schema and its migrations, counted in SQLite's `user_version`.

use crate::{Result, StoreError};
use rusqlite::{Connection, TransactionBehavior};

/// The application id of our files, "tofr": a database of another program is never written to.
const APPLICATION_ID: i32 = 0x746f_6672;

/// Migrations: the first one creates version 1, the next one would change it to version 2. A released migration is
/// never edited.
const MIGRATIONS: &[&str] = &[include_str!("schema/1.sql")];

/// Fails unless the file is new or has a known schema version.
pub(super) fn check(connection: &Connection) -> Result<()> {
    version(connection).map(drop)
}

/// Migrates the file to the newest schema.
pub(super) fn migrate(connection: &mut Connection) -> Result<()> {
    if version(connection)? == MIGRATIONS.len() {
        return Ok(());
    }
    // Checked again in the transaction: another process may have migrated meanwhile.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version = version(&transaction)?;
    for migration in MIGRATIONS.iter().skip(version) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX))?;
    Ok(transaction.commit()?)
}

/// The schema version: the number of migrations applied.
fn version(connection: &Connection) -> Result<usize> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let version = usize::try_from(pragma("user_version")?).unwrap_or(usize::MAX);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let ours = pragma("application_id")? == APPLICATION_ID;
    match (ours, tables) {
        (false, 0) => Ok(0),
        (false, _) => Err(StoreError::Corrupt("the file is a database of another program".to_owned())),
        (true, _) if version > MIGRATIONS.len() => Err(StoreError::Corrupt(format!(
            "the file has schema version {version}, but this program supports only up to {}: use a newer version of tofrom",
            MIGRATIONS.len()
        ))),
        (true, _) => Ok(version),
    }
}

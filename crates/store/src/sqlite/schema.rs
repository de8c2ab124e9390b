//! The schema and its migrations, counted in SQLite's `user_version`.
//!
//! Migrations go forward only. The way back is the backup that is made before a migration.

use super::backup::{back_up, unused_beside};
use super::copying::PUT_FACT;
use crate::{Result, StoreError};
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;

/// The application id of our files, "tofr": a database of another program is never written to.
const APPLICATION_ID: i32 = 0x746f_6672;

/// Migrations: the first one creates version 1, the next one changes it to version 2. A released migration is never
/// edited.
const MIGRATIONS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/3.sql"),
    #[cfg(feature = "next-schema")]
    "ALTER TABLE account ADD COLUMN next TEXT",
];

/// The name of the fact with the file name of the backup made before the last migration. Older programs read it when they
/// refuse the store, so it never changes.
pub(super) const UPGRADE_BACKUP: &str = "backup before the upgrade";

/// Fails unless the file is new or has a known schema version.
pub(super) fn check(connection: &Connection) -> Result<()> {
    version(connection).map(drop)
}

/// Whether the file has a schema that a program of this version would migrate.
pub(super) fn is_older(connection: &Connection) -> Result<bool> {
    Ok((1..MIGRATIONS.len()).contains(&version(connection)?))
}

/// Migrates the file to the newest schema, after a backup if it has data.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<()> {
    migrate_by(MIGRATIONS, connection, path)
}

fn migrate_by(migrations: &[&str], connection: &mut Connection, path: &Path) -> Result<()> {
    let before = known_version(connection, migrations.len())?;
    if before == migrations.len() {
        return Ok(());
    }
    let backup = match before {
        0 => None,
        version => Some(back_up_before(connection, path, version)?),
    };
    // Checked again in the transaction: another process may have migrated meanwhile.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version = known_version(&transaction, migrations.len())?;
    for migration in migrations.iter().skip(version) {
        transaction.execute_batch(migration)?;
    }
    if let Some(backup) = backup {
        transaction.execute(PUT_FACT, [UPGRADE_BACKUP, &backup])?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", i64::try_from(migrations.len()).unwrap_or(i64::MAX))?;
    Ok(transaction.commit()?)
}

/// Makes a backup beside the file and returns its name.
fn back_up_before(connection: &Connection, path: &Path, version: usize) -> Result<String> {
    // A file that exists is of an earlier upgrade, after which the program went back.
    let backup = unused_beside(path, &format!(".schema-{version}"));
    tracing::info!(backup = %backup.display(), "backing up the store before the upgrade");
    back_up(connection, &backup, |_, _| {})?;
    Ok(backup.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// The schema version: the number of migrations applied.
pub(super) fn version(connection: &Connection) -> Result<usize> {
    known_version(connection, MIGRATIONS.len())
}

fn known_version(connection: &Connection, newest: usize) -> Result<usize> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let version = usize::try_from(pragma("user_version")?).unwrap_or(usize::MAX);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let ours = pragma("application_id")? == APPLICATION_ID;
    match (ours, tables) {
        (false, 0) => Ok(0),
        (false, _) => Err(StoreError::Corrupt("the file is a database of another program".to_owned())),
        (true, _) if version > newest => Err(StoreError::Corrupt(format!(
            "the file has schema version {version}, but this program supports only up to {newest}: use a newer version of \
             tofrom{}",
            way_back(connection)
        ))),
        (true, _) => Ok(version),
    }
}

/// Names the backup that the upgrade made, if there is one.
fn way_back(connection: &Connection) -> String {
    let backup: rusqlite::Result<String> =
        connection.query_row("SELECT value FROM fact WHERE name = ?1", [UPGRADE_BACKUP], |row| row.get(0));
    match (backup, connection.path().and_then(|path| Path::new(path).parent())) {
        (Ok(backup), Some(folder)) => format!(
            ", or go back to the store from before the upgrade, without what was written since: tofrom restore {}",
            folder.join(backup).display()
        ),
        _ => String::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const NEXT: &[&str] = &[include_str!("schema/1.sql"), "ALTER TABLE account ADD COLUMN next TEXT"];

    fn names(connection: &Connection) -> Vec<String> {
        let mut names = connection.prepare("SELECT name FROM pragma_table_info('account')").unwrap();
        names.query_map([], |row| row.get(0)).unwrap().map(|name| name.unwrap()).collect()
    }

    #[test]
    fn a_migration_makes_a_backup_and_an_older_program_names_it() {
        let folder = std::env::temp_dir().join(format!("tofrom-migrate-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("store.db");
        let mut connection = Connection::open(&path).unwrap();
        migrate_by(&NEXT[..1], &mut connection, &path).unwrap();
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "an empty file needs no backup");

        migrate_by(NEXT, &mut connection, &path).unwrap();
        migrate_by(NEXT, &mut connection, &path).unwrap();
        assert!(names(&connection).contains(&"next".to_owned()));
        let backup = Connection::open(folder.join("store.db.schema-1")).unwrap();
        assert!(!names(&backup).contains(&"next".to_owned()));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);

        let refusal = known_version(&connection, 1).unwrap_err().to_string();
        assert!(refusal.contains("store.db.schema-1") && refusal.contains("schema version 2"), "{refusal}");
        drop(connection);
        std::fs::rename(folder.join("store.db.schema-1"), &path).unwrap();
        std::fs::write(folder.join("store.db.schema-1"), "of an earlier upgrade").unwrap();
        migrate_by(NEXT, &mut Connection::open(&path).unwrap(), &path).unwrap();
        assert!(folder.join("store.db.schema-1-1").exists());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

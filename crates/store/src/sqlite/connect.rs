//! Opening and configuring connections.

use super::{Options, STATEMENT_CACHE, schema};
use crate::{Result, StoreError};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode};
use std::fs::OpenOptions;
use std::path::Path;
use std::time::{Duration, Instant};

/// Creates the file if it does not exist. It contains password hashes, so only its owner may read it. SQLite creates
/// the files beside it with the same mode.
pub(super) fn create_file(path: &Path) -> Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let created = options.open(path);
    created.map(drop).map_err(|error| StoreError::Unavailable(format!("{}: {error}", path.display())))
}

/// The connection for writing, after migrating the file to the newest schema.
pub(super) fn writer(path: &Path, options: &Options) -> Result<Connection> {
    let mut connection = open(path, options, 64 * 1024)?;
    schema::check(&connection)?;
    enable_wal(&connection, "main", options)?;
    // Deleted texts leave the file. Every write needs this, because an update also leaves the old text behind.
    connection.pragma_update(None, "secure_delete", true)?;
    schema::migrate(&mut connection, path)?;
    attach_nonces(&connection, path, options)?;
    Ok(connection)
}

/// Nonces are in a separate file beside the store. Every signed request writes one, and a commit empties the page
/// cache of every reader of its file: in the main file a signed read would cost 1.7 times as much.
fn attach_nonces(connection: &Connection, path: &Path, options: &Options) -> Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push("-nonces");
    create_file(Path::new(&beside))?;
    let name = beside
        .to_str()
        .ok_or_else(|| StoreError::Unavailable("the path of the store is not valid UTF-8".to_owned()))?;
    connection.execute("ATTACH ?1 AS nonces", [name])?;
    enable_wal(connection, "nonces", options)?;
    Ok(connection.execute_batch(include_str!("schema/nonces.sql"))?)
}

/// Enables the write-ahead log, and syncs it before a commit returns.
fn enable_wal(connection: &Connection, file: &str, options: &Options) -> Result<()> {
    // Until the file is in WAL mode, two processes that open it at the same time can lock each other out, and SQLite
    // does not apply the busy timeout.
    let start = Instant::now();
    while let Err(error) = connection.pragma_update(Some(file), "journal_mode", "WAL") {
        let busy =
            matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked));
        if !busy || start.elapsed() > options.busy_timeout {
            return Err(error.into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    // FULL: an acknowledged commit survives a power failure, not only a crash of the process.
    let synchronous = if options.synchronous_off { "OFF" } else { "FULL" };
    connection.pragma_update(Some(file), "synchronous", synchronous)?;
    connection.pragma_update(Some(file), "journal_size_limit", 64 << 20)?;
    Ok(())
}

/// A connection for rewriting the file.
pub(super) fn exclusive(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    schema::check(&connection)?;
    Ok(connection)
}

/// A connection for reading.
pub(super) fn reader(path: &Path, options: &Options) -> Result<Connection> {
    let connection = open(path, options, 16 * 1024)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

fn open(path: &Path, options: &Options, cache_kib: i64) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(options.busy_timeout)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    // Otherwise SQLite prepares a statement again for every value bound to a LIMIT, which took ten times as long as
    // reading a page.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", -cache_kib)?;
    connection.pragma_update(None, "mmap_size", 256 << 20)?;
    Ok(connection)
}

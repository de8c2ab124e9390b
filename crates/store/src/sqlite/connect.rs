//! Connections and what they are set to.

use super::{Options, STATEMENTS, schema};
use crate::{Result, StoreError};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode};
use std::fs::OpenOptions;
use std::path::Path;
use std::time::{Duration, Instant};

/// Makes the file if there is none. It holds password hashes, so it is the owner's alone; SQLite gives the
/// files that it puts beside it the same mode.
pub(super) fn create_file(path: &Path) -> Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let made = options.open(path);
    made.map(drop).map_err(|error| StoreError::Unavailable(format!("{}: {error}", path.display())))
}

/// The connection that writes, to a file that has the newest schema then.
pub(super) fn writer(path: &Path, options: &Options) -> Result<Connection> {
    let mut connection = open(path, options, 64 * 1024)?;
    schema::check(&connection)?;
    log_ahead(&connection, "main", options)?;
    schema::migrate(&mut connection)?;
    attach_nonces(&connection, path, options)?;
    Ok(connection)
}

/// Nonces are in a file of their own beside the store. There is one for every signed request, and each commit makes
/// every reader of the file that it goes to begin with an empty cache: in the store's own file a signed read costs 1.7
/// times what it costs otherwise.
fn attach_nonces(connection: &Connection, path: &Path, options: &Options) -> Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push("-nonces");
    create_file(Path::new(&beside))?;
    let name =
        beside.to_str().ok_or_else(|| StoreError::Unavailable("the store's path is not UTF-8".to_owned()))?;
    connection.execute("ATTACH ?1 AS nonces", [name])?;
    log_ahead(connection, "nonces", options)?;
    Ok(connection.execute_batch(include_str!("schema/nonces.sql"))?)
}

/// Has a file written through a log, and that log written to the disk before anybody is answered.
fn log_ahead(connection: &Connection, file: &str, options: &Options) -> Result<()> {
    // Until the file is in WAL mode, two processes that open it at once can lock each other out without the
    // busy time-out having a say.
    let start = Instant::now();
    while let Err(error) = connection.pragma_update(Some(file), "journal_mode", "WAL") {
        let busy =
            matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked));
        if !busy || start.elapsed() > options.busy_timeout {
            return Err(error.into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    // FULL: a commit that was answered survives a loss of power, not only a crash of the process.
    let synchronous = if options.synchronous_off { "OFF" } else { "FULL" };
    connection.pragma_update(Some(file), "synchronous", synchronous)?;
    connection.pragma_update(Some(file), "journal_size_limit", 64 << 20)?;
    Ok(())
}

/// A connection that only reads.
pub(super) fn reader(path: &Path, options: &Options) -> Result<Connection> {
    let connection = open(path, options, 16 * 1024)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

fn open(path: &Path, options: &Options, cache_kib: i64) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(options.busy_timeout)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Otherwise SQLite looks at the number that is bound to a LIMIT and prepares the statement anew for every
    // one: that took ten times as long as reading a page.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", -cache_kib)?;
    connection.pragma_update(None, "mmap_size", 256 << 20)?;
    Ok(connection)
}

//! Backups and integrity checks of the file.

use super::{SqliteStore, connect};
use crate::{Result, StoreError};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Pages copied between two reports of progress.
const PAGES_PER_STEP: i32 = 1_000;

impl SqliteStore {
    /// Copies a snapshot of the store to a new file, while the store is in use. The copy appears under its name only
    /// when it is complete and synced. `progress` is called with the pages done and the total.
    pub async fn backup(&self, to: &Path, progress: impl FnMut(u64, u64) + Send + 'static) -> Result<()> {
        let to = to.to_owned();
        self.read_long(move |connection| back_up(connection, &to, progress)).await
    }

    /// The problems found in the file; empty if there are none.
    pub async fn integrity_check(&self) -> Result<Vec<String>> {
        self.read_long(problems).await
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Copies a snapshot of the connection's file to a new file.
pub(super) fn back_up(connection: &Connection, to: &Path, progress: impl FnMut(u64, u64)) -> Result<()> {
    // Overwriting could hit a database in use, and leave it with the write-ahead log of another one.
    if to.try_exists().map_err(|error| unavailable(to, &error))? {
        return Err(StoreError::Unavailable(format!("{}: the file already exists", to.display())));
    }
    let unfinished = beside(to, ".unfinished");
    let copied = copy(connection, &unfinished, progress).and_then(|()| put_in_place(&unfinished, to));
    if copied.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    let _ = fs::remove_file(beside(&unfinished, "-journal"));
    copied
}

/// The problems found in a file.
pub(super) fn problems(connection: &Connection) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    match texts(connection, "PRAGMA integrity_check") {
        Ok(found) => problems.extend(found.into_iter().filter(|line| line != "ok")),
        Err(error) => problems.push(problem(error)?),
    }
    let dangling = "SELECT 'a row of ' || \"table\" || ' refers to a missing row of ' || parent
         FROM pragma_foreign_key_check";
    match texts(connection, dangling) {
        Ok(found) => problems.extend(found),
        Err(error) => problems.push(problem(error)?),
    }
    Ok(problems)
}

fn copy(connection: &Connection, to: &Path, mut progress: impl FnMut(u64, u64)) -> Result<()> {
    let _ = fs::remove_file(to);
    connect::create_file(to)?;
    let mut target = Connection::open(to)?;
    // In a read transaction the copy is a snapshot, and writers do not make it start over.
    connection.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema;")?;
    let copied = (|| {
        let backup = Backup::new(connection, &mut target)?;
        while backup.step(PAGES_PER_STEP)? != StepResult::Done {
            let pages = backup.progress();
            let total = u64::try_from(pages.pagecount).unwrap_or(0);
            progress(total.saturating_sub(u64::try_from(pages.remaining).unwrap_or(0)), total);
        }
        let total = u64::try_from(backup.progress().pagecount).unwrap_or(0);
        progress(total, total);
        Ok::<_, rusqlite::Error>(())
    })();
    connection.execute_batch("COMMIT")?;
    copied?;
    target.close().map_err(|(_, error)| error)?;
    Ok(())
}

pub(super) fn put_in_place(from: &Path, to: &Path) -> Result<()> {
    let placed = File::open(from)
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(from, to))
        // The new name is durable when the directory is synced.
        .and_then(|()| {
            File::open(to.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new(".")))
        })
        .and_then(|directory| directory.sync_all());
    placed.map_err(|error| unavailable(to, &error))
}

pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// A path beside the file with that suffix, and a number if such a file exists.
pub(super) fn unused_beside(path: &Path, suffix: &str) -> PathBuf {
    let numbered = (1_u64..).map(|number| beside(path, &format!("{suffix}-{number}")));
    let mut paths = std::iter::once(beside(path, suffix)).chain(numbered);
    paths.find(|path| !path.exists()).unwrap_or_else(|| beside(path, suffix))
}

fn texts(connection: &Connection, statement: &str) -> rusqlite::Result<Vec<String>> {
    connection.prepare(statement)?.query_map([], |row| row.get(0))?.collect()
}

/// A corrupt file may fail the check itself, which is a finding too. Any other error is a failure of the check.
fn problem(error: rusqlite::Error) -> Result<String> {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Ok(error.to_string()),
        _ => Err(error.into()),
    }
}

pub(super) fn unavailable(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("{}: {error}", path.display()))
}

//! Copies of the file, and whether it is whole.

use super::{SqliteStore, connect};
use crate::{Result, StoreError};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Pages copied between two reports of progress.
const STEP: i32 = 1_000;

impl SqliteStore {
    /// Copies the store as it is at this moment to a new file, while it is in use. The copy appears under its
    /// name only when it is whole and on the disk. `progress` is told pages done and pages in all.
    pub async fn backup(&self, to: &Path, progress: impl FnMut(u64, u64) + Send + 'static) -> Result<()> {
        let to = to.to_owned();
        self.read_long(move |connection| {
            // Overwriting could hit a database in use, and leave it with another one's write-ahead log.
            if to.try_exists().map_err(|error| unavailable(&to, &error))? {
                return Err(StoreError::Unavailable(format!("{}: there is a file already", to.display())));
            }
            let unfinished = beside(&to, ".unfinished");
            let copied =
                copy(connection, &unfinished, progress).and_then(|()| put_in_place(&unfinished, &to));
            if copied.is_err() {
                let _ = fs::remove_file(&unfinished);
            }
            let _ = fs::remove_file(beside(&unfinished, "-journal"));
            copied
        })
        .await
    }

    /// What is wrong with the file; nothing, if all is well.
    pub async fn integrity_check(&self) -> Result<Vec<String>> {
        self.read_long(|connection| {
            let mut problems = Vec::new();
            match texts(connection, "PRAGMA integrity_check") {
                Ok(found) => problems.extend(found.into_iter().filter(|line| line != "ok")),
                Err(error) => problems.push(problem(error)?),
            }
            let dangling = "SELECT 'a row of ' || \"table\" || ' refers to no row of ' || parent
                 FROM pragma_foreign_key_check";
            match texts(connection, dangling) {
                Ok(found) => problems.extend(found),
                Err(error) => problems.push(problem(error)?),
            }
            Ok(problems)
        })
        .await
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn copy(connection: &Connection, to: &Path, mut progress: impl FnMut(u64, u64)) -> Result<()> {
    let _ = fs::remove_file(to);
    connect::create_file(to)?;
    let mut target = Connection::open(to)?;
    // Within a read transaction the copy is of one moment, and writers don't make it start over.
    connection.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema;")?;
    let copied = (|| {
        let backup = Backup::new(connection, &mut target)?;
        while backup.step(STEP)? != StepResult::Done {
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

fn put_in_place(from: &Path, to: &Path) -> Result<()> {
    let placed = File::open(from)
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(from, to))
        // The name is on the disk when the directory is.
        .and_then(|()| {
            File::open(to.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new(".")))
        })
        .and_then(|directory| directory.sync_all());
    placed.map_err(|error| unavailable(to, &error))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

fn texts(connection: &Connection, statement: &str) -> rusqlite::Result<Vec<String>> {
    connection.prepare(statement)?.query_map([], |row| row.get(0))?.collect()
}

/// A file may be too broken to be checked: that is a finding too. Anything else is a failure of the check.
fn problem(error: rusqlite::Error) -> Result<String> {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Ok(error.to_string()),
        _ => Err(error.into()),
    }
}

fn unavailable(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("{}: {error}", path.display()))
}

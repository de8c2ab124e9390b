//! Restoring a backup.
//!
//! A restored store begins a new epoch of its log: positions continue far above those of all earlier epochs. A reader whose
//! sync token was made after the backup would otherwise miss what arrives at the positions that it has seen already.

use super::copying::PUT_FACT;
use super::{backup, connect, log, schema};
use crate::{Result, StoreError};
use model::{Millis, Position};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The name of the fact with the positions that sync tokens cannot continue from: pairs of the last position of a backup and
/// the first position after its restoration.
pub(super) const LOST: &str = "lost positions";

/// An epoch starts at its time in milliseconds, shifted by this: no log gets a million tasks in a millisecond.
const EPOCH_SHIFT: u32 = 20;

/// Bytes copied between two reports of progress.
const CHUNK: usize = 1 << 20;

/// A restored store.
#[derive(Debug)]
pub struct Restored {
    /// Its size.
    pub bytes: u64,
    /// Where the store that was there before is now.
    pub previous: Option<PathBuf>,
}

/// Replaces the store at `to` with a backup. No other process may use the store. The backup is copied and checked first, and
/// then takes the name of the store in one step. The previous store is kept. `progress` is called with the bytes done
/// and the total.
pub fn restore(from: &Path, to: &Path, now: Millis, progress: impl FnMut(u64, u64)) -> Result<Restored> {
    let copied = backup::beside(to, ".restoring");
    let restored = copy_file(from, &copied, progress)
        .map_err(|error| backup::unavailable(from, &error))
        .and_then(|()| prepare(&copied, now))
        .and_then(|()| replace(&copied, to, now));
    if restored.is_err() {
        let _ = fs::remove_file(&copied);
    }
    for suffix in ["-wal", "-shm", "-journal"] {
        let _ = fs::remove_file(backup::beside(&copied, suffix));
    }
    restored
}

fn copy_file(from: &Path, to: &Path, mut progress: impl FnMut(u64, u64)) -> io::Result<()> {
    let mut source = File::open(from)?;
    let total = source.metadata()?.len();
    let _ = fs::remove_file(to);
    connect::create_file(to).map_err(io::Error::other)?;
    let mut target = File::options().write(true).truncate(true).open(to)?;
    let (mut done, mut chunk) = (0, vec![0; CHUNK]);
    loop {
        let read = source.read(&mut chunk)?;
        let Some(part) = chunk.get(..read).filter(|part| !part.is_empty()) else { return target.sync_all() };
        target.write_all(part)?;
        done += read as u64;
        progress(done, total);
    }
}

/// Checks the copy of a backup and begins a new epoch in it.
fn prepare(copied: &Path, now: Millis) -> Result<()> {
    let mut connection = Connection::open_with_flags(
        copied,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    if schema::version(&connection)? == 0 {
        return Err(StoreError::Corrupt("the backup is empty".to_owned()));
    }
    // One file, without a write-ahead log beside it, so that one rename is enough.
    connection.pragma_update(None, "journal_mode", "DELETE")?;
    if let [first, rest @ ..] = backup::problems(&connection)?.as_slice() {
        return Err(StoreError::Corrupt(format!("the backup is damaged: {first} (and {} more)", rest.len())));
    }
    begin_epoch(&mut connection, now)?;
    Ok(connection.close().map_err(|(_, error)| error)?)
}

/// Moves the log to a new epoch. Sync tokens from before the backup stay valid, those from after it do not.
fn begin_epoch(connection: &mut Connection, now: Millis) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (floor, last) = (log::floor(&transaction)?, log::end(&transaction)?);
    let start = now.0.saturating_mul(1 << EPOCH_SHIFT).max(last.saturating_add(1));
    log::continue_at(&transaction, start)?;
    log::append_again(&transaction, start)?;
    let earlier = log::lost(&transaction)?;
    let gap = (Position(floor.unsigned_abs()), Position(start.unsigned_abs()));
    let gaps: Vec<String> =
        earlier.iter().chain([&gap]).map(|(last, first)| format!("{}-{}", last.0, first.0)).collect();
    transaction.execute(PUT_FACT, [LOST, &gaps.join(" ")])?;
    Ok(transaction.commit()?)
}

/// Puts the prepared file in the place of the store.
fn replace(prepared: &Path, to: &Path, now: Millis) -> Result<Restored> {
    let bytes = fs::metadata(prepared).map_err(|error| backup::unavailable(prepared, &error))?.len();
    let previous =
        to.exists().then(|| backup::unused_beside(to, &format!(".before-restore-{}", now.compact())));
    if let Some(previous) = &previous {
        settle(to, previous)?;
        // A second name, so that there is a store at every moment: without one, a start would create an empty store.
        fs::hard_link(to, previous).map_err(|error| backup::unavailable(previous, &error))?;
    }
    backup::put_in_place(prepared, to)?;
    Ok(Restored { bytes, previous })
}

/// Brings everything of a store into its file. Its write-ahead log must not be applied to another file of that name.
fn settle(store: &Path, previous: &Path) -> Result<()> {
    match settle_intact(store) {
        // Damage may be the reason to restore. The log is kept with the file that it belongs to.
        Err(StoreError::Corrupt(_)) => {
            let _ = fs::remove_file(backup::beside(store, "-shm"));
            match fs::rename(backup::beside(store, "-wal"), backup::beside(previous, "-wal")) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(backup::unavailable(store, &error))
                }
                _ => Ok(()),
            }
        }
        settled => settled,
    }
}

fn settle_intact(store: &Path) -> Result<()> {
    let connection = Connection::open(store)?;
    // In this mode SQLite fails if any other process has the file open.
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.execute_batch("BEGIN EXCLUSIVE; COMMIT;")?;
    connection.pragma_update(None, "journal_mode", "DELETE")?;
    Ok(connection.close().map_err(|(_, error)| error)?)
}

//! Reads and writes the files of the demo's folder.

use anyhow::Context;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Who may read a file.
#[derive(Clone, Copy)]
pub(super) enum Readers {
    Owner,
    Everyone,
}

/// Writes a file atomically: readers see the old or the new content, even after a crash.
pub(super) fn write(path: &Path, text: &str, readers: Readers) -> anyhow::Result<()> {
    let mode = match readers {
        Readers::Owner => 0o600,
        Readers::Everyone => 0o644,
    };
    let new = path.with_extension("new");
    let write = || {
        // A leftover file may have other permissions.
        drop(fs::remove_file(&new));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// Reads a file, if it exists.
pub(super) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

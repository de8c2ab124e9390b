//! Files of the demo's folder.

use anyhow::Context;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Who may read a file.
#[derive(Clone, Copy)]
pub(super) enum Readers {
    Owner,
    Everybody,
}

/// Writes a file whole: whoever reads it finds the old one or the new one, also after a crash.
pub(super) fn write(path: &Path, text: &str, readers: Readers) -> anyhow::Result<()> {
    let mode = match readers {
        Readers::Owner => 0o600,
        Readers::Everybody => 0o644,
    };
    let new = path.with_extension("new");
    let write = || {
        // One that was left behind may have been made with other rights.
        drop(fs::remove_file(&new));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    };
    write().with_context(|| format!("can't write {}", path.display()))
}

/// Reads a file, if there is one.
pub(super) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("can't read {}", path.display())),
    }
}

//! `tofrom backup`

use super::output::{json_line, line, progress_bar};
use super::{Global, UsageError};
use anyhow::{Context, bail};
use model::{Clock, Millis};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Back up a single-machine store to a new file while the server runs
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tofrom backup /backups/before-the-move.db --data ./data\n  \
                        tofrom backup /backups --keep 7 --data ./data\n\n\
                        In a folder the file is named after the time: tofrom-20261117T223000Z.db. With --keep only the\n\
                        newest of these files are kept; other files stay.\n\n\
                        Restore a backup with tofrom restore. Also keep a copy of secret.key, in another place: without\n\
                        it the secrets of applications cannot be decrypted.")]
pub(super) struct Args {
    /// New file, or an existing folder; an existing file is not overwritten
    #[arg(value_name = "FILE|DIR")]
    target: PathBuf,
    /// Number of backups to keep in the folder: older ones are deleted after this one is complete
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    keep: Option<u16>,
}

/// The names of backups in a folder. Times of this form sort by name.
const PREFIX: &str = "tofrom-";
const SUFFIX: &str = ".db";

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let storage = global.storage()?;
    if storage.cluster.is_some() {
        bail!(
            "backup supports single-machine stores only; back up a cluster with its database tools: see docs/operating.md"
        );
    }
    let folder = args.target.is_dir().then(|| args.target.clone());
    if args.keep.is_some() && folder.is_none() {
        return Err(UsageError("--keep needs an existing folder: tofrom backup DIR --keep N").into());
    }
    let file = match &folder {
        Some(folder) => folder.join(name_at(Clock::system().now())),
        None => args.target,
    };
    let engine = storage.open_existing().await?;
    let Some(store) = engine.sqlite() else { bail!("the store is not a file") };
    let progress = progress_bar("{bar:40} {percent}% of {len} pages, {eta} left");
    let report = progress.clone();
    let copied = store.backup(&file, move |done, total| {
        report.set_length(total);
        report.set_position(done);
    });
    let copied = copied.await;
    progress.finish_and_clear();
    copied.context("backup failed")?;
    let bytes = std::fs::metadata(&file)?.len();
    let deleted = match (folder, args.keep) {
        (Some(folder), Some(keep)) => delete_older(&folder, usize::from(keep))?,
        _ => Vec::new(),
    };
    let file = file.display().to_string();
    if global.json {
        return Ok(json_line(json!({ "file": file, "bytes": bytes, "deleted": deleted }))?);
    }
    line(format_args!("{file}: {bytes} bytes"))?;
    for path in deleted {
        line(format_args!("deleted {path}"))?;
    }
    Ok(())
}

/// The name of a backup made at that time: tofrom-20261117T223000Z.db.
fn name_at(now: Millis) -> String {
    format!("{PREFIX}{}{SUFFIX}", now.compact())
}

/// Deletes all backups of the folder but the newest. Returns the paths.
fn delete_older(folder: &Path, keep: usize) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        names.extend(name.to_str().filter(|name| is_backup(name)).map(str::to_owned));
    }
    names.sort_unstable_by(|a, b| b.cmp(a));
    let mut deleted = Vec::new();
    for name in names.into_iter().skip(keep) {
        let path = folder.join(name);
        std::fs::remove_file(&path).with_context(|| format!("cannot delete {}", path.display()))?;
        deleted.push(path.display().to_string());
    }
    Ok(deleted)
}

fn is_backup(name: &str) -> bool {
    let time = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(SUFFIX));
    time.is_some_and(|time| {
        time.len() == "20261117T223000Z".len()
            && time.bytes().enumerate().all(|(at, c)| match at {
                8 => c == b'T',
                15 => c == b'Z',
                _ => c.is_ascii_digit(),
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_with_a_time_are_backups() {
        let name = name_at(Millis(1_793_836_800_000));
        assert!(is_backup(&name), "{name}");
        for other in [
            "tofrom-before-the-move.db",
            "tofrom.db",
            "tofrom-20261117T22300Z.db",
            "tofrom-20261117T2230000Z.db",
        ] {
            assert!(!is_backup(other), "{other}");
        }
    }
}

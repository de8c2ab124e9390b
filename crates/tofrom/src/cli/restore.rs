//! `tofrom restore`

use super::Global;
use super::output::{json_line, line, progress_bar};
use anyhow::{Context, bail};
use model::Clock;
use serde_json::json;
use std::path::PathBuf;
use store::sqlite::restore;

/// Replace a single-machine store with a backup
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  tofrom restore /backups/tofrom-20261117T223000Z.db --data ./data\n\n\
                        Stop the server first. The backup is checked before it takes the place of the store, in one\n\
                        step. The store from before is kept beside it.\n\n\
                        Sync tokens from after the backup are answered with 410, and live streams with the event\n\
                        incomplete: readers then read the collection again and miss nothing. Sessions, keys and\n\
                        passwords are those of the backup, and so are revocations: revoke again what was revoked since.")]
pub(super) struct Args {
    /// Backup file; it stays as it is
    file: PathBuf,
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let storage = global.storage()?;
    if storage.cluster.is_some() {
        bail!(
            "restore supports single-machine stores only; restore a cluster with its database tools: see docs/operating.md"
        );
    }
    if !args.file.is_file() {
        bail!("{} is not a file", args.file.display());
    }
    let _lock = storage.lock()?;
    let (from, to) = (args.file.clone(), storage.store_file());
    let progress = progress_bar("{bar:40} {bytes} of {total_bytes}, {eta} left");
    let report = progress.clone();
    let now = Clock::system().now();
    let restored = tokio::task::spawn_blocking(move || {
        restore(&from, &to, now, |done, total| {
            report.set_length(total);
            report.set_position(done);
        })
    })
    .await;
    progress.finish_and_clear();
    let restored = restored?.with_context(|| format!("cannot restore {}", args.file.display()))?;
    let store = storage.store_file().display().to_string();
    let previous = restored.previous.map(|path| path.display().to_string());
    if global.json {
        return Ok(json_line(json!({ "store": store, "bytes": restored.bytes, "previous": previous }))?);
    }
    line(format_args!("{store}: {} bytes restored", restored.bytes))?;
    if let Some(previous) = previous {
        line(format_args!("the store from before is {previous}; delete it when all is well"))?;
    }
    Ok(())
}

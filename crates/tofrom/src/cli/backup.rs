//! `tofrom backup`

use super::Global;
use super::output::{json_line, line};
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::path::PathBuf;

/// Copies the store of one machine to a new file, consistently, while the service runs
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  tofrom backup /backups/tofrom-$(date +%F).db --data ./data\n\n\
                        To restore: stop the service, put the file into the data folder as tofrom.db, and remove\n\
                        tofrom.db-wal and tofrom.db-shm there. Keep a copy of secret.key too, in another place: without\n\
                        it the secrets of applications can't be opened.")]
pub(super) struct Args {
    /// The new file; one that is there is not overwritten
    file: PathBuf,
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let storage = global.storage()?;
    if storage.cluster.is_some() {
        bail!(
            "backup copies the file of one machine; a cluster is backed up by its engines: see docs/operating.md"
        );
    }
    storage.demand_store()?;
    let store = storage.open_file()?;
    // Draws nothing where standard error is no terminal.
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent}% of {len} pages, {eta} left") {
        bar.set_style(style);
    }
    let progress = bar.clone();
    let copied = store.backup(&args.file, move |done, total| {
        progress.set_length(total);
        progress.set_position(done);
    });
    let copied = copied.await;
    bar.finish_and_clear();
    copied.context("the backup was not made")?;
    let bytes = std::fs::metadata(&args.file)?.len();
    let file = args.file.display().to_string();
    if global.json {
        json_line(json!({ "file": file, "bytes": bytes }))?;
    } else {
        line(format_args!("{file}: {bytes} bytes"))?;
    }
    Ok(())
}

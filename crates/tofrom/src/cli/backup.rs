//! `tofrom backup`

use super::Global;
use super::output::{json_line, line};
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::path::PathBuf;

/// Back up a single-machine store to a new file while the server runs
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  tofrom backup /backups/tofrom-$(date +%F).db --data ./data\n\n\
                        To restore: stop the server, put the file into the data folder as tofrom.db, and remove\n\
                        tofrom.db-wal and tofrom.db-shm there. Also keep a copy of secret.key, in another place: without\n\
                        it the secrets of applications cannot be decrypted.")]
pub(super) struct Args {
    /// New file; an existing file is not overwritten
    file: PathBuf,
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let storage = global.storage()?;
    if storage.cluster.is_some() {
        bail!(
            "backup supports single-machine stores only; back up a cluster with its database tools: see docs/operating.md"
        );
    }
    storage.demand_store()?;
    let store = storage.open_file()?;
    // Draws nothing if standard error is not a terminal.
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
    copied.context("backup failed")?;
    let bytes = std::fs::metadata(&args.file)?.len();
    let file = args.file.display().to_string();
    if global.json {
        json_line(json!({ "file": file, "bytes": bytes }))?;
    } else {
        line(format_args!("{file}: {bytes} bytes"))?;
    }
    Ok(())
}

//! `tofrom copy`: copies all data from one store to another, each a single machine or a cluster.
//!
//! The target records the last account up to which it is complete, in the source's order of accounts. An interrupted copy
//! resumes after that account. Writes are idempotent, so writing something twice changes nothing.

mod collection;
mod sides;

use super::output::{json_line, line, note};
use super::{Global, UsageError};
use crate::config::Engine;
use anyhow::{Context, bail};
use collection::Counts;
use futures::{StreamExt, stream};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use sides::{Progress, Sides};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Accounts per page, and accounts copied concurrently. The concurrency bounds the memory: one page of data each.
const PAGE: usize = 256;
const CONCURRENCY: usize = 32;
/// Interval between two frames of the spinner.
const SPINNER_INTERVAL: Duration = Duration::from_millis(100);

/// Copy all data to another store, from one machine to a cluster or back
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tofrom copy --from /etc/tofrom/tofrom.toml --to /etc/tofrom/cluster.toml

Copies accounts with their passwords, second factors, keys, applications, access tokens, follows, activities, deletions and removals.
Links to further pages keep working; updates links are answered with 410, and clients read the first page again.
Browser sessions end.

Stop the source's servers when no deliveries are pending, and start the target's servers when the copy is complete.
The target must be empty and needs the same secret_keys. To resume an interrupted copy, run the same command again. Of
the environment variables only TOFROM_SECRET_KEYS is used, for both sides.")]
pub(super) struct Args {
    /// Settings file of the source
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// Settings file of the target
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    if global.data.is_some() || global.config.is_some() {
        let why = "copy does not take --data or --config; use --from FILE and --to FILE";
        return Err(UsageError(why).into());
    }
    let started = Instant::now();
    let sides = Sides::open(&args.from, &args.to).await?;
    let Some(progress) = sides.begin().await? else {
        note("nothing to do: the copy is already complete");
        return Ok(());
    };
    let bar = spinner();
    let copied = accounts(&sides, progress, &bar).await;
    bar.finish_and_clear();
    let counts = copied.context("copy interrupted; run the same command again to resume")?;
    if global.json {
        let Counts { accounts, activities, entries } = counts;
        json_line(json!({ "accounts": accounts, "activities": activities, "entries": entries }))?;
    } else {
        line(format_args!("{counts} copied in {} s", started.elapsed().as_secs()))?;
    }
    Ok(())
}

/// An error if a copy into this store is incomplete.
pub(super) async fn require_complete_copy(engine: &Engine) -> anyhow::Result<()> {
    let recorded = engine.copying().copy_progress().await?;
    if recorded.is_some_and(|text| !Progress::read(&text).is_some_and(|progress| progress.finished)) {
        bail!("a copy into this store is incomplete; run the same tofrom copy command again to resume");
    }
    Ok(())
}

/// Copies the remaining accounts with all their data.
async fn accounts(sides: &Sides, mut progress: Progress, bar: &ProgressBar) -> anyhow::Result<Counts> {
    let mut counts = Counts::default();
    loop {
        let page = sides.source.every_account(progress.done(), PAGE).await?;
        let Some(last) = page.last().map(|account| account.uid) else { break };
        let each = page.iter().map(|account| sides.copy_account(account, bar));
        // In order, so that all accounts up to the recorded one are complete.
        let mut each = stream::iter(each).buffered(CONCURRENCY);
        let mut accounts = page.iter();
        while let Some(copied) = each.next().await {
            counts.add(copied?);
            bar.set_message(counts.to_string());
            let done = accounts.next().map_or(last, |account| account.uid);
            if counts.accounts.is_multiple_of(CONCURRENCY as u64) || done == last {
                progress = progress.up_to(done);
                sides.target.set_copy_progress(&progress.text()).await?;
            }
        }
    }
    sides.copy_audit().await?;
    sides.end(progress).await?;
    Ok(counts)
}

/// Draws nothing if standard error is not a terminal.
fn spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} and {pos} more entries, {elapsed}") {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(SPINNER_INTERVAL);
    spinner
}

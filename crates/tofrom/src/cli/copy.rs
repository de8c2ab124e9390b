//! `tofrom copy`: moves a whole service from one store to another, each of them one machine or a cluster.
//!
//! The target notes up to which account it has everything, in the order in which the source lists them. Whoever stops in
//! the middle begins again behind that account; what is put twice by that stays as it is.

mod collection;
mod progress;
mod sides;

use super::Global;
use super::output::{json_line, line, note};
use super::usage::Misused;
use crate::config::Engine;
use anyhow::{Context, bail};
use collection::Counts;
use futures::{StreamExt, stream};
use indicatif::{ProgressBar, ProgressStyle};
use progress::Progress;
use serde_json::json;
use sides::Sides;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Accounts that are listed at once, and those that are copied at the same time: with a page each, this is what bounds
/// the memory.
const PAGE: usize = 256;
const CONCURRENCY: usize = 32;
/// How often the spinner turns.
const TURNS: Duration = Duration::from_millis(100);

/// Moves a whole service to another store, from one machine to a cluster or back
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tofrom copy --from /etc/tofrom/tofrom.toml --to /etc/tofrom/cluster.toml

Everything is as it was at the new place: accounts with their passwords, keys, applications and access tokens, who
follows whom, activities, what was deleted and removed. Links to further pages go on working; of updates links clients
are told (410) to read from the first page again. Sessions of browsers end.

Stop the services of the source when all deliveries are done, and start those of the target when the copy is. The
target must be empty, and needs the same secret_keys. A copy that was stopped goes on where it was when the same line
is run again. Of the environment only TOFROM_SECRET_KEYS counts, for both sides.")]
pub(super) struct Args {
    /// The settings of the service as it is
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// The settings of the service as it shall be
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    if global.data.is_some() || global.config.is_some() {
        let why = "copy takes two files with settings, --from FILE and --to FILE; --data and --config name one place";
        return Err(Misused(why).into());
    }
    let begun = Instant::now();
    let sides = Sides::open(&args.from, &args.to).await?;
    let Some(progress) = sides.begin().await? else {
        note("everything was copied before; there is nothing to do");
        return Ok(());
    };
    let bar = spinner();
    let copied = accounts(&sides, progress, &bar).await;
    bar.finish_and_clear();
    let counts = copied.context("stopped in the middle; the same line again goes on from there")?;
    if global.json {
        let Counts { accounts, activities, entries } = counts;
        json_line(json!({ "accounts": accounts, "activities": activities, "entries": entries }))?;
    } else {
        line(format_args!("{counts} copied in {} s", begun.elapsed().as_secs()))?;
    }
    Ok(())
}

/// A store that is half a copy is no service yet.
pub(super) async fn demand_whole(engine: &Engine) -> anyhow::Result<()> {
    let noted = engine.copying().copy_progress().await?;
    if noted.is_some_and(|noted| !Progress::read(&noted).is_some_and(|progress| progress.finished)) {
        bail!(
            "a copy into this store is not done; run tofrom copy again as it was begun, it goes on from there"
        );
    }
    Ok(())
}

/// Copies the accounts that are left, each with all that is its own.
async fn accounts(sides: &Sides, mut progress: Progress, bar: &ProgressBar) -> anyhow::Result<Counts> {
    let mut counts = Counts::default();
    loop {
        let page = sides.source.every_account(progress.done(), PAGE).await?;
        let Some(last) = page.last().map(|account| account.uid) else { break };
        let each = page.iter().map(|account| sides.copy_account(account, bar));
        // In their order, so that there is one account up to which all is done.
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
    sides.end(progress).await?;
    Ok(counts)
}

/// Draws nothing where standard error is no terminal.
fn spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} and {pos} more entries, {elapsed}") {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(TURNS);
    spinner
}

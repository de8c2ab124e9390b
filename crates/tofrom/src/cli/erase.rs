//! `tofrom erase`

use super::audit::{CommandAudit, event};
use super::output::{json_line, line, note};
use super::{Global, account};
use crate::config::{Media, Storage};
use anyhow::{Context, anyhow, bail};
use domain::{accounts, erasure};
use media::DiskCache;
use model::{AccountName, Clock};
use serde_json::json;
use store::sqlite::{SqliteStore, Texts, Trace};

/// Erase a removed account now, and prove that nothing is left
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tofrom erase alice --prove\n  tofrom erase alice --remove --prove\n\n\
                        The server erases removed accounts by itself within an hour. With --prove the files of the store \
                        are searched for every text of the account; the command exits with 1 if one is left. Backups are \
                        not searched.")]
pub(super) struct Args {
    /// Account name
    #[arg(value_parser = account::name)]
    account: AccountName,
    /// Search the files of the store for texts of the account afterwards
    #[arg(long)]
    prove: bool,
    /// Remove the account first, if it is not removed
    #[arg(long)]
    remove: bool,
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let storage = global.storage()?;
    let engine = storage.open_existing().await?;
    let (store, clock) = (engine.store(), Clock::system());
    if args.prove && engine.sqlite().is_none() {
        bail!(
            "--prove searches the file of a SQLite store; on a cluster texts leave the disks by compaction"
        );
    }
    let audit = CommandAudit::open(&store, global)?;
    let name = &args.account;
    let found = store.account_by_name(name).await?;
    let account = found.ok_or_else(|| anyhow!("account {name} not found; nothing was erased"))?;
    if !account.removed && !args.remove {
        bail!("account {name} is not removed; add --remove to remove and erase it");
    }
    let texts = match engine.sqlite().filter(|_| args.prove) {
        Some(store) => store.texts_of(&account).await?,
        None => Texts::default(),
    };
    if !account.removed {
        accounts::remove(store.as_ref(), &clock, account.uid).await?;
        audit.record(event("account-removed").on(&account)).await?;
    }
    let erased = erasure::erase(store.as_ref(), &clock, account.uid).await?;
    let erased = erased.ok_or_else(|| anyhow!("account {name} is not removed; nothing was erased"))?;
    clear_pictures(&global.settings()?.media(&storage)?)?;
    let about = format!("{} activities", erased.activities);
    audit.record(event("account-erased").on_erased(&erased.account).about(about)).await?;
    if let Some(store) = engine.sqlite().filter(|_| args.prove) {
        prove(store, &storage, name, &texts).await?;
    }
    let (activities, searched) = (erased.activities, texts.len());
    if global.json {
        let searched = args.prove.then_some(searched);
        json_line(json!({ "name": name.as_str(), "activities": activities, "texts_searched": searched }))?;
    } else {
        line(format_args!("account {name} erased, with {activities} activities"))?;
        if args.prove {
            line(format_args!("none of its {searched} texts is left in the files of the store"))?;
        }
    }
    Ok(())
}

/// Removes the cached pictures, which may be those of the account.
fn clear_pictures(media: &Media) -> anyhow::Result<()> {
    if let Some(folder) = media.folder.as_deref().filter(|folder| folder.is_dir()) {
        let opened = DiskCache::open(folder, u64::MAX);
        opened.with_context(|| format!("cannot clear the media folder {}", folder.display()))?.clear();
    }
    Ok(())
}

/// Searches for the texts. If some are left in unused parts of the file and no server is running, the file is rewritten.
async fn prove(
    store: &SqliteStore,
    storage: &Storage,
    name: &AccountName,
    texts: &Texts,
) -> anyhow::Result<()> {
    let mut traces = store.traces(texts).await?;
    if !traces.is_empty()
        && let Ok(Some(_lock)) = storage.lock()
    {
        note("rewriting the file: unused parts of it have texts of the account");
        store.rewrite().await?;
        traces = store.traces(texts).await?;
    }
    for Trace { file, offset } in &traces {
        note(format_args!("{} has a text of {name} at byte {offset}", file.display()));
    }
    if !traces.is_empty() {
        bail!(
            "{} texts of {name} are left in unused parts of the files; stop the server and run the command again",
            traces.len()
        );
    }
    Ok(())
}

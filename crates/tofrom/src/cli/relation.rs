//! `tofrom block` and `tofrom mute`

use super::output::{Listing, json_line, line};
use super::{Global, account};
use anyhow::bail;
use clap::Subcommand;
use domain::fanout::{Rules, deliver_pending};
use domain::relations;
use model::{AccountName, Clock, Decision};
use serde_json::json;

/// Manage blocked accounts
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  tofrom block add alice mallory --data ./data\n\n\
                        A blocked account can neither follow nor address the account, and sees it as private.")]
pub(super) struct BlockArgs {
    #[command(subcommand)]
    command: Command,
}

/// Manage muted accounts
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  tofrom mute add alice bob --data ./data\n\n\
                        Activities of a muted account do not appear in the account's feed.")]
pub(super) struct MuteArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add an account to the list, whether it exists or not
    #[command(after_help = "Examples:\n  tofrom block add alice mallory\n  tofrom mute add alice bob")]
    Add(Pair),
    /// Remove an account from the list
    #[command(after_help = "Examples:\n  tofrom block remove alice mallory\n  tofrom mute remove alice bob")]
    Remove(Pair),
    /// List the accounts
    #[command(after_help = "Examples:\n  tofrom block list alice\n  tofrom mute list alice --json")]
    List {
        /// Account name
        #[arg(value_parser = account::name)]
        account: AccountName,
    },
}

#[derive(Debug, clap::Args)]
struct Pair {
    /// Account name
    #[arg(value_parser = account::name)]
    account: AccountName,
    /// The other account
    #[arg(value_parser = account::name)]
    other: AccountName,
}

pub(super) async fn block(args: BlockArgs, global: &Global) -> anyhow::Result<()> {
    run(Decision::Block, args.command, global).await
}

pub(super) async fn mute(args: MuteArgs, global: &Global) -> anyhow::Result<()> {
    run(Decision::Mute, args.command, global).await
}

async fn run(decision: Decision, command: Command, global: &Global) -> anyhow::Result<()> {
    match command {
        Command::Add(pair) => set(decision, pair, true, global).await,
        Command::Remove(pair) => set(decision, pair, false, global).await,
        Command::List { account } => list(decision, &account, global).await,
    }
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Block => "block",
        Decision::Mute => "mute",
    }
}

async fn set(decision: Decision, pair: Pair, holds: bool, global: &Global) -> anyhow::Result<()> {
    let Pair { account, other } = pair;
    let word = word(decision);
    if account == other {
        bail!("an account cannot {word} itself");
    }
    let store = global.open_store().await?;
    let clock = Clock::system();
    let owner = account::find(store.as_ref(), &account).await?;
    if holds {
        let quotas = global.settings()?.quotas()?;
        relations::decide(store.as_ref(), &clock, &owner, decision, &other, &quotas).await?;
    } else {
        relations::lift(store.as_ref(), &clock, &owner, decision, &other).await?;
    }
    // The decision is durable. If delivery fails here, the server delivers later.
    deliver_pending(store.as_ref(), &clock, &Rules::default()).await?;
    if global.json {
        json_line(json!({ "account": account.as_str(), "other": other.as_str(), word: holds }))?;
    } else {
        line(format_args!(
            "{account} {} {other}",
            if holds { format!("{word}s") } else { format!("does not {word}") }
        ))?;
    }
    Ok(())
}

async fn list(decision: Decision, name: &AccountName, global: &Global) -> anyhow::Result<()> {
    const PAGE: usize = 1_000;
    let store = global.open_store().await?;
    let owner = account::find(store.as_ref(), name).await?;
    let mut listing = Listing::new(global.json, &["name"]);
    let mut after: Option<AccountName> = None;
    loop {
        let page = store.decided(&owner.name, decision, after.as_ref(), PAGE).await?;
        for other in &page {
            listing.add(|| vec![other.to_string()], || json!({ "name": other.as_str() }));
        }
        if page.len() < PAGE {
            break;
        }
        after = page.last().cloned();
    }
    let word = word(decision);
    Ok(listing.print(&format!(
        "{name} does not {word} any account; run tofrom {word} add {name} OTHER to add one"
    ))?)
}

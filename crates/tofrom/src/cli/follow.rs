//! `tofrom follow`

use super::output::{Listing, json_line, line, moment};
use super::{Global, account};
use crate::clock::Clock;
use crate::fanout::{Rules, deliver_pending};
use crate::following;
use anyhow::bail;
use clap::Subcommand;
use model::AccountName;
use serde_json::json;

/// Has accounts follow each other, and lists whom they follow
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  tofrom follow add alice bob --data ./data")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Has an account follow another, private ones too
    #[command(after_help = "Example:\n  tofrom follow add alice bob\n\n\
                            It brings what bob does from now on, and the newest 50 public ones from before.")]
    Add(Pair),
    /// Has an account not follow another any more
    #[command(after_help = "Example:\n  tofrom follow remove alice bob")]
    Remove(Pair),
    /// Lists whom an account follows
    #[command(after_help = "Examples:\n  tofrom follow list alice\n  tofrom follow list alice --json")]
    List {
        /// The account
        #[arg(value_parser = account::name)]
        account: AccountName,
    },
}

#[derive(Debug, clap::Args)]
struct Pair {
    /// Who follows
    #[arg(value_parser = account::name)]
    account: AccountName,
    /// Whom
    #[arg(value_parser = account::name)]
    other: AccountName,
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    match args.command {
        Command::Add(pair) => set(pair, true, global).await,
        Command::Remove(pair) => set(pair, false, global).await,
        Command::List { account } => list(&account, global).await,
    }
}

async fn set(pair: Pair, follows: bool, global: &Global) -> anyhow::Result<()> {
    let Pair { account, other } = pair;
    if account == other {
        bail!("nobody follows themselves: what {account} did is in its collection anyway");
    }
    let store = global.open_store().await?;
    let clock = Clock::system();
    let follower = account::find(store.as_ref(), &account).await?;
    let followee = account::find(store.as_ref(), &other).await?;
    if follows {
        following::follow(store.as_ref(), &clock, follower.uid, &followee).await?;
    } else {
        following::unfollow(store.as_ref(), &clock, follower.uid, followee.uid).await?;
    }
    // The edge is on disk; that what it brings is in the collection can wait for the service, if it must.
    deliver_pending(store.as_ref(), &clock, &Rules::default()).await?;
    if global.json {
        json_line(json!({ "account": account.as_str(), "other": other.as_str(), "following": follows }))?;
    } else {
        line(format_args!("{account} {} {other}", if follows { "follows" } else { "does not follow" }))?;
    }
    Ok(())
}

async fn list(name: &AccountName, global: &Global) -> anyhow::Result<()> {
    const PAGE: usize = 1_000;
    let store = global.open_store().await?;
    let follower = account::find(store.as_ref(), name).await?;
    let mut listing = Listing::new(global.json, &["name", "shown as", "visible", "since"]);
    let mut after = None;
    loop {
        let page = store.following(follower.uid, after, PAGE).await?;
        let uids: Vec<_> = page.iter().map(|(uid, _)| *uid).collect();
        let accounts = store.accounts(&uids).await?;
        for ((_, edge), account) in page.iter().zip(accounts) {
            let Some(account) = account.filter(|account| !account.removed) else { continue };
            let visible = if account.public { "public" } else { "private" };
            let row = || {
                let shown_as = account.display_name();
                vec![account.name.to_string(), shown_as, visible.to_owned(), moment(edge.since)]
            };
            let value = || json!({ "name": account.name.as_str(), "public": account.public, "since": edge.since.zulu() });
            listing.add(row, value);
        }
        after = uids.last().copied();
        if page.len() < PAGE {
            break;
        }
    }
    Ok(listing.print(&format!("{name} follows nobody; tofrom follow add {name} OTHER changes that"))?)
}

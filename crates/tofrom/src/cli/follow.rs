//! `tofrom follow`

use super::output::{Listing, json_line, line, time};
use super::{Global, account};
use anyhow::bail;
use clap::Subcommand;
use domain::fanout::{Rules, deliver_pending};
use domain::following;
use model::{AccountName, Clock, EdgeFilter};
use serde_json::json;

/// Manage follows between accounts
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  tofrom follow add alice bob --data ./data")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Follow an account, public or private
    #[command(after_help = "Example:\n  tofrom follow add alice bob\n\n\
                            Alice's feed gets Bob's new activities and his 50 newest public ones. With --service, --type \
                            or --verb only matching ones. To follow again replaces the filter.")]
    Add(Add),
    /// Unfollow an account
    #[command(after_help = "Example:\n  tofrom follow remove alice bob")]
    Remove(Pair),
    /// List the accounts that an account follows
    #[command(after_help = "Examples:\n  tofrom follow list alice\n  tofrom follow list alice --json")]
    List {
        /// Account name
        #[arg(value_parser = account::name)]
        account: AccountName,
    },
}

#[derive(Debug, clap::Args)]
struct Add {
    #[command(flatten)]
    pair: Pair,
    /// Only activities of these services
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    service: Vec<String>,
    /// Only activities of these types
    #[arg(long = "type", value_name = "WORD", value_delimiter = ',')]
    kind: Vec<String>,
    /// Only activities with these verbs
    #[arg(long, value_name = "WORD", value_delimiter = ',')]
    verb: Vec<String>,
}

#[derive(Debug, clap::Args)]
struct Pair {
    /// The follower
    #[arg(value_parser = account::name)]
    account: AccountName,
    /// The account to follow
    #[arg(value_parser = account::name)]
    other: AccountName,
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    match args.command {
        Command::Add(Add { pair, service, kind, verb }) => {
            set(pair, Some(EdgeFilter::of(&service, &kind, &verb)), global).await
        }
        Command::Remove(pair) => set(pair, None, global).await,
        Command::List { account } => list(&account, global).await,
    }
}

/// Follows with a filter, or unfollows.
async fn set(pair: Pair, filter: Option<EdgeFilter>, global: &Global) -> anyhow::Result<()> {
    let Pair { account, other } = pair;
    if account == other {
        bail!("an account cannot follow itself: its own activities are in its feed already");
    }
    let store = global.open_store().await?;
    let clock = Clock::system();
    let follower = account::find(store.as_ref(), &account).await?;
    let followee = account::find(store.as_ref(), &other).await?;
    let follows = filter.is_some();
    if let Some(filter) = filter {
        let quotas = global.settings()?.quotas()?;
        following::follow(store.as_ref(), &clock, &follower, &followee, &filter, &quotas).await?;
    } else {
        following::unfollow(store.as_ref(), &clock, follower.uid, followee.uid).await?;
    }
    // The edge is durable. If delivery fails here, the server delivers later.
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
    let mut listing = Listing::new(global.json, &["name", "display name", "visibility", "since"]);
    let mut after = None;
    loop {
        let page = store.following(follower.uid, after, PAGE).await?;
        let uids: Vec<_> = page.iter().map(|(uid, _)| *uid).collect();
        let accounts = store.accounts(&uids).await?;
        for ((_, edge), account) in page.iter().zip(accounts) {
            let Some(account) = account.filter(|account| !account.removed) else { continue };
            let visibility = if account.public { "public" } else { "private" };
            let row = || {
                let display_name = account.display_name();
                vec![account.name.to_string(), display_name, visibility.to_owned(), time(edge.since)]
            };
            let value = || json!({ "name": account.name.as_str(), "public": account.public, "since": edge.since.zulu() });
            listing.add(row, value);
        }
        after = uids.last().copied();
        if page.len() < PAGE {
            break;
        }
    }
    Ok(listing.print(&format!(
        "{name} does not follow any account; run tofrom follow add {name} OTHER to add one"
    ))?)
}

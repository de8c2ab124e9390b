//! `tofrom deadletter`

use super::Global;
use super::output::{Listing, json_line, line, moment};
use crate::fanout::described;
use anyhow::bail;
use clap::Subcommand;
use serde_json::json;
use store::{DeadLetter, Store};

/// How many are read at once.
const PAGE: usize = 500;

/// Lists deliveries that were given up, and has them tried again
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  tofrom deadletter list --data ./data\n\n\
                        A delivery that fails is tried ten times, ever more rarely; then it waits here.")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Lists them, oldest first
    #[command(after_help = "Example:\n  tofrom deadletter list --json")]
    List,
    /// Has them tried again by the running service
    #[command(after_help = "Examples:\n  tofrom deadletter replay 17\n  tofrom deadletter replay --all")]
    Replay {
        /// The numbers, as deadletter list shows them
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        numbers: Vec<u64>,
        /// All of them
        #[arg(long)]
        all: bool,
    },
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    match args.command {
        Command::List => list(global).await,
        Command::Replay { numbers, all } => replay(&numbers, all, global).await,
    }
}

async fn every(store: &dyn Store) -> anyhow::Result<Vec<DeadLetter>> {
    let mut letters: Vec<DeadLetter> = Vec::new();
    loop {
        let page = store.dead_letters(letters.last().map(|letter| letter.number), PAGE).await?;
        let full = page.len() == PAGE;
        letters.extend(page);
        if !full {
            return Ok(letters);
        }
    }
}

async fn list(global: &Global) -> anyhow::Result<()> {
    let store = global.open_store().await?;
    let mut listing = Listing::new(global.json, &["number", "what", "tried", "given up", "why"]);
    for letter in every(store.as_ref()).await? {
        let row = || {
            vec![
                letter.number.to_string(),
                described(&letter.work),
                letter.attempts.to_string(),
                moment(letter.at),
                letter.error.clone(),
            ]
        };
        let value = || {
            json!({
                "number": letter.number,
                "what": described(&letter.work),
                "attempts": letter.attempts,
                "at": letter.at.zulu(),
                "why": letter.error,
            })
        };
        listing.add(row, value);
    }
    Ok(listing.print("nothing was given up")?)
}

async fn replay(numbers: &[u64], all: bool, global: &Global) -> anyhow::Result<()> {
    let store = global.open_store().await?;
    let numbers = if all {
        every(store.as_ref()).await?.iter().map(|letter| letter.number).collect()
    } else {
        numbers.to_vec()
    };
    for number in numbers {
        if !store.replay(number).await? {
            bail!("there is no dead letter {number}; tofrom deadletter list shows those that there are");
        }
        if global.json {
            json_line(json!({ "number": number, "state": "waiting" }))?;
        } else {
            line(format_args!("{number} waits to be delivered again"))?;
        }
    }
    Ok(())
}

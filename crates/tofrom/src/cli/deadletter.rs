//! `tofrom deadletter`

use super::Global;
use super::audit::{CommandAudit, event};
use super::output::{Listing, json_line, line, time};
use anyhow::bail;
use clap::Subcommand;
use domain::fanout::described;
use serde_json::json;
use store::{DeadLetter, Store};

/// Dead letters per read.
const PAGE: usize = 500;

/// List and replay failed deliveries
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  tofrom deadletter list --data ./data\n\n\
                        A failed delivery is retried with increasing delays. After ten attempts it becomes a dead letter.")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List dead letters, oldest first
    #[command(after_help = "Example:\n  tofrom deadletter list --json")]
    List,
    /// Put dead letters back into the delivery log
    #[command(after_help = "Examples:\n  tofrom deadletter replay 17\n  tofrom deadletter replay --all")]
    Replay {
        /// Numbers, see deadletter list
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        numbers: Vec<u64>,
        /// Replay all dead letters
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

async fn all_letters(store: &dyn Store) -> anyhow::Result<Vec<DeadLetter>> {
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
    let mut listing = Listing::new(global.json, &["number", "task", "attempts", "failed at", "error"]);
    for letter in all_letters(store.as_ref()).await? {
        let row = || {
            vec![
                letter.number.to_string(),
                described(letter.work.as_ref()),
                letter.attempts.to_string(),
                time(letter.at),
                letter.error.clone(),
            ]
        };
        let value = || {
            json!({
                "number": letter.number,
                "what": described(letter.work.as_ref()),
                "attempts": letter.attempts,
                "at": letter.at.zulu(),
                "why": letter.error,
            })
        };
        listing.add(row, value);
    }
    Ok(listing.print("no dead letters")?)
}

async fn replay(numbers: &[u64], all: bool, global: &Global) -> anyhow::Result<()> {
    let store = global.open_store().await?;
    let audit = CommandAudit::open(&store, global)?;
    let numbers = if all {
        all_letters(store.as_ref()).await?.iter().map(|letter| letter.number).collect()
    } else {
        numbers.to_vec()
    };
    for number in numbers {
        if !store.replay(number).await? {
            bail!("dead letter {number} not found; run tofrom deadletter list to see all dead letters");
        }
        audit.record(event("dead-letter-replayed").about(number.to_string())).await?;
        if global.json {
            json_line(json!({ "number": number, "state": "waiting" }))?;
        } else {
            line(format_args!("dead letter {number} replayed"))?;
        }
    }
    Ok(())
}

//! `tofrom export`: what an account did, oldest first, as `import` takes it.
//!
//! The store tells collections newest first. So the whole is walked once for the identifiers, 16 bytes each, and
//! then written from its end, a batch at a time.

use super::{Global, account};
use crate::ingest::json::Written;
use model::{Account, AccountName, Activity, ActivityId, Box, Boxes, Filter, Order, Uid};
use std::collections::HashMap;
use std::io::{self, Write};
use store::{Slice, Store};

/// Entries that are read at once.
const PAGE: usize = 1_000;
/// Activities that are read and written at once.
const BATCH: usize = 200;

/// Writes what an account did, oldest first, as import takes it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tofrom export alice --data ./data > alice.ndjson
  tofrom export alice --data ./data | zstd > alice.ndjson.zst")]
pub(super) struct Args {
    /// The account
    #[arg(value_parser = AccountName::parse)]
    account: AccountName,
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let store = global.open_store().await?;
    let account = account::find(store.as_ref(), &args.account).await?;
    export(store.as_ref(), &account, &mut io::BufWriter::new(io::stdout())).await
}

/// Writes a line for everything that the account did.
pub(super) async fn export(
    store: &dyn Store,
    account: &Account,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<()> {
    let mut names = HashMap::new();
    for batch in all_ids(store, account.uid).await?.rchunks(BATCH) {
        let activities = activities(store, batch).await?;
        learn_names(store, &activities, &mut names).await?;
        for activity in activities.iter().rev() {
            let addressed = &activity.state.addressed;
            let to: Vec<AccountName> = addressed.iter().filter_map(|uid| names.get(uid)?.clone()).collect();
            serde_json::to_writer(&mut *out, &Written { activity, to: &to }).map_err(io::Error::from)?;
            out.write_all(b"\n")?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Newest first.
async fn all_ids(store: &dyn Store, owner: Uid) -> store::Result<Vec<ActivityId>> {
    let (filter, order) = (Filter::default(), Order::Received);
    let mut ids = Vec::new();
    let mut after = None;
    loop {
        let boxes = Boxes::default().with(Box::From);
        let slice = Slice { owner, boxes, order, filter: &filter, after, limit: PAGE };
        let entries = store.slice(&slice).await?;
        ids.extend(entries.iter().filter(|entry| !entry.gone).map(|entry| entry.id));
        if entries.len() < PAGE {
            return Ok(ids);
        }
        after = entries.last().map(|entry| entry.spot(order));
    }
}

/// Those that are still there.
async fn activities(store: &dyn Store, ids: &[ActivityId]) -> store::Result<Vec<Activity>> {
    let states = store.states(ids).await?;
    let bodies = store.bodies(ids).await?;
    let both = states.into_iter().zip(bodies).filter_map(|(state, body)| {
        let (state, (_, body)) = state.zip(body)?;
        (!state.deleted).then_some(Activity { state, body })
    });
    Ok(both.collect())
}

/// Looks up whom these activities address; somebody who is not there any more has no name.
async fn learn_names(
    store: &dyn Store,
    activities: &[Activity],
    names: &mut HashMap<Uid, Option<AccountName>>,
) -> store::Result<()> {
    let mut unknown: Vec<Uid> =
        activities.iter().flat_map(|one| one.state.addressed.iter().copied()).collect();
    unknown.retain(|uid| !names.contains_key(uid));
    unknown.sort_unstable();
    unknown.dedup();
    if unknown.is_empty() {
        return Ok(());
    }
    let accounts = store.accounts(&unknown).await?;
    for (uid, account) in unknown.into_iter().zip(accounts) {
        names.insert(uid, account.filter(|account| !account.removed).map(|account| account.name));
    }
    Ok(())
}

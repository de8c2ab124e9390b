//! `tofrom reseal`

use super::Global;
use super::audit::{CommandAudit, event};
use super::output::{json_line, line};
use auth::reseal;
use domain::{hooks, sources};
use model::Clock;
use seal::Resealed;
use serde_json::json;

/// Re-encrypt all stored secrets with the first of secret_keys
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tofrom reseal --config /etc/tofrom/tofrom.toml

To rotate the key: add the new key in front of the old one in secret_keys, restart the server, run this command, wait
15 minutes (until authorizations in progress have ended), then remove the old key. Links to further pages that were sealed
with it stop working then, and tofrom audit --verify needs it for the records of its time.")]
pub(super) struct Args {}

pub(super) async fn run(_args: Args, global: &Global) -> anyhow::Result<()> {
    let store = global.open_store().await?;
    let (keys, clock) = (global.secret_keys()?, Clock::system());
    let granted = reseal::reseal(store.as_ref(), &keys).await?;
    let hubs = sources::reseal(store.as_ref(), &clock, &keys).await?;
    CommandAudit::open(&store, global)?.record(event("secrets-resealed")).await?;
    let hooks = hooks::reseal(store.as_ref(), &clock, &keys).await?;
    let done = [granted, hubs, hooks].into_iter().fold(Resealed::default(), |sum, some| Resealed {
        anew: sum.anew + some.anew,
        all: sum.all + some.all,
    });
    if global.json {
        json_line(json!({ "secrets": done.all, "resealed": done.anew }))?;
    } else {
        line(format_args!("{} of {} secrets re-encrypted", done.anew, done.all))?;
    }
    Ok(())
}

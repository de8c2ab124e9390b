//! `tofrom export`: an account's activities, oldest first, in the format of `import`.

use super::audit::{CommandAudit, event};
use super::{Global, account};
use domain::export::lines;
use futures::{TryStreamExt, pin_mut};
use model::{Account, AccountName};
use std::io::{self, Write};
use std::sync::Arc;
use store::Store;

/// Export an account's activities as JSON lines, oldest first
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tofrom export alice --data ./data > alice.ndjson
  tofrom export alice --data ./data | zstd > alice.ndjson.zst")]
pub(super) struct Args {
    /// Account name
    #[arg(value_parser = AccountName::parse)]
    account: AccountName,
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let store = global.open_store().await?;
    let account = account::find(store.as_ref(), &args.account).await?;
    CommandAudit::open(&store, global)?.record(event("export").on(&account)).await?;
    export(store, &account, &mut io::BufWriter::new(io::stdout())).await
}

/// Writes one line per activity of the account.
pub(super) async fn export(
    store: Arc<dyn Store>,
    account: &Account,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<()> {
    let lines = lines(store, account.uid);
    pin_mut!(lines);
    while let Some(lines) = lines.try_next().await? {
        out.write_all(&lines)?;
    }
    out.flush()?;
    Ok(())
}

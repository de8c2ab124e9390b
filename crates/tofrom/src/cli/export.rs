//! `tofrom export`: what an account did, oldest first, as `import` takes it.

use super::{Global, account};
use crate::export::lines;
use futures::{TryStreamExt, pin_mut};
use model::{Account, AccountName};
use std::io::{self, Write};
use std::sync::Arc;
use store::Store;

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
    export(store, &account, &mut io::BufWriter::new(io::stdout())).await
}

/// Writes a line for everything that the account did.
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

//! `tofrom audit`, and the audit log of commands.

use super::Global;
use super::output::{json_line, line, note};
use anyhow::bail;
use auth::audit::{Actor, AuditLog, Event, as_json, verify};
use model::Clock;
use serde_json::json;
use std::sync::Arc;
use store::Store;

/// Records per page.
const PAGE: usize = 1_000;

/// Print the audit log as JSON lines, newest first, or verify it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tofrom audit --data ./data\n  tofrom audit --verify\n\n\
                        Records are kept for 400 days. --verify checks with secret_keys that no record is missing or \
                        altered; it exits with 1 otherwise.")]
pub(super) struct Args {
    /// Check that no record is missing or altered
    #[arg(long)]
    verify: bool,
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let store = global.open_store().await?;
    let now = Clock::system().now();
    if args.verify {
        return check(store.as_ref(), global).await;
    }
    let mut before = None;
    loop {
        let page = store.audit_before(before, now, PAGE).await?;
        for record in &page {
            json_line(as_json(record))?;
        }
        before = page.last().map(|record| record.at);
        if page.len() < PAGE {
            return Ok(());
        }
    }
}

async fn check(store: &dyn Store, global: &Global) -> anyhow::Result<()> {
    let verified = verify(store, &global.secret_keys()?, Clock::system().now()).await?;
    for finding in &verified.findings {
        note(finding);
    }
    if !verified.findings.is_empty() {
        bail!("the audit log is incomplete or altered: {} findings", verified.findings.len());
    }
    let (records, erased, shards) = (verified.records, verified.erased, verified.shards);
    if global.json {
        json_line(json!({ "records": records, "erased": erased, "shards": shards }))?;
    } else {
        line(format_args!("{records} records of {shards} process runs verified, {erased} of them erased"))?;
    }
    Ok(())
}

/// The audit log of one command.
pub(super) struct CommandAudit(AuditLog);

impl CommandAudit {
    /// Opens it before the command changes anything: without the secret keys the command fails.
    pub(super) fn open(store: &Arc<dyn Store>, global: &Global) -> anyhow::Result<CommandAudit> {
        let keys = global.secret_keys()?;
        Ok(CommandAudit(AuditLog::new(Arc::clone(store), Clock::system(), &keys, false)?))
    }

    /// Records what the command did.
    pub(super) async fn record(&self, event: Event) -> anyhow::Result<()> {
        self.0.try_record(event).await?;
        Ok(self.0.flush().await?)
    }
}

/// An event that a command causes.
pub(super) fn event(name: &'static str) -> Event {
    Event::new(name, Actor::CommandLine)
}

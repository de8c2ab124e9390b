//! OPML import and export of sources.

use super::super::Global;
use super::super::output::{json_line, line, note};
use super::SourceContext;
use anyhow::{Context, bail};
use feeds::opml::{self, Outline};
use model::AccountName;
use serde_json::json;
use std::io::Read;
use std::path::Path;

/// Maximum bytes of an OPML file.
const MAX_LIST: u64 = 5 << 20;

pub(super) async fn import(
    context: &SourceContext,
    account: &AccountName,
    file: &Path,
    global: &Global,
) -> anyhow::Result<()> {
    let outlines = opml::read(&read(file)?)?;
    let account = context.account(account).await?;
    let (all, mut failed) = (outlines.len(), 0);
    for Outline { address, .. } in outlines {
        let connected = context.sources.connect(&account, None, address.as_str()).await;
        let (name, why) = match &connected {
            Ok(connected) => (Some(connected.connection.name.as_str()), None),
            Err(why) => (None, Some(why.to_string())),
        };
        failed += usize::from(why.is_some());
        if global.json {
            json_line(json!({ "address": address.as_str(), "name": name, "error": why }))?;
        } else {
            line(format_args!("{address}: {}", why.as_deref().or(name).unwrap_or_default()))?;
        }
    }
    context.deliver().await?;
    if failed > 0 {
        bail!("{failed} of {all} feeds could not be connected");
    }
    note(format_args!("{all} feeds connected"));
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let name = file.display();
    if file == Path::new("-") {
        std::io::stdin().lock().take(MAX_LIST + 1).read_to_end(&mut bytes)?;
    } else {
        let opened = std::fs::File::open(file).with_context(|| format!("cannot open {name}"))?;
        opened.take(MAX_LIST + 1).read_to_end(&mut bytes).with_context(|| format!("cannot read {name}"))?;
    }
    if bytes.len() as u64 > MAX_LIST {
        bail!("{name} is larger than 5 MiB");
    }
    Ok(bytes)
}

pub(super) async fn export(context: &SourceContext, account: &AccountName) -> anyhow::Result<()> {
    let account = context.account(account).await?;
    let outlines: Vec<Outline> = context.sources.outlines(&account).await?;
    Ok(line(opml::write(&outlines, &format!("Sources of {}", account.name)).trim_end())?)
}

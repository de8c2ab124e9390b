//! Many sources at once: the lists that feed readers exchange.

use super::super::Global;
use super::super::output::{json_line, line, note};
use super::Place;
use anyhow::{Context, bail};
use feeds::opml::{self, Outline};
use model::AccountName;
use serde_json::json;
use std::io::Read;
use std::path::Path;

/// The longest list that is read.
const MAX_LIST: u64 = 5 << 20;

pub(super) async fn import(
    place: &Place,
    account: &AccountName,
    file: &Path,
    global: &Global,
) -> anyhow::Result<()> {
    let outlines = opml::read(&read(file)?)?;
    let account = place.account(account).await?;
    let (all, mut failed) = (outlines.len(), 0);
    for Outline { address, .. } in outlines {
        let connected = place.sources.connect(&account, None, address.as_str()).await;
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
    place.deliver().await?;
    if failed > 0 {
        bail!("{failed} of {all} feeds could not be connected");
    }
    note(format_args!("{all} feeds connected"));
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let place = file.display();
    if file == Path::new("-") {
        std::io::stdin().lock().take(MAX_LIST + 1).read_to_end(&mut bytes)?;
    } else {
        let opened = std::fs::File::open(file).with_context(|| format!("{place} can't be opened"))?;
        opened
            .take(MAX_LIST + 1)
            .read_to_end(&mut bytes)
            .with_context(|| format!("{place} can't be read"))?;
    }
    if bytes.len() as u64 > MAX_LIST {
        bail!("{place} is longer than 5 MiB");
    }
    Ok(bytes)
}

pub(super) async fn export(place: &Place, account: &AccountName) -> anyhow::Result<()> {
    let account = place.account(account).await?;
    let outlines: Vec<Outline> = place.sources.outlines(&account).await?;
    Ok(line(opml::write(&outlines, &format!("Sources of {}", account.name)).trim_end())?)
}

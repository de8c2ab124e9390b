//! `tofrom source`

use super::output::{Listing, json_line, line, note, time_or};
use super::{Global, account};
use anyhow::{Context, bail};
use clap::Subcommand;
use domain::fanout::{Rules, deliver_pending};
use domain::live::Hub;
use domain::sources::{Connected, Health, Listed, PollOutcome, Preview, Sources};
use feeds::opml::{self, Outline};
use model::{Account, AccountName, Clock};
use serde_json::{Value, json};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::Store;

/// Manage sources: feeds of other sites that an account imports
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tofrom source add alice https://github.com/alice
  tofrom source list alice
  tofrom source check alice github.com-alice")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Connect an account to a page or a feed and import its items
    #[command(after_help = "Examples:
  tofrom source add alice https://github.com/alice
  tofrom source add alice https://example.org/blog --name blog
  tofrom source add alice https://example.org/blog --preview

For a page, the feed that it links to is used. Items of known services keep their type and verb, such as a
star, a photo or a watched film. The 50 newest items are imported now; new items follow automatically while
the server runs.")]
    Add {
        /// Account name
        #[arg(value_parser = account::name)]
        account: AccountName,
        /// Address of a page or a feed
        address: String,
        /// Name of the source [default: derived from the address]
        #[arg(long)]
        name: Option<String>,
        /// Only show the items, without connecting
        #[arg(long, conflicts_with = "name")]
        preview: bool,
    },
    /// List an account's sources and their status
    #[command(after_help = "Examples:\n  tofrom source list alice\n  tofrom source list alice --json")]
    List {
        /// Account name
        #[arg(value_parser = account::name)]
        account: AccountName,
    },
    /// Check a source for new items now
    #[command(after_help = "Example:\n  tofrom source check alice github.com-alice")]
    Check(SourceRef),
    /// Pause a source
    #[command(after_help = "Example:\n  tofrom source pause alice github.com-alice")]
    Pause(SourceRef),
    /// Resume a paused source
    #[command(after_help = "Example:\n  tofrom source resume alice github.com-alice")]
    Resume(SourceRef),
    /// Disconnect an account from a source
    #[command(after_help = "Examples:
  tofrom source remove alice github.com-alice
  tofrom source remove alice github.com-alice --with-activities")]
    Remove {
        #[command(flatten)]
        source_ref: SourceRef,
        /// Also delete the imported activities
        #[arg(long)]
        with_activities: bool,
    },
    /// Connect an account to all feeds of an OPML file
    #[command(
        after_help = "Examples:\n  tofrom source import alice subscriptions.opml\n  tofrom source import alice - < subscriptions.opml"
    )]
    Import {
        /// Account name
        #[arg(value_parser = account::name)]
        account: AccountName,
        /// OPML file; - for standard input
        file: PathBuf,
    },
    /// Print an account's sources as OPML
    #[command(after_help = "Example:\n  tofrom source export alice > subscriptions.opml")]
    Export {
        /// Account name
        #[arg(value_parser = account::name)]
        account: AccountName,
    },
}

#[derive(Debug, clap::Args)]
struct SourceRef {
    /// Account name
    #[arg(value_parser = account::name)]
    account: AccountName,
    /// Source name, see source list
    name: String,
}

/// The parts that all source commands need.
struct SourceContext {
    store: Arc<dyn Store>,
    clock: Clock,
    sources: Sources,
}

impl SourceContext {
    async fn open(global: &Global) -> anyhow::Result<SourceContext> {
        let (store, clock) = (global.open_store().await?, Clock::system());
        let settings = global.settings()?.sources()?;
        let (hub, keys) = (Arc::new(Hub::default()), Arc::new(global.secret_keys()?));
        let sources = Sources::new(Arc::clone(&store), clock.clone(), hub, settings, keys)?;
        Ok(SourceContext { store, clock, sources: sources.for_operator() })
    }

    async fn account(&self, name: &AccountName) -> anyhow::Result<Arc<Account>> {
        Ok(Arc::new(account::find(self.store.as_ref(), name).await?))
    }

    /// Delivers the imported activities. They are durable: if this fails, the server delivers later.
    async fn deliver(&self) -> anyhow::Result<()> {
        deliver_pending(self.store.as_ref(), &self.clock, &Rules::default()).await?;
        Ok(())
    }
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let context = SourceContext::open(global).await?;
    match args.command {
        Command::Add { account, address, preview: true, .. } => {
            preview(&context, &account, &address, global).await
        }
        Command::Add { account, address, name, .. } => add(&context, &account, &address, name, global).await,
        Command::List { account } => list(&context, &account, global).await,
        Command::Check(source_ref) => check(&context, &source_ref, global).await,
        Command::Pause(source_ref) => pause(&context, &source_ref, true, global).await,
        Command::Resume(source_ref) => pause(&context, &source_ref, false, global).await,
        Command::Remove { source_ref, with_activities } => {
            remove(&context, &source_ref, with_activities, global).await
        }
        Command::Import { account, file } => import(&context, &account, &file, global).await,
        Command::Export { account } => export(&context, &account).await,
    }
}

async fn preview(
    context: &SourceContext,
    name: &AccountName,
    address: &str,
    global: &Global,
) -> anyhow::Result<()> {
    let account = context.account(name).await?;
    let Preview { address, title, service, name, activities, .. } =
        context.sources.preview(&account, address).await?;
    if global.json {
        let shown = activities.iter().map(|draft| {
            let published = draft.published.map(model::Millis::zulu);
            let category = model::category(&draft.kind, &draft.verb);
            json!({ "title": draft.body.title, "url": draft.body.object.url, "category": category, "published": published })
        });
        let shown: Vec<Value> = shown.collect();
        return Ok(json_line(
            json!({ "address": address.as_str(), "title": title, "service": service, "name": name, "activities": shown }),
        )?);
    }
    note(format_args!("{address}\n{} on {service}; {} items:", title.unwrap_or_default(), activities.len()));
    let mut listing = Listing::new(false, &["published", "title"]);
    for draft in activities {
        listing.add(|| vec![time_or(draft.published, "now"), draft.body.title.clone()], || Value::Null);
    }
    Ok(listing.print("no items")?)
}

async fn add(
    context: &SourceContext,
    account: &AccountName,
    address: &str,
    name: Option<String>,
    global: &Global,
) -> anyhow::Result<()> {
    let account = context.account(account).await?;
    let Connected { connection, is_new, imported } =
        context.sources.connect(&account, name.as_deref(), address).await?;
    context.deliver().await?;
    if global.json {
        let service = &connection.settings.service;
        json_line(
            json!({ "name": connection.name, "service": service, "new": is_new, "activities": imported }),
        )?;
    } else if is_new {
        line(format_args!(
            "{} connected to {}; {imported} activities imported",
            account.name, connection.name
        ))?;
    } else {
        line(format_args!("{} is already connected to it, as {}", account.name, connection.name))?;
    }
    Ok(())
}

async fn list(context: &SourceContext, name: &AccountName, global: &Global) -> anyhow::Result<()> {
    let account = context.account(name).await?;
    let mut listing = Listing::new(global.json, &["name", "service", "address", "verified", "health"]);
    for Listed { connection, source, health } in context.sources.list(&account).await? {
        let address = source
            .map_or_else(|| connection.settings.typed.clone(), |source| source.known.address.to_string());
        let settings = &connection.settings;
        let verified = if settings.verified.is_some() { "yes" } else { "no" };
        let Health { well, words } = &health;
        listing.add(
            || vec![connection.name.clone(), settings.service.clone(), address.clone(), verified.to_owned(), words.clone()],
            || json!({ "name": connection.name, "service": settings.service, "address": address, "paused": settings.paused,
                       "verified": settings.verified.is_some(), "well": well, "health": words }),
        );
    }
    Ok(listing.print(&format!(
        "{name} has no sources; run tofrom source add {name} ADDRESS to connect source_ref"
    ))?)
}

async fn check(context: &SourceContext, source_ref: &SourceRef, global: &Global) -> anyhow::Result<()> {
    let account = context.account(&source_ref.account).await?;
    let Some(outcome) = context.sources.check(&account, &source_ref.name).await? else {
        return not_found(source_ref);
    };
    context.deliver().await?;
    match outcome {
        PollOutcome::Failed(why) => bail!("{why}"),
        PollOutcome::Found(new) if global.json => json_line(json!({ "name": source_ref.name, "new": new }))?,
        PollOutcome::Found(0) => line(format_args!("{}: nothing new", source_ref.name))?,
        PollOutcome::Found(new) => line(format_args!("{}: {new} new", source_ref.name))?,
        PollOutcome::NotDue | PollOutcome::Unwanted if global.json => {
            json_line(json!({ "name": source_ref.name, "new": 0 }))?
        }
        PollOutcome::NotDue | PollOutcome::Unwanted => {
            line(format_args!("{}: nothing to check", source_ref.name))?
        }
    }
    Ok(())
}

async fn pause(
    context: &SourceContext,
    source_ref: &SourceRef,
    paused: bool,
    global: &Global,
) -> anyhow::Result<()> {
    let account = context.account(&source_ref.account).await?;
    if !context.sources.pause(&account, &source_ref.name, paused).await? {
        return not_found(source_ref);
    }
    if global.json {
        json_line(json!({ "name": source_ref.name, "paused": paused }))?;
    } else {
        line(format_args!("{} {}", source_ref.name, if paused { "paused" } else { "resumed" }))?;
    }
    Ok(())
}

async fn remove(
    context: &SourceContext,
    source_ref: &SourceRef,
    with_activities: bool,
    global: &Global,
) -> anyhow::Result<()> {
    let account = context.account(&source_ref.account).await?;
    let Some(deleted) = context.sources.disconnect(&account, &source_ref.name, with_activities).await? else {
        return not_found(source_ref);
    };
    context.deliver().await?;
    if global.json {
        json_line(json!({ "name": source_ref.name, "removed": true, "activities": deleted }))?;
    } else if with_activities {
        line(format_args!("{} removed, with {deleted} activities", source_ref.name))?;
    } else {
        line(format_args!("{} removed; its imported activities are kept", source_ref.name))?;
    }
    Ok(())
}

fn not_found(source_ref: &SourceRef) -> anyhow::Result<()> {
    let SourceRef { account, name } = source_ref;
    bail!("source {name} of {account} not found; run tofrom source list {account} to see all sources")
}

/// Maximum bytes of an OPML file.
const MAX_LIST: u64 = 5 << 20;

/// Connects the feeds of an OPML file.
async fn import(
    context: &SourceContext,
    account: &AccountName,
    file: &Path,
    global: &Global,
) -> anyhow::Result<()> {
    let outlines = opml::read(&read_list(file)?)?;
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

fn read_list(file: &Path) -> anyhow::Result<Vec<u8>> {
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

/// Prints the sources as OPML.
async fn export(context: &SourceContext, account: &AccountName) -> anyhow::Result<()> {
    let account = context.account(account).await?;
    let outlines: Vec<Outline> = context.sources.outlines(&account).await?;
    Ok(line(opml::write(&outlines, &format!("Sources of {}", account.name)).trim_end())?)
}

//! `tofrom source`

mod opml;

use super::output::{Listing, json_line, line, moment_or, note};
use super::{Global, account};
use crate::clock::Clock;
use crate::fanout::{Rules, deliver_pending};
use crate::live::Hub;
use crate::sources::{Connected, Health, Listed, PollOutcome, Preview, Sources};
use anyhow::bail;
use clap::Subcommand;
use model::{Account, AccountName};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use store::Store;

/// Connects accounts to what they do elsewhere
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
    /// Connects an account to a page or a feed, and brings what is there
    #[command(after_help = "Examples:
  tofrom source add alice https://github.com/alice
  tofrom source add alice https://example.org/blog --name blog
  tofrom source add alice https://example.org/blog --preview

A page leads to the feed that it points to. What a service of the catalogue is known for becomes what it
is there: a star, a photo, a film that was watched. The newest 50 come in at once; what is new follows by
itself while the service runs.")]
    Add {
        /// The account
        #[arg(value_parser = account::name)]
        account: AccountName,
        /// The address of a page or a feed
        address: String,
        /// What to call it [default: made from the address]
        #[arg(long)]
        name: Option<String>,
        /// Shows what would come in, and keeps nothing
        #[arg(long, conflicts_with = "name")]
        preview: bool,
    },
    /// Lists an account's sources, and how they are
    #[command(after_help = "Examples:\n  tofrom source list alice\n  tofrom source list alice --json")]
    List {
        /// The account
        #[arg(value_parser = account::name)]
        account: AccountName,
    },
    /// Looks at a source now
    #[command(after_help = "Example:\n  tofrom source check alice github.com-alice")]
    Check(One),
    /// Brings nothing from a source until it goes on
    #[command(after_help = "Example:\n  tofrom source pause alice github.com-alice")]
    Pause(One),
    /// Goes on with a source that was paused
    #[command(after_help = "Example:\n  tofrom source resume alice github.com-alice")]
    Resume(One),
    /// Disconnects an account from a source
    #[command(after_help = "Examples:
  tofrom source remove alice github.com-alice
  tofrom source remove alice github.com-alice --with-activities")]
    Remove {
        #[command(flatten)]
        one: One,
        /// Deletes what it imported, too
        #[arg(long)]
        with_activities: bool,
    },
    /// Connects an account to all feeds of an OPML file
    #[command(
        after_help = "Examples:\n  tofrom source import alice subscriptions.opml\n  tofrom source import alice - < subscriptions.opml"
    )]
    Import {
        /// The account
        #[arg(value_parser = account::name)]
        account: AccountName,
        /// The file; - is standard input
        file: PathBuf,
    },
    /// Prints an account's sources as OPML
    #[command(after_help = "Example:\n  tofrom source export alice > subscriptions.opml")]
    Export {
        /// The account
        #[arg(value_parser = account::name)]
        account: AccountName,
    },
}

#[derive(Debug, clap::Args)]
struct One {
    /// The account
    #[arg(value_parser = account::name)]
    account: AccountName,
    /// The source's name, as tofrom source list shows it
    name: String,
}

/// What all of these commands need.
struct Place {
    store: Arc<dyn Store>,
    clock: Clock,
    sources: Sources,
}

impl Place {
    async fn open(global: &Global) -> anyhow::Result<Place> {
        let (store, clock) = (global.open_store().await?, Clock::system());
        let settings = global.settings()?.sources()?;
        let (hub, keys) = (Arc::new(Hub::default()), Arc::new(global.secret_keys()?));
        let sources = Sources::new(Arc::clone(&store), clock.clone(), hub, settings, keys)?;
        Ok(Place { store, clock, sources: sources.for_operator() })
    }

    async fn account(&self, name: &AccountName) -> anyhow::Result<Arc<Account>> {
        Ok(Arc::new(account::find(self.store.as_ref(), name).await?))
    }

    /// What came in is on disk; that it is in collections can wait for the service, if it must.
    async fn deliver(&self) -> anyhow::Result<()> {
        deliver_pending(self.store.as_ref(), &self.clock, &Rules::default()).await?;
        Ok(())
    }
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let place = Place::open(global).await?;
    match args.command {
        Command::Add { account, address, preview: true, .. } => {
            preview(&place, &account, &address, global).await
        }
        Command::Add { account, address, name, .. } => add(&place, &account, &address, name, global).await,
        Command::List { account } => list(&place, &account, global).await,
        Command::Check(one) => check(&place, &one, global).await,
        Command::Pause(one) => pause(&place, &one, true, global).await,
        Command::Resume(one) => pause(&place, &one, false, global).await,
        Command::Remove { one, with_activities } => remove(&place, &one, with_activities, global).await,
        Command::Import { account, file } => opml::import(&place, &account, &file, global).await,
        Command::Export { account } => opml::export(&place, &account).await,
    }
}

async fn preview(place: &Place, name: &AccountName, address: &str, global: &Global) -> anyhow::Result<()> {
    let account = place.account(name).await?;
    let Preview { address, title, service, name, activities, .. } =
        place.sources.preview(&account, address).await?;
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
    note(format_args!(
        "{address}\n{} on {service}; {} would come in:",
        title.unwrap_or_default(),
        activities.len()
    ));
    let mut listing = Listing::new(false, &["published", "title"]);
    for draft in activities {
        listing.add(|| vec![moment_or(draft.published, "now"), draft.body.title.clone()], || Value::Null);
    }
    Ok(listing.print("there is nothing yet")?)
}

async fn add(
    place: &Place,
    account: &AccountName,
    address: &str,
    name: Option<String>,
    global: &Global,
) -> anyhow::Result<()> {
    let account = place.account(account).await?;
    let Connected { connection, is_new, imported } =
        place.sources.connect(&account, name.as_deref(), address).await?;
    place.deliver().await?;
    if global.json {
        let service = &connection.settings.service;
        json_line(
            json!({ "name": connection.name, "service": service, "new": is_new, "activities": imported }),
        )?;
    } else if is_new {
        line(format_args!(
            "{} is connected as {}; {imported} activities came in",
            account.name, connection.name
        ))?;
    } else {
        line(format_args!("{} is connected to it already, as {}", account.name, connection.name))?;
    }
    Ok(())
}

async fn list(place: &Place, name: &AccountName, global: &Global) -> anyhow::Result<()> {
    let account = place.account(name).await?;
    let mut listing = Listing::new(global.json, &["name", "service", "address", "verified", "health"]);
    for Listed { connection, source, health } in place.sources.list(&account).await? {
        let address = source
            .map_or_else(|| connection.settings.typed.clone(), |source| source.known.address.to_string());
        let wish = &connection.settings;
        let verified = if wish.verified.is_some() { "yes" } else { "no" };
        let Health { well, words } = &health;
        listing.add(
            || vec![connection.name.clone(), wish.service.clone(), address.clone(), verified.to_owned(), words.clone()],
            || json!({ "name": connection.name, "service": wish.service, "address": address, "paused": wish.paused,
                       "verified": wish.verified.is_some(), "well": well, "health": words }),
        );
    }
    Ok(listing.print(&format!("{name} has no sources; tofrom source add {name} ADDRESS connects one"))?)
}

async fn check(place: &Place, one: &One, global: &Global) -> anyhow::Result<()> {
    let account = place.account(&one.account).await?;
    let Some(looked) = place.sources.check(&account, &one.name).await? else { return no_such(one) };
    place.deliver().await?;
    match looked {
        PollOutcome::Failed(why) => bail!("{why}"),
        PollOutcome::Found(new) if global.json => json_line(json!({ "name": one.name, "new": new }))?,
        PollOutcome::Found(0) => line(format_args!("{}: nothing new", one.name))?,
        PollOutcome::Found(new) => line(format_args!("{}: {new} new", one.name))?,
        PollOutcome::NotDue | PollOutcome::Unwanted if global.json => {
            json_line(json!({ "name": one.name, "new": 0 }))?
        }
        PollOutcome::NotDue | PollOutcome::Unwanted => {
            line(format_args!("{}: nothing to look at", one.name))?
        }
    }
    Ok(())
}

async fn pause(place: &Place, one: &One, paused: bool, global: &Global) -> anyhow::Result<()> {
    let account = place.account(&one.account).await?;
    if !place.sources.pause(&account, &one.name, paused).await? {
        return no_such(one);
    }
    if global.json {
        json_line(json!({ "name": one.name, "paused": paused }))?;
    } else {
        line(format_args!("{} {}", one.name, if paused { "is paused" } else { "goes on" }))?;
    }
    Ok(())
}

async fn remove(place: &Place, one: &One, with_activities: bool, global: &Global) -> anyhow::Result<()> {
    let account = place.account(&one.account).await?;
    let Some(gone) = place.sources.disconnect(&account, &one.name, with_activities).await? else {
        return no_such(one);
    };
    place.deliver().await?;
    if global.json {
        json_line(json!({ "name": one.name, "removed": true, "activities": gone }))?;
    } else if with_activities {
        line(format_args!("{} is removed, with {gone} activities", one.name))?;
    } else {
        line(format_args!("{} is removed; what it imported stays", one.name))?;
    }
    Ok(())
}

fn no_such(one: &One) -> anyhow::Result<()> {
    let One { account, name } = one;
    bail!("{account} has no source {name}; tofrom source list {account} shows those that there are")
}

//! `tofrom hook`

use super::output::{Listing, json_line, line, note, time_or};
use super::{Global, account};
use anyhow::bail;
use clap::Subcommand;
use domain::feed::{Feed, FeedLimits};
use domain::hooks::{HookParts, HookRequest, Hooks, ListedHook, PingOutcome};
use domain::live::Hub;
use model::{Account, AccountName, Clock};
use serde_json::json;
use std::sync::Arc;
use store::{AccountCache, Store};

/// Manage hooks: an account's activities are sent to an address as they arrive
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tofrom hook add alice search https://example.org/hook
  tofrom hook list alice
  tofrom hook test alice search")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a hook, or change its address, collection or filters
    #[command(after_help = "Examples:
  tofrom hook add alice search https://example.org/hook
  tofrom hook add alice photos https://example.org/hook --collection to --type photo --verb posted

A new hook begins now. Its secret is printed once: the receiver verifies signatures with it. A hook that exists keeps
its place and its secret. A running server delivers it within 10 seconds.")]
    Add {
        #[command(flatten)]
        hook: HookRef,
        /// Address of the receiver, with https
        url: String,
        /// Collection: to, from or tofrom
        #[arg(long, default_value = "tofrom")]
        collection: String,
        /// Only activities of this service; may be repeated
        #[arg(long)]
        service: Vec<String>,
        /// Only activities of this type; may be repeated
        #[arg(long = "type")]
        kind: Vec<String>,
        /// Only activities of this verb; may be repeated
        #[arg(long)]
        verb: Vec<String>,
    },
    /// List an account's hooks and their status
    #[command(after_help = "Examples:\n  tofrom hook list alice\n  tofrom hook list alice --json")]
    List {
        /// Account name
        #[arg(value_parser = account::name)]
        account: AccountName,
    },
    /// Remove a hook
    #[command(after_help = "Example:\n  tofrom hook remove alice search")]
    Remove(HookRef),
    /// Enable a disabled hook, and deliver without waiting for the next try
    #[command(after_help = "Example:\n  tofrom hook resume alice search")]
    Resume(HookRef),
    /// Make a new secret; both sign for 24 hours
    #[command(after_help = "Example:\n  tofrom hook rotate alice search")]
    Rotate(HookRef),
    /// Send a signed ping to the receiver
    #[command(after_help = "Example:\n  tofrom hook test alice search")]
    Test(HookRef),
}

#[derive(Debug, clap::Args)]
struct HookRef {
    /// Account name
    #[arg(value_parser = account::name)]
    account: AccountName,
    /// Hook name, see hook list
    name: String,
}

/// The parts that all hook commands need.
struct HookContext {
    store: Arc<dyn Store>,
    clock: Clock,
    hooks: Hooks,
}

impl HookContext {
    async fn open(global: &Global) -> anyhow::Result<HookContext> {
        let (store, clock) = (global.open_store().await?, Clock::system());
        let settings = global.settings()?.hooks()?;
        let accounts = AccountCache::new(Arc::clone(&store));
        let feed = Feed::new(Arc::clone(&store), accounts.clone(), clock.clone(), FeedLimits::default());
        let hub = Arc::new(Hub::default());
        // The worker of a cluster learns of a change at once.
        hub.enable_broadcast();
        let secret_keys = Arc::new(global.secret_keys()?);
        let parts =
            HookParts { store: Arc::clone(&store), accounts, clock: clock.clone(), hub, feed, secret_keys };
        Ok(HookContext { store, clock, hooks: Hooks::new(parts, &settings)? })
    }

    async fn account(&self, name: &AccountName) -> anyhow::Result<Account> {
        account::find(self.store.as_ref(), name).await
    }
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let context = HookContext::open(global).await?;
    match args.command {
        Command::Add { hook, url, collection, service, kind, verb } => {
            let request = HookRequest { url, collection, services: service, kinds: kind, verbs: verb };
            add(&context, &hook, request, global).await
        }
        Command::List { account } => list(&context, &account, global).await,
        Command::Remove(hook) => remove(&context, &hook, global).await,
        Command::Resume(hook) => resume(&context, &hook, global).await,
        Command::Rotate(hook) => rotate(&context, &hook, global).await,
        Command::Test(hook) => test(&context, &hook, global).await,
    }
}

async fn add(
    context: &HookContext,
    hook: &HookRef,
    request: HookRequest,
    global: &Global,
) -> anyhow::Result<()> {
    let account = context.account(&hook.account).await?;
    let done = context.hooks.put(&account, &hook.name, request).await?;
    let secret = done.secret.as_ref().map(|secret| secret.as_str());
    if global.json {
        let (url, collection) = (done.hook.config.url.to_string(), done.hook.config.collection.as_str());
        return Ok(json_line(
            json!({ "name": hook.name, "url": url, "collection": collection, "secret": secret }),
        )?);
    }
    match secret {
        Some(secret) => {
            note(format_args!("hook {} created; its secret, shown once:", hook.name));
            Ok(line(secret)?)
        }
        None => Ok(line(format_args!("hook {} changed", hook.name))?),
    }
}

async fn list(context: &HookContext, name: &AccountName, global: &Global) -> anyhow::Result<()> {
    let account = context.account(name).await?;
    let now = context.clock.now();
    let mut listing =
        Listing::new(global.json, &["name", "collection", "url", "status", "last", "lag", "reason"]);
    for ListedHook { hook, progress } in context.hooks.list(account.uid).await? {
        let config = &hook.config;
        let disabled = config.disabled.as_ref().map(|disabled| disabled.reason.clone());
        let status = match (config.disabled.is_some(), progress.failing_since.is_some()) {
            (true, _) => "disabled",
            (false, true) => "failing",
            (false, false) => "running",
        };
        let reason = disabled.or_else(|| progress.last_error.clone());
        let (url, collection) = (config.url.to_string(), config.collection.as_str());
        let (lag, last) = (progress.lag(now), progress.last_date);
        let last_status = progress.last_status;
        listing.add(
            || {
                let reason = reason.clone().unwrap_or_default();
                let last = time_or(last, "never");
                vec![hook.name.clone(), collection.to_owned(), url.clone(), status.to_owned(), last, format!("{lag} s"), reason]
            },
            || {
                json!({ "name": hook.name, "collection": collection, "url": url, "services": config.services,
                        "types": config.kinds, "verbs": config.verbs, "status": status, "last_status": last_status,
                        "last": last.map(model::Millis::zulu), "lag": lag, "reason": reason })
            },
        );
    }
    Ok(listing.print(&format!("{name} has no hooks; run tofrom hook add {name} NAME URL to create one"))?)
}

async fn remove(context: &HookContext, hook: &HookRef, global: &Global) -> anyhow::Result<()> {
    let account = context.account(&hook.account).await?;
    if !context.hooks.remove(account.uid, &hook.name).await? {
        return not_found(hook);
    }
    report(hook, global, "removed")
}

async fn resume(context: &HookContext, hook: &HookRef, global: &Global) -> anyhow::Result<()> {
    let account = context.account(&hook.account).await?;
    if !context.hooks.resume(account.uid, &hook.name).await? {
        return not_found(hook);
    }
    report(hook, global, "resumed")
}

async fn rotate(context: &HookContext, hook: &HookRef, global: &Global) -> anyhow::Result<()> {
    let account = context.account(&hook.account).await?;
    let Some(secret) = context.hooks.rotate(account.uid, &hook.name).await? else {
        return not_found(hook);
    };
    if global.json {
        return Ok(json_line(json!({ "name": hook.name, "secret": secret.as_str() }))?);
    }
    note(format_args!("the new secret of {}, shown once; the old one signs for 24 hours more:", hook.name));
    Ok(line(secret.as_str())?)
}

async fn test(context: &HookContext, hook: &HookRef, global: &Global) -> anyhow::Result<()> {
    let account = context.account(&hook.account).await?;
    let Some(outcome) = context.hooks.test(account.uid, &hook.name).await? else {
        return not_found(hook);
    };
    match outcome {
        PingOutcome::Failed(error) => bail!("{error}"),
        PingOutcome::Status(status) if !outcome.is_success() => {
            bail!("the receiver answered with status {status}: expected 200 to 299")
        }
        PingOutcome::Status(status) if global.json => {
            Ok(json_line(json!({ "name": hook.name, "status": status }))?)
        }
        PingOutcome::Status(status) => {
            Ok(line(format_args!("{}: the receiver answered with status {status}", hook.name))?)
        }
    }
}

fn report(hook: &HookRef, global: &Global, what: &str) -> anyhow::Result<()> {
    match global.json {
        true => json_line(json!({ "name": hook.name, what: true }))?,
        false => line(format_args!("{} {what}", hook.name))?,
    }
    Ok(())
}

fn not_found(hook: &HookRef) -> anyhow::Result<()> {
    let HookRef { account, name } = hook;
    bail!("hook {name} of {account} not found; run tofrom hook list {account} to see all hooks")
}

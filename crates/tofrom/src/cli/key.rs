//! `tofrom key`

use super::audit::{CommandAudit, event};
use super::output::{Listing, json_line, line, note, time, time_or};
use super::{Global, account};
use crate::config::{InvalidAge, parse_age};
use anyhow::bail;
use auth::key::{self, NewKey};
use clap::{Subcommand, ValueEnum};
use model::{AccountName, Clock, Key, KeyId, Millis, Scopes};
use serde_json::json;
use std::time::Duration;

/// Manage pre-shared keys
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  tofrom key add alice --name laptop --expires 90d --data ./data")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a key and print it, once
    #[command(after_help = "Examples:\n  tofrom key add alice --name laptop\n  \
                            tofrom key add ops --scope write --expires 90d --json\n\n\
                            Programs send the key in the header ServicePSK.")]
    Add(Add),
    /// List an account's keys
    #[command(after_help = "Example:\n  tofrom key list alice")]
    List {
        /// Account name
        #[arg(value_parser = account::name)]
        account: AccountName,
    },
    /// Revoke a key permanently
    #[command(after_help = "Example:\n  tofrom key revoke alice 9f86d081884c7d65")]
    Revoke {
        /// Account name
        #[arg(value_parser = account::name)]
        account: AccountName,
        /// Key id, see key list
        #[arg(value_parser = key_id)]
        id: KeyId,
    },
}

#[derive(Debug, clap::Args)]
struct Add {
    /// Account name
    #[arg(value_parser = account::name)]
    account: AccountName,
    /// Name of the key, to recognize it
    #[arg(long, default_value = "key")]
    name: String,
    /// Allowed access; write includes read
    #[arg(long, value_enum, default_value_t = Scope::Read)]
    scope: Scope,
    /// Lifetime: a number and s, m, h, d or w [default: never expires]
    #[arg(long, value_name = "AGE", value_parser = age)]
    expires: Option<Duration>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Scope {
    Read,
    Write,
}

impl From<Scope> for Scopes {
    fn from(scope: Scope) -> Scopes {
        match scope {
            Scope::Read => Scopes::Read,
            Scope::Write => Scopes::ReadWrite,
        }
    }
}

fn age(text: &str) -> Result<Duration, InvalidAge> {
    parse_age(text)
}

fn key_id(text: &str) -> Result<KeyId, &'static str> {
    KeyId::parse(text).ok_or("expected 16 hexadecimal digits; run tofrom key list to see all ids")
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    match args.command {
        Command::Add(args) => add(args, global).await,
        Command::List { account } => list(&account, global).await,
        Command::Revoke { account, id } => revoke(&account, id, global).await,
    }
}

async fn add(args: Add, global: &Global) -> anyhow::Result<()> {
    let store = global.open_store().await?;
    let audit = CommandAudit::open(&store, global)?;
    let owner = account::find(store.as_ref(), &args.account).await?;
    let now = Clock::system().now();
    let new = NewKey {
        name: args.name,
        scopes: args.scope.into(),
        expires: args.expires.map(|age| now.later(age)),
        parent: None,
    };
    let max = global.settings()?.quotas()?.keys;
    let (key, text) = key::add(store.as_ref(), owner.uid, new, max, now).await?;
    audit.record(event("key-added").on(&owner).about(format!("key {}", key.id))).await?;
    if global.json {
        let expires = key.expires.map(Millis::zulu);
        let (id, text, scope) = (key.id.to_string(), text.as_str(), scope_of(&key));
        json_line(json!({ "id": id, "key": text, "name": key.name, "scope": scope, "expires": expires }))?;
    } else {
        line(text.as_str())?;
        note(format_args!("key {} of {}; the key is not shown again", key.id, owner.name));
    }
    Ok(())
}

async fn list(name: &AccountName, global: &Global) -> anyhow::Result<()> {
    let store = global.open_store().await?;
    let owner = account::find(store.as_ref(), name).await?;
    let now = Clock::system().now();
    let columns = &["id", "name", "scope", "state", "created", "expires", "last used"];
    let mut listing = Listing::new(global.json, columns);
    for key in store.keys_of(owner.uid).await? {
        let row = || {
            vec![
                key.id.to_string(),
                key.name.clone(),
                scope_of(&key).to_owned(),
                state_of(&key, now).to_owned(),
                time(key.created),
                time_or(key.expires, "never"),
                time_or(key.used, "never"),
            ]
        };
        let value = || {
            json!({
                "id": key.id.to_string(),
                "name": key.name,
                "scope": scope_of(&key),
                "state": state_of(&key, now),
                "created": key.created.zulu(),
                "expires": key.expires.map(Millis::zulu),
                "used": key.used.map(Millis::zulu),
                "revoked": key.revoked.map(Millis::zulu),
            })
        };
        listing.add(row, value);
    }
    Ok(listing.print(&format!("{name} has no keys; run tofrom key add {name} to create one"))?)
}

async fn revoke(name: &AccountName, id: KeyId, global: &Global) -> anyhow::Result<()> {
    let store = global.open_store().await?;
    let audit = CommandAudit::open(&store, global)?;
    let owner = account::find(store.as_ref(), name).await?;
    if !store.revoke_key(owner.uid, id, Clock::system().now()).await? {
        bail!("key {id} of {name} not found; run tofrom key list {name} to see all keys");
    }
    audit.record(event("key-revoked").on(&owner).about(format!("key {id}"))).await?;
    if global.json {
        json_line(json!({ "id": id.to_string(), "state": "revoked" }))?;
    } else {
        line(format_args!("key {id} of {name} revoked"))?;
    }
    Ok(())
}

/// The scope as a flag value.
fn scope_of(key: &Key) -> &'static str {
    if key.scopes.can_write() { "write" } else { "read" }
}

fn state_of(key: &Key, now: Millis) -> &'static str {
    match key.revoked {
        Some(_) => "revoked",
        None if key.is_live(now) => "live",
        None => "expired",
    }
}

//! `tofrom key`

use super::output::{Listing, json_line, line, moment, moment_or, note};
use super::{Global, account};
use crate::auth;
use crate::clock::Clock;
use crate::config::{InvalidAge, parse_age};
use anyhow::bail;
use clap::{Subcommand, ValueEnum};
use model::{AccountName, Key, KeyId, Millis, Scopes};
use serde_json::json;
use std::time::Duration;

/// Adds, lists and revokes pre-shared keys
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  tofrom key add alice --name laptop --expires 90d --data ./data")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Makes a key and shows it, once
    #[command(after_help = "Examples:\n  tofrom key add alice --name laptop\n  \
                            tofrom key add ops --scope write --expires 90d --json\n\n\
                            A program sends it in the header ServicePSK.")]
    Add(Add),
    /// Lists an account's keys
    #[command(after_help = "Example:\n  tofrom key list alice")]
    List {
        /// The account
        #[arg(value_parser = account::name)]
        account: AccountName,
    },
    /// Revokes a key for good
    #[command(after_help = "Example:\n  tofrom key revoke alice 9f86d081884c7d65")]
    Revoke {
        /// The account
        #[arg(value_parser = account::name)]
        account: AccountName,
        /// The key's id, as key list shows it
        #[arg(value_parser = key_id)]
        id: KeyId,
    },
}

#[derive(Debug, clap::Args)]
struct Add {
    /// The account that it opens
    #[arg(value_parser = account::name)]
    account: AccountName,
    /// What to call it, to know it again
    #[arg(long, default_value = "key")]
    name: String,
    /// What it may be used for; write includes read
    #[arg(long, value_enum, default_value_t = Scope::Read)]
    scope: Scope,
    /// When it ends: a number and s, m, h, d or w [default: never]
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
    KeyId::parse(text).ok_or("an id is 16 hexadecimal digits, as tofrom key list shows it")
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
    let owner = account::find(store.as_ref(), &args.account).await?;
    let generated = auth::key::generate()?;
    let now = Clock::system().now();
    let key = Key {
        id: generated.id,
        hash: generated.hash,
        owner: owner.uid,
        name: args.name,
        scopes: args.scope.into(),
        created: now,
        expires: args.expires.map(|age| now.later(age)),
        revoked: None,
        used: None,
    };
    store.add_key(&key).await?;
    if global.json {
        let expires = key.expires.map(Millis::zulu);
        let (id, text, scope) = (key.id.to_string(), generated.text.as_str(), scope_of(&key));
        json_line(json!({ "id": id, "key": text, "name": key.name, "scope": scope, "expires": expires }))?;
    } else {
        line(generated.text.as_str())?;
        note(format_args!("key {} of {}; it is shown only this once", key.id, owner.name));
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
                moment(key.created),
                moment_or(key.expires, "never"),
                moment_or(key.used, "never"),
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
    Ok(listing.print(&format!("{name} has no keys; tofrom key add {name} makes one"))?)
}

async fn revoke(name: &AccountName, id: KeyId, global: &Global) -> anyhow::Result<()> {
    let store = global.open_store().await?;
    let owner = account::find(store.as_ref(), name).await?;
    if !store.revoke_key(owner.uid, id, Clock::system().now()).await? {
        bail!("{name} has no key {id}; tofrom key list {name} shows those that there are");
    }
    if global.json {
        json_line(json!({ "id": id.to_string(), "state": "revoked" }))?;
    } else {
        line(format_args!("key {id} of {name} revoked"))?;
    }
    Ok(())
}

/// As it is asked for on the line.
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

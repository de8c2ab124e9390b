//! `tofrom token`

use super::audit::{CommandAudit, event};
use super::output::{Listing, json_line, line, time, time_or};
use super::{Global, account};
use anyhow::bail;
use clap::Subcommand;
use model::{AccessToken, Account, AccountName, Clock, Millis};
use serde_json::json;
use std::collections::HashMap;

/// Manage access tokens that an account has granted to applications
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  tofrom token list alice --data ./data")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List an account's access tokens
    #[command(after_help = "Example:\n  tofrom token list alice")]
    List {
        /// Account name
        #[arg(value_parser = account::name)]
        account: AccountName,
    },
    /// Revoke access tokens permanently
    #[command(after_help = "Examples:\n  tofrom token revoke alice tfa_Jm2kQ0ZyF0uGxq6nVb1c3A\n  \
                            tofrom token revoke alice --all")]
    Revoke {
        /// Account name
        #[arg(value_parser = account::name)]
        account: AccountName,
        /// Token, see token list
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        token: Option<String>,
        /// Revoke all tokens of the account
        #[arg(long)]
        all: bool,
    },
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    match args.command {
        Command::List { account } => list(&account, global).await,
        Command::Revoke { account, token, .. } => revoke(&account, token.as_deref(), global).await,
    }
}

async fn list(name: &AccountName, global: &Global) -> anyhow::Result<()> {
    let store = global.open_store().await?;
    let owner = account::find(store.as_ref(), name).await?;
    let now = Clock::system().now();
    let applications: HashMap<String, String> = store
        .applications()
        .await?
        .into_iter()
        .map(|application| (application.key, application.name))
        .collect();
    let columns = &["token", "application", "scope", "state", "created", "expires", "last used"];
    let mut listing = Listing::new(global.json, columns);
    for token in store.tokens_of(owner.uid).await? {
        let application = applications.get(&token.consumer).unwrap_or(&token.consumer);
        let row = || {
            vec![
                token.key.clone(),
                application.clone(),
                token.scopes.as_str().to_owned(),
                state_of(&token, &owner, now).to_owned(),
                time(token.created),
                time_or(token.expires, "never"),
                time_or(token.used, "never"),
            ]
        };
        let value = || {
            json!({
                "token": token.key,
                "application": application,
                "consumer": token.consumer,
                "scopes": token.scopes.as_str(),
                "state": state_of(&token, &owner, now),
                "created": token.created.zulu(),
                "expires": token.expires.map(Millis::zulu),
                "used": token.used.map(Millis::zulu),
                "revoked": token.revoked.map(Millis::zulu),
            })
        };
        listing.add(row, value);
    }
    Ok(listing.print(&format!("{name} has no access tokens"))?)
}

async fn revoke(name: &AccountName, token: Option<&str>, global: &Global) -> anyhow::Result<()> {
    let store = global.open_store().await?;
    let audit = CommandAudit::open(&store, global)?;
    let owner = account::find(store.as_ref(), name).await?;
    let mut found = store.tokens_of(owner.uid).await?;
    match token {
        Some(token) => {
            found.retain(|candidate| candidate.key == token);
            if found.is_empty() {
                bail!("token {token} of {name} not found; run tofrom token list {name} to see all tokens");
            }
        }
        None => found.retain(|candidate| candidate.revoked.is_none()),
    }
    let now = Clock::system().now();
    for token in &found {
        store.revoke_token(&token.key, now).await?;
        audit.record(event("token-revoked").on(&owner).about(&token.consumer)).await?;
        if global.json {
            json_line(json!({ "token": token.key, "state": "revoked" }))?;
        } else {
            line(format_args!("token {} of {name} revoked", token.key))?;
        }
    }
    Ok(())
}

fn state_of(token: &AccessToken, owner: &Account, now: Millis) -> &'static str {
    match token.is_ended(owner) {
        true => "revoked",
        false if token.is_live(now) => "live",
        false => "expired",
    }
}

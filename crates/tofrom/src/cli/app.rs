//! `tofrom app`

use super::audit::{CommandAudit, event};
use super::output::{Listing, json_line, line, note, time};
use super::{Global, account};
use anyhow::{Context, bail};
use auth;
use clap::Subcommand;
use model::{AccountName, Application, Clock, Millis};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Manage applications that act on behalf of accounts
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  tofrom app add 'Photo wall' --callback https://wall.example.org/back --data ./data"
)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Register an application and print its secret, once
    #[command(
        after_help = "Examples:\n  tofrom app add 'Photo wall' --callback https://wall.example.org/back\n  \
                            tofrom app add 'Command line' --callback oob --json\n\n\
                            The consumer key identifies the application in the header ServiceConsumerKey and in OAuth."
    )]
    Add(Add),
    /// List applications
    #[command(after_help = "Example:\n  tofrom app list --json")]
    List,
    /// Remove an application permanently
    #[command(after_help = "Example:\n  tofrom app remove tfc_Jm2kQ0ZyF0uGxq6nVb1c3A")]
    Remove {
        /// Consumer key, see app list
        key: String,
    },
}

#[derive(Debug, clap::Args)]
struct Add {
    /// Name shown on the consent page
    name: String,
    /// Callback URL, or oob for programs without one
    #[arg(long, value_name = "URL", value_parser = callback)]
    callback: String,
    /// Public RSA key of at least 2048 bits for signatures, in PEM (BEGIN PUBLIC KEY)
    #[arg(long, value_name = "FILE")]
    rsa_key: Option<PathBuf>,
    /// Account that owns the application and may remove it in its settings
    #[arg(long, value_name = "NAME", value_parser = account::name)]
    owner: Option<AccountName>,
}

/// Redirects compare scheme, host and port with the registered callback, so it must have a host.
fn callback(text: &str) -> Result<String, &'static str> {
    const EXPECTED: &str =
        "expected an address like https://app.example.org/back, in ASCII and without a fragment, or oob";
    if auth::oauth::callback::can_be_registered(text) { Ok(text.to_owned()) } else { Err(EXPECTED) }
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    match args.command {
        Command::Add(args) => add(args, global).await,
        Command::List => list(global).await,
        Command::Remove { key } => remove(&key, global).await,
    }
}

async fn add(args: Add, global: &Global) -> anyhow::Result<()> {
    if args.name.trim().is_empty() || args.name.chars().any(char::is_control) {
        bail!("invalid application name: expected visible characters on one line");
    }
    let rsa_key = args.rsa_key.as_deref().map(read_rsa_key).transpose()?;
    let store = global.open_or_create_store().await?;
    let audit = CommandAudit::open(&store, global)?;
    let owner = match &args.owner {
        Some(name) => Some(account::find(store.as_ref(), name).await?.uid),
        None => None,
    };
    let secret_keys = global.secret_keys()?;
    let generated = auth::application::generate()?;
    let application = Application {
        sealed_secret: generated.sealed_secret(&secret_keys)?,
        key: generated.key,
        name: args.name,
        callback: args.callback,
        rsa_key,
        created: Clock::system().now(),
        removed: None,
        owner,
    };
    store.add_application(&application).await?;
    audit.record(event("application-added").about(&application.key)).await?;
    if global.json {
        let mut value = as_json(&application);
        if let Some(members) = value.as_object_mut() {
            members.insert("secret".to_owned(), Value::String(generated.secret.to_string()));
        }
        json_line(value)?;
    } else {
        line(format_args!("key     {}\nsecret  {}", application.key, generated.secret.as_str()))?;
        note("the secret is not shown again");
    }
    Ok(())
}

fn read_rsa_key(file: &Path) -> anyhow::Result<Vec<u8>> {
    let named = || format!("--rsa-key {}", file.display());
    let pem = std::fs::read(file).with_context(named)?;
    let expected = "not a public RSA key of 2048 to 8192 bits: expected a PEM file with BEGIN PUBLIC KEY, as written by openssl rsa -in private.pem -pubout";
    auth::application::rsa_key(&pem).with_context(|| format!("{}: {expected}", named()))
}

async fn list(global: &Global) -> anyhow::Result<()> {
    let store = global.open_store().await?;
    let mut listing =
        Listing::new(global.json, &["key", "name", "callback", "signature", "state", "created"]);
    for application in store.applications().await? {
        let row = || {
            vec![
                application.key.clone(),
                application.name.clone(),
                application.callback.clone(),
                if application.rsa_key.is_some() { "RSA or secret" } else { "secret" }.to_owned(),
                state_of(&application).to_owned(),
                time(application.created),
            ]
        };
        listing.add(row, || as_json(&application));
    }
    Ok(listing.print("no applications; run tofrom app add NAME --callback URL to register one")?)
}

async fn remove(key: &str, global: &Global) -> anyhow::Result<()> {
    let store = global.open_store().await?;
    let audit = CommandAudit::open(&store, global)?;
    if !store.remove_application(key, Clock::system().now()).await? {
        bail!("application {key} not found; run tofrom app list to see all applications");
    }
    audit.record(event("application-removed").about(key)).await?;
    if global.json {
        json_line(json!({ "key": key, "state": "removed" }))?;
    } else {
        line(format_args!("application {key} removed"))?;
    }
    Ok(())
}

fn state_of(application: &Application) -> &'static str {
    if application.removed.is_some() { "removed" } else { "live" }
}

fn as_json(application: &Application) -> Value {
    json!({
        "key": application.key,
        "name": application.name,
        "callback": application.callback,
        "rsa_key": application.rsa_key.is_some(),
        "state": state_of(application),
        "created": application.created.zulu(),
        "removed": application.removed.map(Millis::zulu),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callbacks_must_be_absolute_without_a_fragment() {
        for valid in
            ["oob", "https://app.example.org/back?x=y", "http://127.0.0.1:8000/", "wall://callback/x"]
        {
            assert!(callback(valid).is_ok(), "{valid}");
        }
        for invalid in [
            "",
            "back",
            "/back",
            "javascript:alert(1)",
            "https://a.example/#x",
            "mailto:a@b",
            "https://u@a.example/",
        ] {
            assert!(callback(invalid).is_err(), "{invalid}");
        }
    }
}

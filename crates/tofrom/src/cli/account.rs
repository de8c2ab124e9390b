//! `tofrom account`. Passwords come from a prompt or standard input, never from the command line, which other
//! users can read.

use super::Global;
use super::audit::{CommandAudit, event};
use super::output::{Listing, json_line, line, note, time};
use anyhow::{Context, anyhow, bail};
use auth::{self, remove_ended, ticket};
use clap::Subcommand;
use domain::accounts;
use model::{Account, AccountName, AddressableBy, Clock, InvalidName, Purpose, SecondFactor, Uid, Version};
use serde_json::{Value, json};
use std::io::{IsTerminal, Read};
use store::{Accounts, NewAccount, Store, StoreError, change_account};
use zeroize::Zeroizing;

/// Manage accounts
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  tofrom account add alice --given-name Alice --public --data ./data")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create an account; prompts for its password
    #[command(
        after_help = "Examples:\n  tofrom account add alice --given-name Alice --family-name Liddell\n  \
                            pass show ops | tofrom account add ops --operator --password-stdin\n  \
                            tofrom account add importer --no-password   (signs in with keys only)"
    )]
    Add(Add),
    /// Change an account by at least one option; its other settings stay
    #[command(
        after_help = "Examples:\n  tofrom account set alice --private\n  tofrom account set alice --password\n  \
                            tofrom account set alice --disabled   (blocks all access until --enabled)"
    )]
    Set(Set),
    /// Create an invitation link, valid once within 7 days
    #[command(after_help = "Example:\n  tofrom account invite --config /etc/tofrom/tofrom.toml\n\n\
                            The link starts with base_url. Anyone who has it can use it.")]
    Invite,
    /// Create a password reset link, valid once within 24 hours
    #[command(after_help = "Example:\n  tofrom account reset alice --config /etc/tofrom/tofrom.toml\n\n\
                            The link starts with base_url. Anyone who has it can use it. The old password works until then.")]
    Reset {
        /// Account name
        #[arg(value_parser = name)]
        name: AccountName,
    },
    /// List accounts
    #[command(after_help = "Example:\n  tofrom account list --json")]
    List,
    /// Delete an account and its keys permanently; the name cannot be used again
    #[command(after_help = "Example:\n  tofrom account remove alice")]
    Remove {
        /// Account name
        #[arg(value_parser = name)]
        name: AccountName,
    },
}

#[derive(Debug, clap::Args)]
struct Add {
    /// Account name: 1 to 64 characters of a-z, 0-9, '.', '_' and '-'
    #[arg(value_parser = name)]
    name: AccountName,
    #[command(flatten)]
    names: Names,
    /// Every account may read its public activities
    #[arg(long)]
    public: bool,
    /// May read and write on behalf of every account, e.g. for an application's back end
    #[arg(long)]
    operator: bool,
    /// Read the password from standard input
    #[arg(long, conflicts_with = "no_password")]
    password_stdin: bool,
    /// No password: access with keys only
    #[arg(long)]
    no_password: bool,
}

#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("change").args(CHANGES).required(true).multiple(true)))]
// The generated usage names every option: too long for a line of the manual page.
#[command(override_usage = "tofrom account set [OPTIONS] <NAME>")]
struct Set {
    /// Account name
    #[arg(value_parser = name)]
    name: AccountName,
    #[command(flatten)]
    names: Names,
    /// Every account may read its public activities
    #[arg(long, conflicts_with = "private")]
    public: bool,
    /// Only the account itself and operators may read its activities
    #[arg(long)]
    private: bool,
    /// Who may address activities to it
    #[arg(long, value_name = "WHO", value_parser = addressable_by)]
    addressable_by: Option<AddressableBy>,
    /// May read and write on behalf of every account
    #[arg(long, conflicts_with = "no_operator")]
    operator: bool,
    /// May act only for itself
    #[arg(long)]
    no_operator: bool,
    /// Block all access: credentials are rejected, sessions and access tokens end. Its data is kept
    #[arg(long, conflicts_with = "enabled")]
    disabled: bool,
    /// Accept its password and keys again
    #[arg(long)]
    enabled: bool,
    /// Prompt for a new password
    #[arg(long, conflicts_with_all = ["password_stdin", "no_password"])]
    password: bool,
    /// Read a new password from standard input
    #[arg(long, conflicts_with = "no_password")]
    password_stdin: bool,
    /// Remove the password: access with keys only
    #[arg(long)]
    no_password: bool,
    /// Turn off two-factor authentication, for a person who lost their device and recovery codes
    #[arg(long)]
    second_factor_reset: bool,
}

/// `set` needs at least one of these.
const CHANGES: [&str; 13] = [
    "addressable_by",
    "given_name",
    "family_name",
    "public",
    "private",
    "operator",
    "no_operator",
    "disabled",
    "enabled",
    "password",
    "password_stdin",
    "no_password",
    "second_factor_reset",
];

#[derive(Debug, clap::Args)]
struct Names {
    /// Given name; empty to remove it
    #[arg(long, value_name = "NAME")]
    given_name: Option<String>,
    /// Family name; empty to remove it
    #[arg(long, value_name = "NAME")]
    family_name: Option<String>,
}

fn addressable_by(text: &str) -> Result<AddressableBy, &'static str> {
    AddressableBy::parse(text).ok_or("expected everyone, following or nobody")
}

pub(super) fn name(text: &str) -> Result<AccountName, InvalidName> {
    AccountName::parse(text)
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    match args.command {
        Command::Add(args) => add(args, global).await,
        Command::Set(args) => set(args, global).await,
        Command::Invite => invite(global).await,
        Command::Reset { name } => reset(&name, global).await,
        Command::List => list(global).await,
        Command::Remove { name } => remove(&name, global).await,
    }
}

/// The account with this name, unless it is removed.
pub(super) async fn find(store: &dyn Accounts, name: &AccountName) -> anyhow::Result<Account> {
    let found = store.account_by_name(name).await?.filter(|account| !account.removed);
    found.ok_or_else(|| no_account(name))
}

fn no_account(name: &AccountName) -> anyhow::Error {
    anyhow!("account {name} not found; run tofrom account list to see all accounts")
}

async fn add(args: Add, global: &Global) -> anyhow::Result<()> {
    let store = global.open_or_create_store().await?;
    let audit = CommandAudit::open(&store, global)?;
    let taken = || anyhow!("the name {} is taken or was used before; choose another name", args.name);
    if store.account_by_name(&args.name).await?.is_some() {
        // Checked before the password prompt.
        return Err(taken());
    }
    let (given, family) = (args.names.given_name.as_deref(), args.names.family_name.as_deref());
    let names = auth::password::names(&args.name, given, family);
    let password = match (args.password_stdin, args.no_password) {
        (true, _) => Some(password_from_stdin(&names)?),
        (_, true) => None,
        _ => Some(password_from_prompt(&names)?),
    };
    let now = Clock::system().now();
    let new = NewAccount {
        name: args.name.clone(),
        version: Version::next(now, None),
        given_name: args.names.given_name.filter(|name| !name.is_empty()),
        family_name: args.names.family_name.filter(|name| !name.is_empty()),
        public: args.public,
        operator: args.operator,
        password,
        created: now,
    };
    let account = store.create_account(new).await?.ok_or_else(taken)?;
    audit.record(event("account-added").on(&account)).await?;
    print_account(&account, "added", global)
}

async fn set(args: Set, global: &Global) -> anyhow::Result<()> {
    let store = global.open_store().await?;
    let audit = CommandAudit::open(&store, global)?;
    let account = find(store.as_ref(), &args.name).await?;
    let uid = account.uid;
    let given = args.names.given_name.as_deref().or(account.given_name.as_deref());
    let family = args.names.family_name.as_deref().or(account.family_name.as_deref());
    let names = auth::password::names(&args.name, given, family);
    let password = match (args.password, args.password_stdin, args.no_password) {
        (true, _, _) => Some(Some(password_from_prompt(&names)?)),
        (_, true, _) => Some(Some(password_from_stdin(&names)?)),
        (_, _, true) => Some(None),
        _ => None,
    };
    let clock = Clock::system();
    let has_names = args.names.given_name.is_some() || args.names.family_name.is_some();
    let changed = change_account(store.as_ref(), &clock, uid, |account| {
        if let Some(name) = &args.names.given_name {
            account.given_name = Some(name.clone()).filter(|name| !name.is_empty());
        }
        if let Some(name) = &args.names.family_name {
            account.family_name = Some(name.clone()).filter(|name| !name.is_empty());
        }
        account.public = (account.public || args.public) && !args.private;
        account.addressable_by = args.addressable_by.unwrap_or(account.addressable_by);
        account.operator = (account.operator || args.operator) && !args.no_operator;
        account.set_disabled((account.disabled || args.disabled) && !args.enabled);
        if let Some(password) = &password {
            account.password.clone_from(password);
        }
    });
    let account = changed.await?.ok_or_else(|| no_account(&args.name))?;
    remove_ended(store.as_ref(), &Clock::system(), &account).await;
    if args.second_factor_reset {
        reset_second_factor(store.as_ref(), &clock, uid).await?;
    }
    for (name, happened) in [
        ("account-disabled", args.disabled),
        ("account-enabled", args.enabled),
        ("password-changed", password.is_some()),
        ("second-factor-removed", args.second_factor_reset),
        ("operator-granted", args.operator),
        ("operator-revoked", args.no_operator),
        ("account-changed", args.public || args.private || has_names),
    ] {
        if happened {
            audit.record(event(name).on(&account)).await?;
        }
    }
    print_account(&account, "changed", global)
}

/// Removes the second factor, if there is one.
async fn reset_second_factor(store: &dyn Store, clock: &Clock, uid: Uid) -> anyhow::Result<()> {
    let none = |stored: Option<&SecondFactor>| Ok(stored.map(|_| SecondFactor::none(uid)));
    store::update::<SecondFactor, StoreError>(store, &uid, clock.now(), none).await?;
    Ok(())
}

async fn invite(global: &Global) -> anyhow::Result<()> {
    let base = global.settings()?.public_address()?;
    let store = global.open_or_create_store().await?;
    CommandAudit::open(&store, global)?.record(event("invitation-added")).await?;
    print_ticket(store.as_ref(), Purpose::Invitation, &format!("{}/join", base.as_str()), global).await
}

async fn reset(name: &AccountName, global: &Global) -> anyhow::Result<()> {
    let base = global.settings()?.public_address()?;
    let store = global.open_store().await?;
    let account = find(store.as_ref(), name).await?;
    if account.disabled {
        bail!("account {name} is disabled; run tofrom account set {name} --enabled first");
    }
    CommandAudit::open(&store, global)?.record(event("reset-link-added").on(&account)).await?;
    print_ticket(store.as_ref(), Purpose::Reset(account.uid), &format!("{}/reset", base.as_str()), global)
        .await
}

/// Creates a ticket and prints its link.
async fn print_ticket(
    store: &dyn Store,
    purpose: Purpose,
    page: &str,
    global: &Global,
) -> anyhow::Result<()> {
    let (text, ticket) = ticket::generate(purpose, None, Clock::system().now())?;
    store.add_ticket(&ticket).await?;
    let link = Zeroizing::new(format!("{page}/{}", text.as_str()));
    if global.json {
        json_line(json!({ "link": link.as_str(), "expires": ticket.expires.zulu() }))?;
    } else {
        line(link.as_str())?;
        note(format_args!("valid once, until {}; the link is not shown again", time(ticket.expires)));
    }
    Ok(())
}

async fn remove(name: &AccountName, global: &Global) -> anyhow::Result<()> {
    let store = global.open_store().await?;
    let audit = CommandAudit::open(&store, global)?;
    let account = find(store.as_ref(), name).await?;
    let removed = accounts::remove(store.as_ref(), &Clock::system(), account.uid).await?;
    let account = removed.ok_or_else(|| no_account(name))?;
    audit.record(event("account-removed").on(&account)).await?;
    print_account(&account, "removed", global)
}

fn print_account(account: &Account, what: &str, global: &Global) -> anyhow::Result<()> {
    if global.json {
        json_line(as_json(account))?;
    } else {
        line(format_args!("account {} {what}", account.name))?;
    }
    Ok(())
}

async fn list(global: &Global) -> anyhow::Result<()> {
    const PAGE: usize = 1_000;
    let store = global.open_store().await?;
    let columns = &["name", "display name", "visibility", "role", "password", "state", "created"];
    let mut listing = Listing::new(global.json, columns);
    let mut after = None;
    loop {
        let page = store.list_accounts(after, PAGE).await?;
        for account in &page {
            listing.add(|| as_row(account), || as_json(account));
        }
        after = page.last().map(|account| account.uid);
        if page.len() < PAGE {
            break;
        }
    }
    Ok(listing.print("no accounts; run tofrom account add NAME to create one")?)
}

fn as_row(account: &Account) -> Vec<String> {
    let either = |is: bool, yes: &str, no: &str| if is { yes.to_owned() } else { no.to_owned() };
    vec![
        account.name.to_string(),
        account.display_name(),
        either(account.public, "public", "private"),
        either(account.operator, "operator", "-"),
        either(account.password.is_some(), "yes", "no"),
        either(account.disabled, "disabled", "-"),
        time(account.created),
    ]
}

fn as_json(account: &Account) -> Value {
    json!({
        "name": account.name.as_str(),
        "given_name": account.given_name,
        "family_name": account.family_name,
        "public": account.public,
        "addressable_by": account.addressable_by.as_str(),
        "operator": account.operator,
        "password": account.password.is_some(),
        "disabled": account.disabled,
        "created": account.created.zulu(),
    })
}

/// More bytes than any valid password has, even in decomposed form. A file piped by mistake is not read to its end.
const MAX_PASSWORD_BYTES: u64 = 16 * 1024;

/// The hash of the password on standard input, without a trailing line break, for an account with these names.
fn password_from_stdin(names: &[&str]) -> anyhow::Result<String> {
    let mut text = Zeroizing::new(String::new());
    let read = std::io::stdin().lock().take(MAX_PASSWORD_BYTES).read_to_string(&mut text);
    read.context("the password on standard input is not UTF-8 text")?;
    let password = text.strip_suffix('\n').unwrap_or(&text);
    let password = password.strip_suffix('\r').unwrap_or(password);
    Ok(auth::password::hash_checked(password, names)?)
}

/// The hash of a password that is prompted for twice, for an account with these names.
fn password_from_prompt(names: &[&str]) -> anyhow::Result<String> {
    if !std::io::stdin().is_terminal() {
        bail!("no terminal to prompt for a password; use --password-stdin or --no-password");
    }
    let ask = |prompt| {
        rpassword::prompt_password(prompt).map(Zeroizing::new).context("cannot read from the terminal")
    };
    let password = ask("Password: ")?;
    let hash = auth::password::hash_checked(&password, names)?;
    if ask("Repeat password: ")? != password {
        bail!("the passwords do not match; nothing was changed");
    }
    Ok(hash)
}

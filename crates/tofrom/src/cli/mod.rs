//! The command line: a file per command.
//!
//! Exit codes: 0 success, 1 failure, 2 usage error. Results go to standard output, everything else to standard error.
//! An error is one line that also says how to fix it.

mod account;
mod app;
mod audit;
mod backup;
mod check;
mod completions;
mod copy;
mod deadletter;
mod demo;
mod erase;
mod export;
mod follow;
mod health;
mod hook;
mod import;
mod key;
mod man;
pub mod output;
mod relation;
mod reseal;
mod restore;
mod schema;
pub mod serve;
mod source;
mod token;

use crate::config::{ConfigError, RawConfig, Storage};
use crate::telemetry::start_log;
use crate::telemetry::traces::Traces;
use clap::{CommandFactory, Parser, Subcommand};
use seal::SecretKeys;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use store::Store;

/// An activity feed server: everything that happens to and from a user, in one collection.
#[derive(Debug, Parser)]
#[command(name = "tofrom", version = VERSION, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// The version, with the commit it was built from.
const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (", env!("TOFROM_COMMIT"), " ", env!("TOFROM_COMMIT_DATE"), ")");

const EXAMPLES: &str = "\
Examples:
  tofrom demo                                     run a demo server with accounts and activities
  tofrom serve --config /etc/tofrom/tofrom.toml   run the server
  tofrom account add alice --data ./data          create the first account
  tofrom help account add                         show help for a command

Settings are read from tofrom.toml (or --config FILE), then from TOFROM_* environment variables (TOFROM_BASE_URL,
TOFROM_TLS__CERTIFICATE), then from flags; later ones win. TOFROM_LOG sets the log level (info, debug),
TOFROM_LOG_FORMAT the log format (text, json).";

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Args),
    Demo(demo::Args),
    Account(account::Args),
    Key(key::Args),
    App(app::Args),
    Token(token::Args),
    Follow(follow::Args),
    Block(relation::BlockArgs),
    Mute(relation::MuteArgs),
    Source(source::Args),
    Hook(hook::Args),
    Import(import::Args),
    Export(export::Args),
    Erase(erase::Args),
    Audit(audit::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Copy(copy::Args),
    Deadletter(deadletter::Args),
    Reseal(reseal::Args),
    Schema(schema::Args),
    Check(check::Args),
    Health(health::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// The exit code of a usage error.
const USAGE_ERROR: u8 = 2;

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(answer) => {
            // Help and version also arrive here. A failure to print cannot be reported.
            let _ = answer.print();
            return ExitCode::from(u8::try_from(answer.exit_code()).unwrap_or(USAGE_ERROR));
        }
    };
    match start(cli) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of our output has closed the pipe.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr().lock(), "error: {}", in_one_line(&error));
            if error.is::<UsageError>() { ExitCode::from(USAGE_ERROR) } else { ExitCode::FAILURE }
        }
    }
}

fn start(cli: Cli) -> anyhow::Result<()> {
    // One crypto provider for all TLS, installed before first use. Only a second installation could fail.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    // Commands report a driver's error once, so the drivers' logs are off.
    const COMMAND_LOG: &str = "warn,scylla=off,async_nats=off";
    let default = if matches!(cli.command, Command::Serve(_)) { "info" } else { COMMAND_LOG };
    // The log shows the errors of everything that follows, and traces are a part of it.
    let tracing = match &cli.command {
        Command::Serve(_) => cli.global.settings()?.tracing()?,
        _ => None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let traces = tracing.map(|tracing| Traces::new(&tracing, runtime.handle())).transpose()?;
    start_log(default, traces.as_ref())?;
    let done = runtime.block_on(run(cli));
    traces.iter().for_each(Traces::flush);
    // A thread that waits for a terminal or a disk must not keep the process alive.
    runtime.shutdown_timeout(Duration::from_secs(1));
    done
}

async fn run(cli: Cli) -> anyhow::Result<()> {
    let Cli { global, command } = cli;
    match command {
        Command::Serve(args) => serve::run(args, &global).await,
        Command::Demo(args) => demo::run(args, &global).await,
        Command::Account(args) => account::run(args, &global).await,
        Command::Key(args) => key::run(args, &global).await,
        Command::App(args) => app::run(args, &global).await,
        Command::Token(args) => token::run(args, &global).await,
        Command::Follow(args) => follow::run(args, &global).await,
        Command::Block(args) => relation::block(args, &global).await,
        Command::Mute(args) => relation::mute(args, &global).await,
        Command::Source(args) => source::run(args, &global).await,
        Command::Hook(args) => hook::run(args, &global).await,
        Command::Import(args) => import::run(args, &global).await,
        Command::Export(args) => export::run(args, &global).await,
        Command::Erase(args) => erase::run(args, &global).await,
        Command::Audit(args) => audit::run(args, &global).await,
        Command::Backup(args) => backup::run(args, &global).await,
        Command::Restore(args) => restore::run(args, &global).await,
        Command::Copy(args) => copy::run(args, &global).await,
        Command::Deadletter(args) => deadletter::run(args, &global).await,
        Command::Reseal(args) => reseal::run(args, &global).await,
        Command::Schema(args) => schema::run(args, &global).await,
        Command::Check(args) => check::run(args, &global).await,
        Command::Health(args) => health::run(args, &global).await,
        Command::Completions(args) => completions::run(&args, Cli::command()),
        Command::Man(args) => man::run(&args, Cli::command()),
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let closed = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(closed))
}

/// The error with its causes, without the line breaks that some libraries put into their messages.
fn in_one_line(error: &anyhow::Error) -> String {
    format!("{error:#}")
        .split('\n')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Flags that every command accepts, anywhere on the line.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Data folder; a store is created in it if it is empty. serve needs more settings
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Settings file [default: tofrom.toml, if it exists]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

impl Global {
    /// The settings from file, environment and flags.
    pub fn settings(&self) -> Result<RawConfig, ConfigError> {
        // Other programs' variables need not be UTF-8. Invalid ones of ours are rejected as unknown or wrong.
        let lossy = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        let environment = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value)));
        let mut raw = RawConfig::gather(self.config.as_deref(), environment)?;
        if let Some(data) = &self.data {
            raw.data_dir = Some(data.clone());
            raw.store = Some("sqlite".to_owned());
        }
        Ok(raw)
    }

    /// The storage settings.
    pub fn storage(&self) -> Result<Storage, ConfigError> {
        self.settings()?.storage()
    }

    /// Opens an existing store. A server may be running on it.
    pub async fn open_store(&self) -> anyhow::Result<Arc<dyn Store>> {
        Ok(self.storage()?.open_existing().await?.store())
    }

    /// Opens the store, creating it if needed.
    pub async fn open_or_create_store(&self) -> anyhow::Result<Arc<dyn Store>> {
        Ok(self.storage()?.open_or_create().await?.store())
    }

    /// The keys that encrypt stored secrets.
    pub fn secret_keys(&self) -> anyhow::Result<SecretKeys> {
        let storage = self.storage()?;
        let storage = storage.or_with_keys_of_the_demo();
        storage.demand_shared_keys()?;
        storage.secret_keys()
    }
}

/// A flag that conflicts with other flags or with the settings. It has a distinct exit code.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct UsageError(&'static str);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_help_and_an_example() {
        let mut command = Cli::command();
        command.build();
        command.clone().debug_assert();
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            let help = below.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("tofrom "), "{} has no example", below.get_name());
            assert!(below.get_about().is_some(), "{} has no description", below.get_name());
        }
    }

    #[test]
    fn global_flags_are_accepted_anywhere() {
        for line in ["tofrom --data d --json account list", "tofrom account --data d list --json"] {
            let cli = Cli::try_parse_from(line.split(' ')).unwrap();
            assert_eq!((cli.global.data, cli.global.json), (Some("d".into()), true), "{line}");
        }
        assert_eq!(Cli::try_parse_from(["tofrom", "account", "add", "a b"]).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn errors_are_one_line() {
        let error = anyhow::anyhow!("first\n  second\n").context("outer");
        assert_eq!(in_one_line(&error), "outer: first second");
        assert!(is_closed_pipe(
            &anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe)).context("x")
        ));
    }
}

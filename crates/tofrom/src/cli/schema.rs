//! `tofrom schema`

use super::Global;
use super::output::{json_line, line, note};
use crate::config::Cluster;
use anyhow::Context;
use clap::Subcommand;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::time::Duration;
use store::cql::{PROGRAM_VERSION, SchemaVersion, apply_schema, plan_schema, stored_schema};
use store::jetstream::apply_limits;

/// Interval between two frames of the spinner.
const SPINNER_INTERVAL: Duration = Duration::from_millis(100);

/// Show and create the tables of a cluster
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tofrom schema plan --config examples/cluster.toml
  tofrom schema apply --config examples/cluster.toml

Tables and columns are only ever added, so both commands are safe while servers run. Run apply again after a change of
retention: it also sets the compaction of the tables. It gives an existing stream the nats.replicas and nats.max_bytes
of the settings. A single-machine store does not need these commands: it updates its tables automatically.")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the statements that apply would run
    #[command(after_help = "Examples:\n  tofrom schema plan --config examples/cluster.toml > schema.cql
  tofrom schema plan --config examples/cluster.toml --json")]
    Plan,
    /// Create missing tables and set their compaction; safe to repeat
    #[command(after_help = "Example:\n  tofrom schema apply --config examples/cluster.toml")]
    Apply,
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let storage = global.storage()?;
    let Some(cluster) = storage.cluster else { return nothing_to_do(&args.command, global.json) };
    match args.command {
        Command::Plan => plan(&cluster, storage.retention, global.json).await,
        Command::Apply => apply(&cluster, storage.retention, global.json).await,
    }
}

fn nothing_to_do(command: &Command, json: bool) -> anyhow::Result<()> {
    match command {
        Command::Plan if json => json_line(json!([]))?,
        Command::Apply if json => print_count(0)?,
        Command::Plan | Command::Apply => {
            note("nothing to do: a single-machine store updates its tables automatically");
        }
    }
    Ok(())
}

async fn plan(cluster: &Cluster, retention: Option<Duration>, json: bool) -> anyhow::Result<()> {
    let statements = plan_schema(&cluster.nodes, retention).await;
    let statements = statements.with_context(|| unreachable(cluster))?;
    if json {
        json_line(json!(statements))?;
    } else {
        for statement in statements {
            line(format_args!("{statement};\n"))?;
        }
        let stored = stored_schema(&cluster.nodes).await.with_context(|| unreachable(cluster))?;
        note(format_args!("{}; this program has version {PROGRAM_VERSION}", describe(stored)));
    }
    Ok(())
}

/// The stored version in words, also for `tofrom check`.
pub(super) fn describe(stored: Option<SchemaVersion>) -> String {
    stored.map_or_else(
        || "no stored schema".to_owned(),
        |SchemaVersion { version, oldest_reader }| {
            format!("stored schema has version {version}, for programs from version {oldest_reader}")
        },
    )
}

async fn apply(cluster: &Cluster, retention: Option<Duration>, json: bool) -> anyhow::Result<()> {
    // Draws nothing if standard error is not a terminal.
    let spinner = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {pos} {wide_msg}") {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(SPINNER_INTERVAL);
    let mut run = 0;
    let mut progress = |statement: &str| {
        run += 1;
        spinner.set_position(run);
        spinner.set_message(first_line(statement).to_owned());
    };
    let applied = apply_schema(&cluster.nodes, retention, &mut progress).await;
    spinner.finish_and_clear();
    applied.with_context(|| unreachable(cluster))?;
    let stream = &cluster.servers.stream;
    let changed = apply_limits(&cluster.servers).await.with_context(|| format!("nats.stream {stream}"))?;
    if changed {
        note(format!("stream {stream} has the replicas and the size of the settings now"));
    }
    if json {
        print_count(run)?;
    } else {
        line(format_args!("tables of {} are up to date ({run} statements)", cluster.nodes.keyspace))?;
    }
    Ok(())
}

fn print_count(statements: u64) -> std::io::Result<()> {
    json_line(json!({ "statements": statements }))
}

fn unreachable(cluster: &Cluster) -> String {
    format!("cql.nodes {}", cluster.nodes.nodes.join(", "))
}

fn first_line(statement: &str) -> &str {
    statement.lines().next().unwrap_or_default()
}

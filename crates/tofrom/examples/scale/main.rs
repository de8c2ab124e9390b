//! Why very-followed accounts are pulled and idle accounts become dormant: a heavy-tailed follow graph, run and calculated.
//!
//! - `run`: runs the graph on a cluster with one choice of rules after the other, counts writes and reads, and checks
//!   that every reader's page is the same with all of them. `scripts/simulate-scale` starts a cluster for it.
//! - `calculate`: extrapolates to very many accounts.
//!
//! ```sh
//! eval "$(scripts/engines variables)"
//! cargo run --release -p tofrom --example scale -- run --accounts 10000 --costs costs.csv
//! cargo run --release -p tofrom --example scale -- calculate --costs costs.csv --csv table.csv
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a measurement may panic, and prints its tables"
)]

mod arithmetic;
#[path = "../cluster_cost/bare.rs"]
#[allow(dead_code, reason = "the other measurement uses the rest")]
mod bare;
mod catch_up;
#[path = "../cluster_cost/cluster.rs"]
#[allow(dead_code, reason = "the other measurement uses the rest")]
mod cluster;
mod costs;
mod graph;
mod pages;
mod pareto;
mod round;
mod rules;
mod run;
#[path = "../../tests/main/support/secure.rs"]
#[allow(dead_code, reason = "shared with the tests, which use more of it")]
mod secure;
mod simulation;
mod table;

use clap::{Args, Parser};
use cluster::Cluster;
use costs::Costs;
use graph::Graph;
use simulation::Simulation;
use std::path::PathBuf;

/// What very-followed and idle accounts cost, by several rules.
#[derive(Parser)]
enum Options {
    /// Runs a follow graph on the cluster that the environment names.
    Run {
        #[command(flatten)]
        scale: Scale,
        /// Where to write the measured costs.
        #[arg(long, value_name = "FILE")]
        costs: PathBuf,
    },
    /// Calculates with these costs for a million accounts and more.
    Calculate {
        /// The file with the costs of a run.
        #[arg(long, value_name = "FILE")]
        costs: PathBuf,
        /// Where to write the curves, for a plot.
        #[arg(long, value_name = "FILE")]
        csv: PathBuf,
    },
}

/// Size of the run.
#[derive(Args)]
struct Scale {
    /// How many accounts.
    #[arg(long, default_value_t = 10_000)]
    accounts: usize,
    /// How many followers an account has on average; an edge takes about a millisecond to write.
    #[arg(long, default_value_t = 5.0)]
    followers: f64,
    /// How many activities for each of the rules; by default a tenth of the accounts.
    #[arg(long)]
    activities: Option<usize>,
    /// How many activities per second.
    #[arg(long, default_value_t = 25.0)]
    pace: f64,
    /// The same number gives the same graph.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Scale {
    fn activities(&self) -> usize {
        self.activities.unwrap_or(self.accounts / 10)
    }
}

#[tokio::main]
async fn main() {
    match Options::parse() {
        Options::Run { scale, costs } => {
            let graph = Graph::new(scale.accounts, scale.followers, scale.seed);
            let most = graph.followers.iter().map(Vec::len).max().unwrap_or_default();
            println!("{} accounts, {} edges, at most {most} followers", scale.accounts, graph.edges());
            let mut simulation = Simulation::made(&Cluster::prepared().await, graph).await;
            run::run(&mut simulation, &scale).await.write(&costs);
        }
        Options::Calculate { costs, csv } => {
            let costs = Costs::read(&costs);
            table::print(&costs);
            std::fs::write(csv, table::curves(&costs)).unwrap();
        }
    }
}

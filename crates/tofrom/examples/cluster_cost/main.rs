//! Measures the cost of the cluster, against a bare driver that sends the same statements. `scripts/measure-cluster`
//! starts a cluster for it. With a running cluster:
//!
//! ```sh
//! eval "$(scripts/engines variables)"
//! cargo run --release -p tofrom --example cluster_cost -- statements fanout 10000 graph 100000
//! cargo run --release -p tofrom --example cluster_cost -- reads path/to/tofrom
//! ```
//!
//! - `statements`: statements of a page, cold and warm;
//! - `reads`: CPU of the service per page, and pages per second, alternating with the bare driver;
//! - `fanout`: rows per second delivered to N followers, alternating with the bare driver;
//! - `accept`: activities accepted and delivered per second, and their messages in the log, for N seconds;
//! - `sweep`: what a process that only sweeps receives, for N seconds each at 0, 20 and 200 activities per second;
//! - `graph`: an account with N followers, and the latency of other readers during its fan-out;
//! - `merged`: pages with pulled actors;
//! - `return`: an account that is read again after a year of dormancy;
//! - `modes`: an activity that is pushed to N followers, and one that they pull.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a measurement may panic, and prints its table"
)]

mod accept;
mod bare;
mod cluster;
mod edges;
mod fanout;
mod graph;
mod modes;
mod reader;
mod reads;
#[path = "../../tests/main/support/secure.rs"]
mod secure;
mod service;
mod statements;
mod sweep;

use cluster::Cluster;

#[tokio::main]
async fn main() {
    let mut parts = std::env::args().skip(1);
    let cluster = Cluster::prepared().await;
    while let Some(part) = parts.next() {
        match part.as_str() {
            "statements" => statements::measure(&cluster).await,
            "reads" => reads::measure(&cluster, &parts.next().expect("expected the path of tofrom")).await,
            "fanout" => fanout::measure(&cluster, number(parts.next())).await,
            "accept" => accept::measure(&cluster, number(parts.next()) as u64).await,
            "sweep" => sweep::measure(&cluster, number(parts.next()) as u64).await,
            // The process that `sweep` starts.
            "sweeper" => sweep::run(&cluster).await,
            "graph" => graph::measure(&cluster, number(parts.next())).await,
            "merged" => modes::pages::measure(&cluster).await,
            "return" => modes::catch_up::measure(&cluster).await,
            "modes" => modes::activity::measure(&cluster, number(parts.next())).await,
            other => panic!("unknown part {other}"),
        }
    }
}

fn number(text: Option<String>) -> usize {
    text.and_then(|text| text.parse().ok())
        .filter(|number| *number > 0)
        .expect("expected a number of followers or seconds")
}

/// Median, minimum and maximum.
fn summary(values: &[f64]) -> (f64, f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (sorted[sorted.len() / 2], sorted[0], sorted[sorted.len() - 1])
}

fn median(values: &[f64]) -> f64 {
    summary(values).0
}

//! Simulates polling: the number of requests, and the delay until new items are discovered. Runs in simulated
//! time.
//!
//! ```sh
//! cargo run -p tofrom-fetcher --release --example simulate -- --sources 5000 --days 7 --seed 1
//! ```

#![allow(clippy::print_stdout, reason = "it is a program for the terminal")]

mod simulation;

use clap::Parser;
use simulation::{Discovery, Group, Outcome, in_time};
use std::fmt::Write;
use std::path::PathBuf;

const MINUTE: f64 = 60_000.0;

/// Simulates polling: the number of requests, and the delay until new items are discovered.
#[derive(Parser)]
struct Options {
    /// The number of sources. 10 % publish several times a day, 30 % several times a week.
    #[arg(long, default_value_t = 5_000)]
    sources: usize,
    /// The number of days.
    #[arg(long, default_value_t = 7)]
    days: i64,
    /// The seed. The same seed gives the same sources.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// File for the hourly requests and all items, for a plot.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> std::io::Result<()> {
    let options = Options::parse();
    let outcome = simulation::run(options.sources, options.days, options.seed).await;
    print(&outcome);
    match options.csv {
        Some(file) => std::fs::write(file, csv(&outcome)),
        None => Ok(()),
    }
}

fn print(outcome: &Outcome) {
    println!(
        "| sources | requests | of polling every 15 minutes | items | found within 15 min | median | 90 % within |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|");
    let select = |matches: &dyn Fn(&Discovery) -> bool| -> Vec<Discovery> {
        outcome.discovered.iter().filter(|item| matches(item)).copied().collect()
    };
    let fixed = outcome.fixed();
    let row = |name: &str, requests: Option<u64>, discovered: &[Discovery]| {
        let count = requests.map_or_else(String::new, |requests| requests.to_string());
        let share = requests
            .map_or_else(String::new, |requests| format!("{:.1} %", requests as f64 * 100.0 / fixed as f64));
        println!(
            "| {name} | {count} | {share} | {} | {:.1} % | {} | {} |",
            discovered.len(),
            in_time(discovered) * 100.0,
            delay(discovered, 0.5),
            delay(discovered, 0.9)
        );
    };
    let active = |item: &Discovery| item.group == Group::Active && !item.restrained;
    row("active", Some(outcome.requests_of(Group::Active)), &select(&active));
    row("- with times", None, &select(&|item| active(item) && item.dated));
    row("- without times", None, &select(&|item| active(item) && !item.dated));
    row("- on the first day", None, &select(&|item| active(item) && item.published < 86_400_000));
    for group in [Group::Weekly, Group::Dormant] {
        row(group.name(), Some(outcome.requests_of(group)), &select(&|item| item.group == group));
    }
    row("all", Some(outcome.all_requests()), &outcome.discovered);
    println!("\nMaximum concurrent connections to one host: {}", outcome.max_concurrent);
    println!("Polls postponed because the host was busy: {}", outcome.postponed);
}

/// The delay within which this share of the items was discovered.
fn delay(discovered: &[Discovery], part: f64) -> String {
    let mut delays: Vec<i64> = discovered.iter().map(|item| item.delay).collect();
    delays.sort_unstable();
    let at = (delays.len() as f64 * part) as usize;
    match delays.get(at).map(|delay| *delay as f64 / MINUTE) {
        None => String::new(),
        Some(minutes) if minutes < 120.0 => format!("{minutes:.1} min"),
        Some(minutes) => format!("{:.1} h", minutes / 60.0),
    }
}

fn csv(outcome: &Outcome) -> String {
    let mut text = String::from("kind,group,hour,value\n");
    for (hour, requests) in outcome.requests.iter().enumerate() {
        for (group, requests) in Group::ALL.iter().zip(requests) {
            let _ = writeln!(text, "requests,{},{hour},{requests}", group.name());
        }
    }
    for item in outcome.discovered.iter().filter(|item| item.group != Group::Active || !item.restrained) {
        let (hour, minutes) = (item.published as f64 / MINUTE / 60.0, item.delay as f64 / MINUTE);
        let _ = writeln!(text, "delay,{},{hour:.2},{minutes:.2}", item.group.name());
    }
    text
}

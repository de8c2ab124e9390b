//! What a process that only sweeps receives from the database and the log, while activities are written.

use super::cluster::{Cluster, accounts, draft};
use domain::fanout::{Rules, deliver_pending};
use domain::ingest::Ingest;
use futures::future::join_all;
use model::Clock;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use store::Log;
use tokio::time::Instant;

/// The interval of a worker.
const INTERVAL: Duration = Duration::from_secs(5);
/// Activities per second.
const RATES: [u64; 3] = [0, 20, 200];
/// As many write concurrently.
const ACTORS: usize = 64;

pub(crate) async fn measure(cluster: &Cluster, seconds: u64) {
    let store = cluster.open().await;
    let actors = accounts(&store, "actor", ACTORS).await;
    let (clock, number, sweeper) = (Clock::system(), AtomicUsize::new(0), Sweeper::start());
    let ingest = Ingest::new(store.clone(), clock.clone());
    println!("| activities/s | accepted/s | KB/s received | KB per sweep |\n|--:|--:|--:|--:|");
    for rate in RATES {
        // The process has connected, and has swept what the rate before left.
        tokio::time::sleep(INTERVAL * 2).await;
        let (before, start, is_over) = (sweeper.received(), Instant::now(), AtomicBool::new(false));
        let (many, begun) = (rate * seconds, AtomicU64::new(0));
        let write = async |actor| {
            loop {
                let next = begun.fetch_add(1, Ordering::Relaxed);
                if next >= many {
                    return;
                }
                tokio::time::sleep_until(start + Duration::from_secs_f64(next as f64 / rate as f64)).await;
                let draft = draft(number.fetch_add(1, Ordering::Relaxed), clock.now(), &[]);
                ingest.accept(actor, vec![draft]).await.unwrap();
            }
        };
        let accept = async {
            join_all(actors.iter().map(write)).await;
            tokio::time::sleep_until(start + Duration::from_secs(seconds)).await;
            is_over.store(true, Ordering::Relaxed);
        };
        let deliver = async {
            while !is_over.load(Ordering::Relaxed) {
                if deliver_pending(store.as_ref(), &clock, &Rules::default()).await.unwrap() == 0 {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        };
        tokio::join!(accept, deliver);
        let took = start.elapsed().as_secs_f64();
        let received = (sweeper.received() - before) as f64 / took / 1e3;
        let accepted = many as f64 / took;
        println!("| {rate} | {accepted:.0} | {received:.1} | {:.0} |", received * INTERVAL.as_secs_f64());
    }
}

/// Sweeps in this process until it is killed.
pub(crate) async fn run(cluster: &Cluster) {
    let (store, clock) = (cluster.open().await, Clock::system());
    let mut due = tokio::time::interval(INTERVAL);
    loop {
        due.tick().await;
        store.sweep(clock.now()).await.unwrap();
    }
}

/// Another process of this program that only sweeps.
struct Sweeper(Child);

impl Sweeper {
    fn start() -> Sweeper {
        let program = std::env::current_exe().unwrap();
        Sweeper(Command::new(program).arg("sweeper").stdout(Stdio::null()).spawn().unwrap())
    }

    /// Bytes that its connections have received from the database and from NATS, with TLS and all protocols.
    fn received(&self) -> u64 {
        let printed = Command::new("ss").args(["-tinpHO"]).output().expect("ss, of the package iproute2");
        let process = format!("pid={},", self.0.id());
        String::from_utf8_lossy(&printed.stdout)
            .lines()
            .filter(|line| line.contains(&process))
            .filter_map(|line| line.split_once("bytes_received:")?.1.split(' ').next()?.parse::<u64>().ok())
            .sum()
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

//! The cost of a page in the service beyond the cost of its statements.

use super::bare::{Bare, BarePage, States};
use super::cluster::{Cluster, cpu_seconds};
use super::reader::{filled, first_page, first_slice};
use super::service::Service;
use super::{median, summary};
use domain::feed::{Feed, FeedLimits};
use futures::future::join_all;
use model::{Clock, Reader};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{AccountCache, Feeds};

const ROUNDS: usize = 7;
const TURN: Duration = Duration::from_secs(4);
const CONCURRENCY: usize = 16;
/// Milliseconds of CPU.
const AIM: f64 = 0.6;

/// Pages per second, and milliseconds of CPU per page.
pub(crate) struct Turn {
    rate: f64,
    pub(crate) cpu: f64,
}

pub(crate) async fn measure(cluster: &Cluster, program: &str) {
    let (store, account) = filled(cluster).await;
    let query = first_page(&account);
    let service = Service::start(cluster, program, &account).await;
    let bare = Bare::connect(cluster).await;
    let entries = store.slice(&first_slice(account.uid, &query.filter)).await.unwrap();
    let accounts = AccountCache::new(store.clone());
    let others = accounts.get_many(entries.iter().map(|entry| entry.actor)).await.unwrap();
    let others = others.values().filter(|other| other.uid != account.uid);
    let others = others.map(|other| other.name.as_str().to_owned()).collect();
    let page = BarePage::new(&bare, &account, &entries, others).await;
    let feed = Feed::new(store.clone(), accounts, Clock::system(), FeedLimits::default());
    feed.page(Reader::Owner, &query).await.unwrap();
    let before = store.counted().0;
    feed.page(Reader::Owner, &query).await.unwrap();
    let statements = store.counted().0 - before;
    assert_eq!(
        statements,
        page.read(&bare, States::Grouped).await as u64,
        "the bare driver sends the same number"
    );

    let wires = join_all(
        (0..CONCURRENCY).map(|_| async { Arc::new(tokio::sync::Mutex::new(service.connect().await)) }),
    )
    .await;
    let (mut served, mut read, mut sent, mut single) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let one = turn(service.process(), |at| {
            let wire = Arc::clone(&wires[at]);
            let service = &service;
            async move { service.read(&mut *wire.lock().await).await }
        })
        .await;
        let this = std::process::id();
        let other = turn(this, |_| async { drop(feed.page(Reader::Owner, &query).await.unwrap()) }).await;
        let third = turn(this, |_| async { assert!(page.read(&bare, States::Grouped).await > 0) }).await;
        let fourth = turn(this, |_| async { assert!(page.read(&bare, States::Single).await > 0) }).await;
        // The first round warms up.
        if round > 0 {
            served.push(one);
            read.push(other);
            sent.push(third);
            single.push(fourth);
        }
    }
    println!("| a page of {statements} statements | pages/s | ms of CPU |\n|---|--:|--:|");
    for (label, turns) in [
        ("the service, over HTTP", &served),
        ("its feed alone", &read),
        ("the bare driver", &sent),
        ("the bare driver, with a statement for each state", &single),
    ] {
        let rates: Vec<f64> = turns.iter().map(|turn| turn.rate).collect();
        let costs: Vec<f64> = turns.iter().map(|turn| turn.cpu).collect();
        println!("| {label} | {:.0} | {:.2} |", median(&rates), median(&costs));
    }
    let pairs = || served.iter().zip(&sent);
    let more: Vec<f64> = pairs().map(|(ours, theirs)| ours.cpu - theirs.cpu).collect();
    let ratios: Vec<f64> = pairs().map(|(ours, theirs)| ours.rate / theirs.rate).collect();
    let (difference, least, most) = summary(&more);
    println!("\nCPU beyond the bare driver's: {difference:.2} ms ({least:.2} to {most:.2}), aim {AIM}");
    let (ratio, least, most) = summary(&ratios);
    println!("pages a second against the bare driver: {ratio:.2} ({least:.2} to {most:.2})");
}

/// Repeats a task with fixed concurrency; measures the CPU of that process.
pub(crate) async fn turn<F: Future<Output = ()>>(process: u32, tasks: impl Fn(usize) -> F) -> Turn {
    let (start, before) = (Instant::now(), cpu_seconds(process));
    let many = join_all((0..CONCURRENCY).map(|at| {
        let tasks = &tasks;
        async move {
            let mut done = 0_u32;
            while start.elapsed() < TURN {
                tasks(at).await;
                done += 1;
            }
            done
        }
    }))
    .await;
    let spent = cpu_seconds(process) - before;
    let done = f64::from(many.iter().sum::<u32>());
    Turn { rate: done / start.elapsed().as_secs_f64(), cpu: spent * 1e3 / done }
}

//! Measures the cost of accepting an activity and of delivering it to followers, as ratios within one run:
//!
//! ```sh
//! cargo run --release -p tofrom --example delivery_cost
//! ```
//!
//! - accepting: with one follower and with 100,000, alternating;
//! - delivering: CPU per follower, from 100 to 100,000 of them;
//! - delivering against plain inserts of the same rows into the same schema, as many in a commit.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a measurement may panic, and prints its table"
)]

use domain::fanout::{Rules, deliver_pending};
use domain::ingest::{Draft, Ingest, json, normalise};
use model::{Account, AccountName, Clock, Edge, Millis, Uid, Version};
use rusqlite::{Connection, params};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use store::sqlite::{Options, SqliteStore};
use store::{Accounts, Graph, Log, NewAccount};

/// Rows that are written together: a page of followers.
const TOGETHER: usize = 2_000;
const MANY: usize = 100_000;

fn main() {
    let folder = std::env::temp_dir().join(format!("tofrom-delivery-cost-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(run(&folder));
    std::fs::remove_dir_all(&folder).unwrap();
}

async fn run(folder: &Path) {
    let path: PathBuf = folder.join("store.db");
    let store = Arc::new(SqliteStore::open(&path, Options::default()).unwrap());
    let clock = Clock::system();
    let ingest = Ingest::new(store.clone(), clock.clone());
    let mut actors = Vec::new();
    for followers in [1, 100, 1_000, 10_000, MANY] {
        actors.push((followers, followed_by(&store, followers).await));
    }
    deliver_pending(store.as_ref(), &clock, &Rules::default()).await.unwrap();

    let (few, many) = (&actors[0].1, &actors[4].1);
    let mut ratios = Vec::new();
    for round in 0..7 {
        let one = accepting(&ingest, few, round).await;
        let other = accepting(&ingest, many, round).await;
        ratios.push(other / one);
        // Waiting tasks are not measured here.
        drop_tasks(&store).await;
    }
    println!(
        "taking in, 100,000 followers against 1: CPU ratio {:.2} (aim 1.2 at most)",
        median(&mut ratios)
    );

    println!("\n| followers | activities | rows | µs of CPU a row |\n|--:|--:|--:|--:|");
    for (followers, actor) in &actors[1..] {
        let activities = (2 * MANY / followers).clamp(1, 200);
        let drafts = (0..activities).map(|n| draft(&format!("deliver-{n}"))).collect();
        ingest.accept(actor, drafts).await.unwrap();
        let before = cpu_micros();
        deliver_pending(store.as_ref(), &clock, &Rules::default()).await.unwrap();
        let rows = followers * activities;
        println!("| {followers} | {activities} | {rows} | {:.2} |", (cpu_micros() - before) / rows as f64);
    }

    let mut ratios = Vec::new();
    for round in 0..5 {
        ingest.accept(many, vec![draft(&format!("race-{round}"))]).await.unwrap();
        let start = Instant::now();
        deliver_pending(store.as_ref(), &clock, &Rules::default()).await.unwrap();
        let ours = start.elapsed().as_secs_f64();
        let bare = bare_inserts(&path, round);
        ratios.push(bare / ours);
        println!(
            "round {round}: {:.0} rows/s delivered, {:.0} inserted",
            MANY as f64 / ours,
            MANY as f64 / bare
        );
    }
    println!("delivered against bare inserts: {:.2} (aim 0.8 at least)", median(&mut ratios));
}

/// An actor with this many followers.
async fn followed_by(store: &Arc<SqliteStore>, followers: usize) -> Account {
    let new = NewAccount {
        name: AccountName::parse(&format!("actor-{followers}")).unwrap(),
        version: Version(1),
        given_name: None,
        family_name: None,
        public: true,
        operator: false,
        password: None,
        created: Millis(1),
    };
    let actor = store.create_account(new).await.unwrap().unwrap();
    let edge = Edge::new(Version(1), Millis(1), None);
    // Numbers without accounts: a collection needs none.
    let mut waiting = Vec::new();
    for number in 0..followers {
        let follower = Uid(1_000_000 * i64::try_from(followers).unwrap() + i64::try_from(number).unwrap());
        let store = Arc::clone(store);
        let followee = actor.uid;
        let edge = edge.clone();
        waiting.push(tokio::spawn(async move { store.put_edge(follower, followee, &edge).await.unwrap() }));
        if waiting.len() == 500 {
            for one in waiting.drain(..) {
                one.await.unwrap();
            }
        }
    }
    for one in waiting {
        one.await.unwrap();
    }
    actor
}

async fn accepting(ingest: &Ingest, actor: &Account, round: usize) -> f64 {
    let before = cpu_micros();
    for number in 0..200 {
        ingest.accept(actor, vec![draft(&format!("take-{round}-{number}"))]).await.unwrap();
    }
    cpu_micros() - before
}

async fn drop_tasks(store: &SqliteStore) {
    loop {
        let tasks: Vec<_> = store.pending(1_000).await.unwrap().iter().map(|task| task.position).collect();
        if tasks.is_empty() {
            return;
        }
        store.acknowledge(&tasks, &[]).await.unwrap();
    }
}

fn draft(id: &str) -> Draft {
    let text = serde_json::json!({
        "SourceId": id,
        "SourceService": {"Name": "delicious"},
        "Title": "Alice shared a bookmark",
        "Category": "BookmarkShared",
        "Bookmark": {"Title": "A page", "Url": "https://example.org/"},
    });
    normalise(&json::read(text.to_string().as_bytes()).unwrap(), Clock::system().now()).unwrap()
}

/// The same rows with plain inserts, into the same file, for other owners.
fn bare_inserts(path: &Path, round: usize) -> f64 {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    connection.pragma_update(None, "synchronous", "FULL").unwrap();
    let start = Instant::now();
    let time = 1_790_000_000_000_i64 + i64::try_from(round).unwrap();
    let id = [u8::try_from(round).unwrap(); 16];
    for page in 0..MANY / TOGETHER {
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        {
            let entry = "INSERT INTO entry (uid, run, received_ms, aid, published_ms, actor, ver, flags, seq)
                 VALUES (?1, 6, ?2, ?3, ?2, 5, ?2, 0, ?2)";
            let mut entry = connection.prepare_cached(entry).unwrap();
            let run = "INSERT INTO run_of (uid, run, received_ms, published_ms, oldest_ms) VALUES (?1, 6, ?2, ?2, ?2)
                 ON CONFLICT DO UPDATE SET received_ms = excluded.received_ms, published_ms = excluded.published_ms";
            let mut run = connection.prepare_cached(run).unwrap();
            for row in 0..TOGETHER {
                let uid = 900_000_000_000_i64 + i64::try_from(page * TOGETHER + row).unwrap();
                run.execute(params![uid, time]).unwrap();
                entry.execute(params![uid, time, id]).unwrap();
            }
        }
        connection.execute_batch("COMMIT").unwrap();
    }
    start.elapsed().as_secs_f64()
}

/// User and system time of this process.
fn cpu_micros() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    ticks * 10_000.0
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

//! Delivered rows per second against a bare driver, into the same tables, for the same accounts.

use super::bare::{Bare, BareDelivery, Row};
use super::cluster::{Cluster, accounts, cpu_seconds, draft};
use super::edges::follow_all;
use super::{median, summary};
use domain::fanout::{Rules, deliver_pending};
use domain::ingest::Ingest;
use model::Clock;
use std::time::Instant;
use uuid::Uuid;

/// Two entries and an arrival.
const ROWS: usize = 3;
const ROUNDS: usize = 5;
const AIM: f64 = 0.9;

pub(crate) async fn measure(cluster: &Cluster, many: usize) {
    let (store, bare, clock) = (cluster.open().await, Bare::connect(cluster).await, Clock::system());
    let ingest = Ingest::new(store.clone(), clock.clone());
    let actor = accounts(&store, "actor", 1).await.remove(0);
    // Numbers without accounts: a collection needs none.
    let followers: Vec<i64> = (0..many).map(|_| random_number()).collect();
    follow_all(&store, &bare, &actor, &followers).await;
    let delivery = BareDelivery::new(&bare).await;
    let mut rates = (Vec::new(), Vec::new());
    let mut costs = (Vec::new(), Vec::new());
    let (rows, mut statements) = (ROWS * many, 0);
    // The one-time writes for every new follower, and a cold JVM, are not compared.
    for round in 0..ROUNDS + 2 {
        ingest.accept(&actor, vec![draft(round, clock.now(), &[])]).await.unwrap();
        let before = store.counted().0;
        let (ours, cost) = timed(rows, deliver_pending(store.as_ref(), &clock, &Rules::default())).await;
        statements = store.counted().0 - before;
        let row = newest(&bare, followers[0]).await;
        let id = Uuid::from_u128(row.id.as_u128() ^ 1);
        let (theirs, bare_cost) = timed(rows, delivery.deliver(&bare, &followers, &Row { id, ..row })).await;
        if round >= 2 {
            rates.0.push(ours);
            rates.1.push(theirs);
            costs.0.push(cost);
            costs.1.push(bare_cost);
        }
    }
    let ratios: Vec<f64> = rates.0.iter().zip(&rates.1).map(|(ours, theirs)| ours / theirs).collect();
    let (ratio, least, most) = summary(&ratios);
    println!("| fan-out to {many} | rows/s | µs of CPU a row |\n|---|--:|--:|");
    println!("| delivered | {:.0} | {:.1} |", median(&rates.0), median(&costs.0));
    println!("| by the bare driver | {:.0} | {:.1} |", median(&rates.1), median(&costs.1));
    println!(
        "\nratio {ratio:.2} ({least:.2} to {most:.2}), aim {AIM}; {statements} statements for {rows} rows"
    );
}

/// Rows per second, and CPU microseconds of this process per row.
async fn timed<T>(rows: usize, writing: impl Future<Output = T>) -> (f64, f64) {
    let (start, before) = (Instant::now(), cpu_seconds(std::process::id()));
    writing.await;
    let spent = cpu_seconds(std::process::id()) - before;
    (rows as f64 / start.elapsed().as_secs_f64(), spent * 1e6 / rows as f64)
}

fn random_number() -> i64 {
    (Uuid::new_v4().as_u64_pair().0 >> 1) as i64
}

/// The row that was delivered last.
async fn newest(bare: &Bare, owner: i64) -> Row {
    let listed = "SELECT bucket FROM feed.directory WHERE uid = ? AND ord = 0 AND reason = 2";
    let (bucket,): (i64,) = bare.first(listed, (owner,)).await;
    let text = "SELECT received_ms, aid, entry, writetime(entry) FROM feed.followed_received
        WHERE uid = ? AND reason = 2 AND bucket = ? LIMIT 1";
    let (time, id, cells, versions): (i64, Uuid, Vec<Vec<u8>>, Vec<i64>) =
        bare.first(text, (owner, bucket)).await;
    let position = i64::from_be_bytes(cells[0][..8].try_into().unwrap());
    Row { bucket, time, id, cells, version: versions[0], position }
}

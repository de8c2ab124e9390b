//! Activities accepted and delivered per second, and the messages of the log that they need, beside bare JetStream with a
//! message for each.

use super::bare::Bare;
use super::cluster::{Cluster, accounts, cpu_seconds, draft};
use super::edges::follow_all;
use async_nats::jetstream::{self, stream};
use domain::fanout::{Rules, deliver_pending};
use domain::ingest::Ingest;
use futures::future::join_all;
use model::{Account, Clock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use store::Log;
use store::cql::CqlStore;
use uuid::Uuid;

const ACTORS: usize = 64;
const FOLLOWERS: usize = 10;
const CONCURRENCIES: [usize; 2] = [64, 512];
/// The size of a message with one task.
const MESSAGE: usize = 150;

pub(crate) async fn measure(cluster: &Cluster, seconds: u64) {
    let (worker, bare) = (cluster.open().await, Bare::connect(cluster).await);
    let actors = accounts(&worker, "actor", ACTORS).await;
    for actor in &actors {
        let followers: Vec<i64> =
            (0..FOLLOWERS).map(|_| (Uuid::new_v4().as_u64_pair().0 >> 1) as i64).collect();
        follow_all(&worker, &bare, actor, &followers).await;
    }
    // One process accepts and another delivers.
    let api = cluster.open().await;
    let duration = Duration::from_secs(seconds);
    println!(
        "| concurrency | accepted/s | delivered/s | messages/s | messages per activity | ms of CPU per activity | bare JetStream, messages/s |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|");
    for concurrency in CONCURRENCIES {
        let Run { accepted, accepting, delivering, messages, cpu } =
            run(&api, &worker, &actors, concurrency, duration).await;
        let bare = bare_messages(cluster, concurrency, duration).await;
        let many = accepted as f64;
        println!(
            "| {concurrency} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2} | {} |",
            many / accepting,
            many / delivering,
            messages as f64 / accepting,
            messages as f64 / many,
            cpu * 1e3 / many,
            bare.map_or_else(String::new, |rate| format!("{rate:.0}")),
        );
    }
}

struct Run {
    accepted: usize,
    /// Seconds until the last one was accepted, and until all were delivered.
    accepting: f64,
    delivering: f64,
    messages: u64,
    cpu: f64,
}

async fn run(
    api: &Arc<CqlStore>,
    worker: &CqlStore,
    actors: &[Account],
    concurrency: usize,
    duration: Duration,
) -> Run {
    let (clock, number, is_over) = (Clock::system(), AtomicUsize::new(0), AtomicBool::new(false));
    let ingest = Ingest::new(api.clone(), clock.clone());
    let (first, start, cpu) = (last_message(worker).await, Instant::now(), cpu_seconds(std::process::id()));
    let write = async |writer: usize| {
        while start.elapsed() < duration {
            let draft = draft(number.fetch_add(1, Ordering::Relaxed), clock.now(), &[]);
            ingest.accept(&actors[writer % ACTORS], vec![draft]).await.unwrap();
        }
    };
    let accept = async {
        join_all((0..concurrency).map(write)).await;
        is_over.store(true, Ordering::Relaxed);
        start.elapsed().as_secs_f64()
    };
    let deliver = async {
        loop {
            let was_over = is_over.load(Ordering::Relaxed);
            let delivered = deliver_pending(worker, &clock, &Rules::default()).await.unwrap();
            if was_over && delivered == 0 {
                return start.elapsed().as_secs_f64();
            }
        }
    };
    let (accepting, delivering) = tokio::join!(accept, deliver);
    let cpu = cpu_seconds(std::process::id()) - cpu;
    let messages = last_message(worker).await - first;
    Run { accepted: number.into_inner(), accepting, delivering, messages, cpu }
}

/// The number of the last message of the log, when all are acknowledged. A position has six more bits for the task.
async fn last_message(store: &CqlStore) -> u64 {
    // The floor may be older than this otherwise.
    tokio::time::sleep(Duration::from_millis(500)).await;
    store.floor().await.unwrap().0 >> 6
}

/// Messages per second into a stream like that of the log. `None` on a cluster that asks for a login.
async fn bare_messages(cluster: &Cluster, concurrency: usize, duration: Duration) -> Option<f64> {
    if cluster.servers.login.is_some() {
        return None;
    }
    let name = format!("{}_bare", cluster.servers.stream);
    let context = jetstream::new(async_nats::connect(&cluster.servers.servers).await.unwrap());
    let _ = context.delete_stream(&name).await;
    let config = stream::Config {
        name: name.clone(),
        subjects: vec![name.clone()],
        num_replicas: cluster.servers.replicas,
        ..stream::Config::default()
    };
    context.create_stream(config).await.unwrap();
    let (stored, start) = (AtomicUsize::new(0), Instant::now());
    let write = async |_| {
        while start.elapsed() < duration {
            let sent = context.publish(name.clone(), vec![0; MESSAGE].into()).await.unwrap();
            sent.await.unwrap();
            stored.fetch_add(1, Ordering::Relaxed);
        }
    };
    join_all((0..concurrency).map(write)).await;
    let rate = stored.into_inner() as f64 / start.elapsed().as_secs_f64();
    context.delete_stream(&name).await.unwrap();
    Some(rate)
}

//! An actor with very many followers, and the latency of other readers during its fan-out.

use super::bare::Bare;
use super::cluster::{Cluster, draft};
use super::edges::with_followers;
use super::reader::first_page;
use domain::fanout::{Rules, deliver_pending};
use domain::feed::{Feed, FeedLimits};
use domain::ingest::Ingest;
use model::{Account, Clock, Reader, Start};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::AccountCache;
use store::cql::CqlStore;

/// Concurrent readers, and the pause between their pages and polls.
const READERS: usize = 8;
const PAUSE: Duration = Duration::from_millis(100);
/// How long they read while nothing is delivered.
const QUIET: Duration = Duration::from_secs(20);

pub(crate) async fn measure(cluster: &Cluster, many: usize) {
    let (store, bare, clock) = (cluster.open().await, Bare::connect(cluster).await, Clock::system());
    let (actor, followers) = with_followers(&store, &bare, many).await;

    // One process answers requests and another delivers.
    let api = cluster.open().await;
    let ingest = Ingest::new(api.clone(), clock.clone());
    let last = followers.iter().max_by_key(|account| account.uid).unwrap();
    println!(
        "| | acknowledged, ms | all have it, s | page, ms: half, 99 %, slowest | poll, ms: half, 99 %, slowest |"
    );
    println!("|---|--:|--:|--:|--:|");
    let quiet = watched(&api, &followers, tokio::time::sleep(QUIET)).await.1;
    println!("| nothing delivered | | | {} | {} |", quiet.pages.percentiles(), quiet.polls.percentiles());
    for number in 0..3 {
        let start = Instant::now();
        ingest.accept(&actor, vec![draft(number, clock.now(), &[])]).await.unwrap();
        let acknowledged = start.elapsed();
        let rules = Rules::default();
        let delivering = deliver_pending(store.as_ref(), &clock, &rules);
        let (_, reader_times) = watched(&api, &followers, delivering).await;
        let all = start.elapsed();
        let page = feed(&api).page(Reader::Owner, &first_page(last)).await.unwrap();
        assert_eq!(page.items.len(), number + 1, "the last follower has it");
        println!(
            "| activity {} | {:.0} | {:.1} | {} | {} |",
            number + 1,
            acknowledged.as_secs_f64() * 1e3,
            all.as_secs_f64(),
            reader_times.pages.percentiles(),
            reader_times.polls.percentiles()
        );
    }
}

fn feed(store: &Arc<CqlStore>) -> Feed {
    Feed::new(store.clone(), AccountCache::new(store.clone()), Clock::system(), FeedLimits::default())
}

/// Durations in milliseconds.
#[derive(Default)]
struct Times(Vec<f64>);

impl Times {
    fn percentiles(&self) -> String {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let at =
            |part: usize| sorted.get(sorted.len() * part / 100).or(sorted.last()).copied().unwrap_or(0.0);
        format!("{:.0}, {:.0}, {:.0}", at(50), at(99), at(100))
    }
}

/// The durations that readers saw.
#[derive(Default)]
struct ReaderTimes {
    pages: Times,
    polls: Times,
}

/// Lets some of the followers read pages and poll for updates while something runs.
async fn watched<T>(
    store: &Arc<CqlStore>,
    followers: &[Account],
    tasks: impl Future<Output = T>,
) -> (T, ReaderTimes) {
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let readers: Vec<_> = (0..READERS)
        .map(|number| {
            let feed = feed(store);
            let some: Vec<Account> = followers.iter().skip(number).step_by(READERS).cloned().collect();
            let stopped = stopped.clone();
            tokio::spawn(async move {
                let mut reader_times = ReaderTimes::default();
                for account in some.iter().cycle() {
                    if *stopped.borrow() {
                        break;
                    }
                    let query = first_page(account);
                    let start = Instant::now();
                    let page = feed.page(Reader::Owner, &query).await.unwrap();
                    reader_times.pages.0.push(start.elapsed().as_secs_f64() * 1e3);
                    tokio::time::sleep(PAUSE).await;
                    let start = Instant::now();
                    feed.page(Reader::Owner, &query.from(Start::Updates(page.sync_token))).await.unwrap();
                    reader_times.polls.0.push(start.elapsed().as_secs_f64() * 1e3);
                    tokio::time::sleep(PAUSE).await;
                }
                reader_times
            })
        })
        .collect();
    let done = tasks.await;
    stop.send(true).unwrap();
    let mut all = ReaderTimes::default();
    for reader in readers {
        let reader_times = reader.await.unwrap();
        all.pages.0.extend(reader_times.pages.0);
        all.polls.0.extend(reader_times.polls.0);
    }
    (done, all)
}

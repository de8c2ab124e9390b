//! Pages and empty polls of readers with no, some and the maximum number of pulled actors.

use super::super::cluster::{Cluster, accounts, all, counted, draft, follow};
use super::super::median;
use super::super::reader::first_page;
use super::super::reads::turn;
use domain::fanout::{Rules, deliver_pending};
use domain::feed::{Feed, FeedLimits};
use domain::ingest::Ingest;
use model::{Account, Clock, FanoutStage, FeedQuery, Millis, Reader, Start, Uid};
use std::sync::Arc;
use std::time::Duration;
use store::cql::CqlStore;
use store::{AccountCache, FanoutModes};

/// Numbers of pulled actors of the readers; each follows this many pushed actors besides.
const PULLED: [usize; 3] = [0, 10, 200];
const PUSHED: usize = 10;
/// Activities of each actor, and the milliseconds between two of them.
const EACH: usize = 30;
const PAUSE: i64 = 1_000;
/// As long as the service caches the heads of pulled actors.
const HEAD_TTL: Duration = Duration::from_secs(1);
const ROUNDS: usize = 2;
/// Statements for each pulled actor, cold and warm.
const AIM: (f64, f64) = (2.0, 0.0);

pub(crate) async fn measure(cluster: &Cluster) {
    let readers = readers(cluster).await;
    println!(
        "| pulls from | page of 20: cold | warm | profiles of actors | ms of CPU: cold | warm \
         | poll: first | again | ms of CPU |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    let mut taken: Vec<(usize, StatementCounts)> = Vec::new();
    for (many, reader) in PULLED.into_iter().zip(&readers) {
        let store = cluster.open().await;
        let query = first_page(reader);
        let (statements, poll) = StatementCounts::count(&store, &query).await;
        let StatementCounts { cold, warm, profiles, polls } = statements;
        let forgetting = feed(&store, &AccountCache::new(store.clone()), Duration::ZERO);
        let remembering = feed(&store, &AccountCache::new(store.clone()), HEAD_TTL);
        let cpu_cold = cpu(&forgetting, &query).await;
        let cpu_warm = cpu(&remembering, &query).await;
        let cpu_poll = cpu(&remembering, &poll).await;
        println!(
            "| {many} | {cold} | {warm} | {profiles} | {cpu_cold:.2} | {cpu_warm:.2} | {} | {} | {cpu_poll:.2} |",
            polls.0, polls.1
        );
        taken.push((many, statements));
    }
    let (_, none) = taken[0];
    println!();
    for (many, one) in &taken[1..] {
        let each = |statements: u64, without: u64| (statements as f64 - without as f64) / *many as f64;
        println!(
            "More statements for each of {many}: {:.2} cold (aim {}), {:.2} warm (aim {}), {:.2} for a poll",
            each(one.cold, none.cold),
            AIM.0,
            each(one.warm, none.warm),
            AIM.1,
            each(one.polls.1, none.polls.1)
        );
    }
    println!();
}

/// Creates the readers, their followees, and the activities.
async fn readers(cluster: &Cluster) -> Vec<Account> {
    let (store, clock) = (cluster.open().await, Clock::system());
    let most = PULLED.into_iter().max().unwrap();
    let pushed = accounts(&store, "pushed", PUSHED).await;
    let pulled = accounts(&store, "pulled", most).await;
    let readers = accounts(&store, "reader", PULLED.len()).await;
    let store_ref = store.as_ref();
    for reader in &readers {
        all(pushed.iter().map(|one| follow(store_ref, &clock, reader, one))).await;
    }
    deliver_pending(store_ref, &clock, &Rules::default()).await.unwrap();
    for (reader, many) in readers.iter().zip(PULLED) {
        all(pulled.iter().take(many).map(|one| follow(store_ref, &clock, reader, one))).await;
    }
    // From now on every account with a follower is pulled.
    deliver_pending(store_ref, &clock, &Rules { pull_above: Some(0), ..Rules::default() }).await.unwrap();
    let numbers: Vec<Uid> = pulled.iter().map(|one| one.uid).collect();
    let audiences = store.fanout_states(&numbers).await.unwrap();
    assert!(audiences.iter().all(|audience| audience.stage == FanoutStage::Pull));

    let ingest = Ingest::new(store.clone(), clock.clone());
    let actors: Vec<&Account> = pushed.iter().chain(&pulled).collect();
    let first = clock.now().0 + PAUSE;
    for turn in 0..EACH {
        all(actors.iter().enumerate().map(|(number, actor)| {
            let step = turn * actors.len() + number;
            ingest.accept(actor, vec![draft(step, Millis(first + step as i64 * PAUSE), &[])])
        }))
        .await;
    }
    deliver_pending(store_ref, &clock, &Rules::default()).await.unwrap();
    readers
}

fn feed(store: &Arc<CqlStore>, accounts: &AccountCache, head_ttl: Duration) -> Feed {
    let limits = FeedLimits { head_ttl, ..FeedLimits::default() };
    Feed::new(store.clone(), accounts.clone(), Clock::system(), limits)
}

/// Numbers of statements.
#[derive(Clone, Copy)]
struct StatementCounts {
    cold: u64,
    warm: u64,
    profiles: u64,
    polls: (u64, u64),
}

impl StatementCounts {
    /// Counts the statements of pages and polls; returns the poll too.
    async fn count(store: &Arc<CqlStore>, query: &FeedQuery) -> (StatementCounts, FeedQuery) {
        let known = AccountCache::new(store.clone());
        let page = async |feed: &Feed, query: &FeedQuery| {
            let (page, statements) = counted(store, feed.page(Reader::Owner, query)).await;
            (page.unwrap(), statements)
        };
        let (_, knowing_nobody) = page(&feed(store, &known, HEAD_TTL), query).await;
        let fresh = feed(store, &known, HEAD_TTL);
        let (first, cold) = page(&fresh, query).await;
        let (second, warm) = page(&fresh, query).await;
        assert_eq!((first.items.len(), second.items.len()), (20, 20));
        // The log has moved on: otherwise a poll would skip the arrivals.
        let clock = Clock::system();
        let stranger = accounts(store, "stranger", 1).await.remove(0);
        let ingest = Ingest::new(store.clone(), clock.clone());
        ingest.accept(&stranger, vec![draft(0, clock.now(), &[])]).await.unwrap();
        deliver_pending(store.as_ref(), &clock, &Rules::default()).await.unwrap();
        let poll = query.from(Start::Updates(second.sync_token));
        let mut polls = [0; 2];
        for statements in &mut polls {
            let (found, taken) = page(&fresh, &poll).await;
            assert!(found.items.is_empty());
            *statements = taken;
        }
        let [first, again] = polls;
        (StatementCounts { cold, warm, profiles: knowing_nobody - cold, polls: (first, again) }, poll)
    }
}

/// CPU milliseconds of this process per read.
async fn cpu(feed: &Feed, query: &FeedQuery) -> f64 {
    let mut costs = Vec::new();
    // The first round warms up.
    for round in 0..=ROUNDS {
        let turn =
            turn(std::process::id(), |_| async { drop(feed.page(Reader::Owner, query).await.unwrap()) });
        let cost = turn.await.cpu;
        if round > 0 {
            costs.push(cost);
        }
    }
    median(&costs)
}

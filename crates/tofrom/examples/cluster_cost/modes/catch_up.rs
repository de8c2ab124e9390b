//! An account that was dormant for a year is read again, beside one with the same edges that was read all the time.

use super::super::bare::Bare;
use super::super::cluster::{Cluster, accounts, all, counted, draft, follow};
use super::super::reader::first_page;
use super::super::{median, summary};
use super::delivered_rows;
use domain::fanout::dormancy::mark_dormant;
use domain::fanout::{Rules, deliver_pending};
use domain::feed::{Feed, FeedLimits};
use domain::ingest::{Draft, Ingest};
use model::{Account, ActivityId, Clock, FeedQuery, Millis, Order, Reader, Version};
use scylla::value::CqlValue;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};
use store::cql::CqlStore;
use store::{AccountCache, ExternalKey};

/// Dormant accounts, reactivated one after the other, and the number of their followees.
const DORMANT_ACCOUNTS: usize = 3;
const FOLLOWED: usize = 500;
/// Months of dormancy.
const MONTHS: usize = 12;
const MINUTE: i64 = 60 * 1_000;
const DAY: i64 = 24 * 60 * MINUTE;
const MONTH: i64 = 30 * DAY;
const IDLE_AFTER: Duration = Duration::from_hours(29 * 24);
/// Each month one in this many changes, and one in this many deletes, its activity of the month before.
const CHANGED: usize = 6;
const DELETED: usize = 12;
/// Page size of a walk through everything.
const WALKED: u32 = 100;
const AIM: f64 = 3.0;

pub(crate) async fn measure(cluster: &Cluster) {
    let year = Year::begin(cluster).await;
    year.pass().await;
    let Year { dormant, twin, clock, .. } = &year;
    let (store, bare) = (cluster.open().await, Bare::connect(cluster).await);
    let store_ref = store.as_ref();
    let feed =
        || Feed::new(store.clone(), AccountCache::new(store.clone()), clock.clone(), FeedLimits::default());
    let expected = walks(&feed(), twin).await;
    let (mut active_pages, mut dormant_pages) = (FirstPages::default(), FirstPages::default());
    let (mut rows, mut statements, mut seconds) = (Vec::new(), Vec::new(), Vec::new());
    for dormant_account in dormant {
        active_pages.read(&store, &feed(), twin).await;
        dormant_pages.read(&store, &feed(), dormant_account).await;
        assert!(walks(&feed(), dormant_account).await == expected, "the first pages are complete");
        let uid = CqlValue::BigInt(dormant_account.uid.0);
        let before = delivered_rows(&bare, "uid", &uid).await;
        let start = Instant::now();
        let (_, taken) = counted(&store, deliver_pending(store_ref, clock, &Rules::default())).await;
        statements.push(taken as f64);
        seconds.push(start.elapsed().as_secs_f64());
        rows.push((delivered_rows(&bare, "uid", &uid).await - before) as f64);
        assert!(
            walks(&feed(), dormant_account).await == expected,
            "the pages are complete after catching up"
        );
    }
    println!("| the first page after a year, {FOLLOWED} followees | statements | ms |\n|---|--:|--:|");
    for (label, first) in [("an active account", &active_pages), ("a dormant account", &dormant_pages)] {
        let (middle, least, most) = summary(&first.millis);
        let statements = median(&first.statements);
        println!("| {label} | {statements:.0} | {middle:.0} ({least:.0} to {most:.0}) |");
    }
    println!(
        "\n{:.1} times the statements and {:.1} times the time (aim {AIM}). Walks through all {} activities in both \
         orders are the same at once, and when all has been delivered: {:.0} rows, {:.0} statements, {:.1} s.\n",
        median(&dormant_pages.statements) / median(&active_pages.statements),
        median(&dormant_pages.millis) / median(&active_pages.millis),
        expected[0].len(),
        median(&rows),
        median(&statements),
        median(&seconds),
    );
}

/// The cost of first pages.
#[derive(Default)]
struct FirstPages {
    statements: Vec<f64>,
    millis: Vec<f64>,
}

impl FirstPages {
    async fn read(&mut self, store: &CqlStore, feed: &Feed, account: &Account) {
        let start = Instant::now();
        let (page, statements) = counted(store, feed.page(Reader::Owner, &first_page(account))).await;
        self.millis.push(start.elapsed().as_secs_f64() * 1e3);
        self.statements.push(statements as f64);
        assert_eq!(page.unwrap().items.len(), 20);
    }
}

/// All activities of an account, in both orders.
async fn walks(feed: &Feed, account: &Account) -> [Vec<(ActivityId, Version)>; 2] {
    let walk = async |order| {
        let mut query = FeedQuery { order, count: WALKED, ..first_page(account) };
        let mut found = Vec::new();
        loop {
            let page = feed.page(Reader::Owner, &query).await.unwrap();
            found.extend(page.items.iter().map(|item| (item.state.id, item.state.version)));
            match page.next {
                Some(next) => query = query.from(next),
                None => return found,
            }
        }
    };
    [walk(Order::Received).await, walk(Order::Published).await]
}

/// A year, simulated within minutes.
struct Year {
    store: Arc<CqlStore>,
    ingest: Ingest,
    clock: Clock,
    time: Arc<AtomicI64>,
    /// Start time.
    start: i64,
    followed: Vec<Account>,
    dormant: Vec<Account>,
    twin: Account,
}

impl Year {
    async fn begin(cluster: &Cluster) -> Year {
        let store = cluster.open().await;
        let followed = accounts(&store, "followed", FOLLOWED).await;
        let dormant = accounts(&store, "sleeper", DORMANT_ACCOUNTS).await;
        let twin = accounts(&store, "twin", 1).await.remove(0);
        let start = Clock::system().now().0;
        let time = Arc::new(AtomicI64::new(start));
        let percentiles = Arc::clone(&time);
        let clock = Clock::from(move || Millis(percentiles.load(Ordering::Relaxed)));
        for reader in dormant.iter().chain([&twin]) {
            all(followed.iter().map(|one| follow(store.as_ref(), &clock, reader, one))).await;
        }
        let ingest = Ingest::new(store.clone(), clock.clone());
        let year = Year { store, ingest, clock, time, start, followed, dormant, twin };
        year.deliver().await;
        year
    }

    /// Simulates a first month, marks the accounts dormant, and simulates a year.
    async fn pass(&self) {
        self.month(0).await;
        mark_dormant(self.store.as_ref(), &self.dormant, self.clock.now(), IDLE_AFTER).await.unwrap();
        self.deliver().await;
        for number in 1..=MONTHS {
            self.month(number).await;
        }
    }

    async fn month(&self, month: usize) {
        let followed = || self.followed.iter().enumerate();
        all(followed().map(|(number, one)| self.ingest.accept(one, vec![self.activity_of(month, number)])))
            .await;
        if let Some(last) = month.checked_sub(1) {
            let changed = followed().filter(|(number, _)| (number + month).is_multiple_of(CHANGED));
            all(changed.map(|(number, one)| {
                let mut activity_of = self.activity_of(last, number);
                activity_of.body.title = "Ada thought again".to_owned();
                self.ingest.accept(one, vec![activity_of])
            }))
            .await;
            let deleted = followed().filter(|(number, _)| (number + month) % DELETED == 1);
            all(deleted.map(|(number, one)| {
                let body = self.activity_of(last, number).body;
                let service = body.service.name.folded();
                let source = ExternalKey { actor: one.uid, service, id: body.source_id };
                async move { self.ingest.delete(&source).await }
            }))
            .await;
        }
        self.deliver().await;
        self.time.fetch_add(MONTH, Ordering::Relaxed);
    }

    /// The activity of a followee in that month.
    fn activity_of(&self, month: usize, number: usize) -> Draft {
        let received = Millis(self.start + month as i64 * MONTH + (1 + number as i64) * MINUTE);
        // Another order than that of receipt.
        let published = Some(Millis(received.0 - number as i64 % 7 * DAY));
        Draft { published, ..draft(number, received, &[]) }
    }

    async fn deliver(&self) {
        deliver_pending(self.store.as_ref(), &self.clock, &Rules::default()).await.unwrap();
    }
}

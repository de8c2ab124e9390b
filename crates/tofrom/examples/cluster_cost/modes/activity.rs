//! One activity of an account with very many followers: pushed to all of them, and pulled by readers.

use super::super::bare::Bare;
use super::super::cluster::{Cluster, accounts, counted, draft, follow};
use super::super::edges::with_followers;
use super::super::reader::first_page;
use super::delivered_rows;
use domain::fanout::{Rules, deliver_pending};
use domain::feed::{Feed, FeedLimits};
use domain::ingest::{Ingest, Outcome};
use model::{Account, Clock, FanoutStage, FanoutState, Reader};
use scylla::value::CqlValue;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::cql::CqlStore;
use store::{AccountCache, FanoutModes, Log};
use uuid::Uuid;

/// The first round includes the one-time writes for every new follower, and a cold JVM.
const ROUNDS: usize = 2;
/// A threshold at which every change counts the followers.
const LOWEST: usize = 1;

pub(crate) async fn measure(cluster: &Cluster, many: usize) {
    let (store, bare) = (cluster.open().await, Bare::connect(cluster).await);
    let (actor, followers) = with_followers(&store, &bare, many).await;
    let mut actor = Actor { store, bare, account: actor, followers, done: 0 };
    println!(
        "| to {many} followers | acknowledged, ms | all can read it, s | entry and arrival rows | statements |"
    );
    println!("|---|--:|--:|--:|--:|");
    for _ in 0..ROUNDS {
        actor.write_activity("pushed").await;
    }
    let changed = actor.switch_to_pull().await;
    for _ in 0..ROUNDS {
        actor.write_activity("pulled").await;
    }
    println!("\n{changed}");
}

struct Actor {
    store: Arc<CqlStore>,
    bare: Bare,
    account: Account,
    followers: Vec<Account>,
    /// Number of activities.
    done: usize,
}

impl Actor {
    /// Writes an activity, and delivers it.
    async fn write_activity(&mut self, mode: &str) {
        let (store, clock) = (&self.store, Clock::system());
        let ingest = Ingest::new(store.clone(), clock.clone());
        let before = store.floor().await.unwrap();
        let start = Instant::now();
        let outcomes = ingest.accept(&self.account, vec![draft(self.done, clock.now(), &[])]).await.unwrap();
        let acknowledged = start.elapsed();
        let rules = Rules::default();
        let delivering = counted(store, deliver_pending(store.as_ref(), &clock, &rules));
        let passing = async {
            // The log holds nothing else.
            while store.floor().await.unwrap() == before {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            start.elapsed()
        };
        let ((_, statements), passed) = tokio::join!(delivering, passing);
        // After a push the log continues with the remaining followers; a pulled activity is done here.
        let all = if mode == "pulled" { passed } else { start.elapsed() };
        self.done += 1;
        self.check_readers().await;
        let [Outcome::Created(id)] = outcomes.as_slice() else {
            panic!("expected a new activity: {outcomes:?}")
        };
        let rows = delivered_rows(&self.bare, "aid", &CqlValue::Uuid(Uuid::from_bytes(*id.as_bytes()))).await;
        println!(
            "| {mode} | {:.0} | {:.2} | {rows} | {statements} |",
            acknowledged.as_secs_f64() * 1e3,
            all.as_secs_f64()
        );
    }

    /// A sample of the followers, including the last one, has everything.
    async fn check_readers(&self) {
        let store = &self.store;
        let accounts = AccountCache::new(store.clone());
        let feed = Feed::new(store.clone(), accounts, Clock::system(), FeedLimits::default());
        let last = self.followers.iter().max_by_key(|account| account.uid);
        for follower in self.followers.iter().step_by(self.followers.len().div_ceil(10)).chain(last) {
            let page = feed.page(Reader::Owner, &first_page(follower)).await.unwrap();
            assert_eq!(page.items.len(), self.done, "account {} has all activities", follower.uid.0);
        }
    }

    /// One more account follows, which switches the actor to pull; returns the cost.
    async fn switch_to_pull(&self) -> String {
        let (store, clock) = (&self.store, Clock::system());
        let one = accounts(store, "newcomer", 1).await.remove(0);
        follow(store.as_ref(), &clock, &one, &self.account).await.unwrap();
        let rules = Rules { pull_above: Some(LOWEST), ..Rules::default() };
        let start = Instant::now();
        let (_, statements) = counted(store, deliver_pending(store.as_ref(), &clock, &rules)).await;
        let took = start.elapsed().as_secs_f64();
        let audience = store.fanout_states(&[self.account.uid]).await.unwrap().remove(0);
        assert!(matches!(audience, FanoutState { stage: FanoutStage::Pull, .. }), "{audience:?}");
        let uid = CqlValue::BigInt(self.account.uid.0);
        let choices = self.bare.rows_with("SELECT followee FROM ident.fanout_mode", &uid).await;
        let readers = self.bare.rows_with("SELECT followee FROM feed.delivery_state", &uid).await;
        format!(
            "The change from one to the other took {took:.1} s and {statements} statements, for {choices} choices and \
             {readers} rows by which readers know."
        )
    }
}

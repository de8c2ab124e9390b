//! The graph in the engines, and its activities so far.

use super::bare::Bare;
use super::cluster::{Cluster, accounts};
use super::graph::Graph;
use domain::fanout::{Rules, deliver_pending};
use model::{Account, ActivityId, Clock, Edge, Version};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use store::Graph as _;
use store::cql::CqlStore;

/// From this many followers on the store uses 16 shards, which is not done here.
const ONE_SHARD: usize = 12_000;
/// Tables are counted in this many parts, so that each query is quick.
const PARTS: i64 = 64;

/// A service with accounts that follow each other. One process answers requests and another delivers.
pub(crate) struct Simulation {
    pub(crate) graph: Graph,
    pub(crate) accounts: Vec<Account>,
    pub(crate) api: Arc<CqlStore>,
    pub(crate) worker: Arc<CqlStore>,
    pub(crate) clock: Clock,
    /// The actor of each activity, in order of receipt, and whether it was pulled.
    pub(crate) actors: Vec<usize>,
    pub(crate) pulled: Vec<bool>,
    /// The index of each activity.
    pub(crate) steps: HashMap<ActivityId, usize>,
    bare: Bare,
}

impl Simulation {
    pub(crate) async fn made(cluster: &Cluster, graph: Graph) -> Simulation {
        let (api, worker, clock) = (cluster.open().await, cluster.open().await, Clock::system());
        let bare = Bare::connect(cluster).await;
        let start = Instant::now();
        let accounts = accounts(&api, "account", graph.followers.len()).await;
        println!("{} accounts made in {:.0} s", accounts.len(), start.elapsed().as_secs_f64());
        let start = Instant::now();
        let (actors, pulled, steps) = (Vec::new(), Vec::new(), HashMap::new());
        let simulation = Simulation { graph, accounts, api, worker, clock, actors, pulled, steps, bare };
        simulation.follow().await;
        println!("{} edges written in {:.0} s\n", simulation.graph.edges(), start.elapsed().as_secs_f64());
        simulation
    }

    /// Writes the edges. The store creates one between two extra accounts, and its rows are copied for the others,
    /// because each of them would be a task in the log.
    async fn follow(&self) {
        let pair = accounts(&self.api, "pattern", 2).await;
        let (follower, followee) = (pair[0].uid, pair[1].uid);
        let now = self.clock.now();
        let edge = Edge::new(Version(now.0), now, None);
        self.api.put_edge(follower, followee, &edge).await.unwrap();
        deliver_pending(self.worker.as_ref(), &self.clock, &Rules::default()).await.unwrap();
        let made = "SELECT edge FROM feed.following WHERE uid = ? AND followee = ?";
        let (cell,): (Vec<u8>,) = self.bare.first(made, (follower.0, followee.0)).await;
        let followers =
            "INSERT INTO feed.follower (uid, shard, follower, edge) VALUES (?, 0, ?, ?) USING TIMESTAMP ?";
        let following = "INSERT INTO feed.following (uid, followee, edge) VALUES (?, ?, ?) USING TIMESTAMP ?";
        let (followers, following) = (self.bare.prepare(followers).await, self.bare.prepare(following).await);
        let edges = || {
            let all = self.graph.followers.iter().zip(&self.accounts);
            all.flat_map(|(followers, followee)| {
                assert!(followers.len() < ONE_SHARD, "no account has that many followers here");
                followers.iter().map(move |number| (self.accounts[*number].uid.0, followee.uid.0))
            })
        };
        self.bare.write(edges().map(|(one, other)| (&followers, (other, one, &cell, edge.version.0)))).await;
        self.bare.write(edges().map(|(one, other)| (&following, (one, other, &cell, edge.version.0)))).await;
    }

    /// Counts the rows of followed entries, in one of the two orders, and of arrivals.
    pub(crate) async fn rows(&self) -> Rows {
        let entries = self.counted("feed.followed_received", "uid, reason, bucket").await;
        let arrivals = self.counted("feed.arrival", "uid, segment").await;
        Rows { entries, arrivals }
    }

    async fn counted(&self, table: &str, partition: &str) -> i64 {
        let text =
            format!("SELECT COUNT(*) FROM {table} WHERE token({partition}) > ? AND token({partition}) <= ?");
        let bound = |part: i64| {
            let all = i128::from(i64::MAX) - i128::from(i64::MIN);
            (i128::from(i64::MIN) + all * i128::from(part) / i128::from(PARTS)) as i64
        };
        let mut rows = 0;
        for part in 0..PARTS {
            let (from, to) = (bound(part), bound(part + 1));
            let (some,): (i64,) = self.bare.first(&text, (from, to)).await;
            rows += some;
        }
        rows
    }
}

/// Numbers of rows.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) entries: i64,
    pub(crate) arrivals: i64,
}

//! The compared rules, and the transitions between them.

use super::graph::is_read;
use super::simulation::Simulation;
use domain::fanout::dormancy::mark_dormant;
use domain::fanout::{Rules, deliver_pending};
use futures::{StreamExt, TryStreamExt, stream};
use model::{FanoutStage, FanoutState, Millis};
use std::time::{Duration, Instant};
use store::{FanoutModes, Log, Work};

/// Accounts that are processed in one batch, and the concurrency.
const PAGE: usize = 50;
const CONCURRENCY: usize = 16;

/// The lowest threshold for this many accounts.
fn lowest(accounts: usize) -> usize {
    accounts / 100
}

/// A choice of fan-out rules.
#[derive(Clone, Copy)]
pub(crate) struct RuleSet {
    pub(crate) pull_above: Option<usize>,
    pub(crate) idle: bool,
}

impl RuleSet {
    /// In an order that the service supports: the threshold falls until it is removed, and dormant accounts stay
    /// dormant.
    pub(crate) fn all(accounts: usize) -> Vec<RuleSet> {
        let low = lowest(accounts);
        let pull = |pull_above| RuleSet { pull_above, idle: false };
        let idle = |pull_above| RuleSet { pull_above, idle: true };
        vec![
            pull(None),
            pull(Some(4 * low)),
            pull(Some(2 * low)),
            pull(Some(low)),
            idle(Some(low)),
            idle(None),
        ]
    }

    pub(crate) fn name(&self) -> String {
        match (self.pull_above, self.idle) {
            (None, false) => "push to all".to_owned(),
            (None, true) => "dormant accounts are skipped".to_owned(),
            (Some(above), false) => format!("pull above {above}"),
            (Some(above), true) => format!("pull above {above}, dormant accounts are skipped"),
        }
    }

    /// Whether an account is pulled.
    pub(crate) fn pulls(&self, simulation: &Simulation, actor: usize) -> bool {
        self.pull_above.is_some_and(|above| simulation.graph.followers[actor].len() > above)
    }

    /// The number of accounts that an activity is pushed to.
    pub(crate) fn reached(&self, simulation: &Simulation, actor: usize) -> usize {
        let is_active = |number: &&usize| !self.idle || is_read(**number);
        if self.pulls(simulation, actor) {
            0
        } else {
            simulation.graph.followers[actor].iter().filter(is_active).count()
        }
    }
}

/// The cost of a transition.
#[derive(Clone, Copy, Default)]
pub(crate) struct Change {
    /// Edges that were changed.
    pub(crate) edges: usize,
    pub(crate) statements: u64,
    pub(crate) seconds: f64,
}

impl Change {
    /// Both, one after the other.
    pub(crate) fn and(self, next: Change) -> Change {
        Change {
            edges: self.edges + next.edges,
            statements: self.statements + next.statements,
            seconds: self.seconds + next.seconds,
        }
    }

    pub(crate) fn print_summary(&self, label: &str) {
        println!("{} {label}, in {:.0} s with {} statements", self.edges, self.seconds, self.statements);
    }
}

/// Switches accounts to the fan-out modes of the choice.
pub(crate) async fn switch_fanout_modes(simulation: &Simulation, rule_set: &RuleSet) -> Change {
    let (start, before) = (Instant::now(), simulation.worker.counted().0);
    let mut edges = 0;
    for number in simulation.graph.followed_above(lowest(simulation.accounts.len())) {
        let (uid, expected) = (simulation.accounts[number].uid, rule_set.pulls(simulation, number));
        let FanoutState { version, stage } = simulation.api.fanout_states(&[uid]).await.unwrap()[0];
        match stage {
            FanoutStage::Push if expected => {
                simulation.api.append(&Work::PrepareFollowers { uid, after: None }).await.unwrap();
                edges += simulation.graph.followers[number].len();
            }
            FanoutStage::Pull if !expected => {
                let again = FanoutState { version: version.following(), stage: FanoutStage::Reverted };
                simulation.api.put_fanout_state(uid, &again).await.unwrap();
            }
            _ => {}
        }
    }
    settle(simulation).await;
    Change {
        edges,
        statements: simulation.worker.counted().0 - before,
        seconds: start.elapsed().as_secs_f64(),
    }
}

/// Marks accounts dormant that have not been read since then.
pub(crate) async fn mark_idle_dormant(simulation: &Simulation, since: Millis) -> Change {
    let (start, before) = (Instant::now(), simulation.worker.counted().0);
    let now = simulation.clock.now();
    let idle_after = Duration::from_millis((now.0 - since.0).unsigned_abs());
    let pages = simulation.accounts.chunks(PAGE);
    let batches = pages.map(|some| mark_dormant(simulation.worker.as_ref(), some, now, idle_after));
    let batches: Vec<_> = batches.collect();
    stream::iter(batches).buffer_unordered(CONCURRENCY).try_collect::<Vec<()>>().await.unwrap();
    settle(simulation).await;
    let dormant = simulation.graph.followees.iter().enumerate().filter(|(number, _)| !is_read(*number));
    let edges = dormant.map(|(_, followees)| followees.len()).sum();
    Change {
        edges,
        statements: simulation.worker.counted().0 - before,
        seconds: start.elapsed().as_secs_f64(),
    }
}

/// Executes all pending tasks.
pub(crate) async fn settle(simulation: &Simulation) {
    deliver_pending(simulation.worker.as_ref(), &simulation.clock, &Rules::default()).await.unwrap();
}

//! The compared rules, and the transitions between them.

use super::graph::is_read;
use super::world::World;
use futures::{StreamExt, TryStreamExt, stream};
use model::{FanoutStage, FanoutState, Millis};
use std::time::{Duration, Instant};
use store::{FanoutModes, Log, Work};
use tofrom::fanout::dormancy::mark_dormant;
use tofrom::fanout::{Rules, deliver_pending};

/// Accounts that are processed in one batch, and the concurrency.
const PAGE: usize = 50;
const CONCURRENCY: usize = 16;

/// The lowest threshold for this many accounts.
fn lowest(accounts: usize) -> usize {
    accounts / 100
}

/// A choice of fan-out rules.
#[derive(Clone, Copy)]
pub(crate) struct Choice {
    pub(crate) pull_above: Option<usize>,
    pub(crate) idle: bool,
}

impl Choice {
    /// In an order that the service supports: the threshold falls until it is removed, and dormant accounts stay
    /// dormant.
    pub(crate) fn all(accounts: usize) -> Vec<Choice> {
        let low = lowest(accounts);
        let pull = |pull_above| Choice { pull_above, idle: false };
        let idle = |pull_above| Choice { pull_above, idle: true };
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
            (None, true) => "who sleeps is left alone".to_owned(),
            (Some(above), false) => format!("pull above {above}"),
            (Some(above), true) => format!("pull above {above}, and who sleeps is left alone"),
        }
    }

    /// Whether an account is pulled.
    pub(crate) fn pulls(&self, world: &World, actor: usize) -> bool {
        self.pull_above.is_some_and(|above| world.graph.followers[actor].len() > above)
    }

    /// The number of accounts that an activity is pushed to.
    pub(crate) fn reached(&self, world: &World, actor: usize) -> usize {
        let is_awake = |number: &&usize| !self.idle || is_read(**number);
        if self.pulls(world, actor) {
            0
        } else {
            world.graph.followers[actor].iter().filter(is_awake).count()
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

    pub(crate) fn tell(&self, what: &str) {
        println!("{} {what}, in {:.0} s with {} statements", self.edges, self.seconds, self.statements);
    }
}

/// Switches accounts to the fan-out modes of the choice.
pub(crate) async fn change_audiences(world: &World, choice: &Choice) -> Change {
    let (start, before) = (Instant::now(), world.worker.counted().0);
    let mut edges = 0;
    for number in world.graph.followed_above(lowest(world.accounts.len())) {
        let (uid, wanted) = (world.accounts[number].uid, choice.pulls(world, number));
        let FanoutState { version, stage } = world.api.fanout_states(&[uid]).await.unwrap()[0];
        match stage {
            FanoutStage::Push if wanted => {
                world.api.append(&Work::PrepareFollowers { uid, after: None }).await.unwrap();
                edges += world.graph.followers[number].len();
            }
            FanoutStage::Pull if !wanted => {
                let again = FanoutState { version: version.following(), stage: FanoutStage::Reverted };
                world.api.put_fanout_state(uid, &again).await.unwrap();
            }
            _ => {}
        }
    }
    settle(world).await;
    Change { edges, statements: world.worker.counted().0 - before, seconds: start.elapsed().as_secs_f64() }
}

/// Marks accounts dormant that have not been read since then.
pub(crate) async fn put_to_sleep(world: &World, since: Millis) -> Change {
    let (start, before) = (Instant::now(), world.worker.counted().0);
    let now = world.clock.now();
    let idle_after = Duration::from_millis((now.0 - since.0).unsigned_abs());
    let pages = world.accounts.chunks(PAGE);
    let looks = pages.map(|some| mark_dormant(world.worker.as_ref(), some, now, idle_after));
    let looks: Vec<_> = looks.collect();
    stream::iter(looks).buffer_unordered(CONCURRENCY).try_collect::<Vec<()>>().await.unwrap();
    settle(world).await;
    let asleep = world.graph.followees.iter().enumerate().filter(|(number, _)| !is_read(*number));
    let edges = asleep.map(|(_, followees)| followees.len()).sum();
    Change { edges, statements: world.worker.counted().0 - before, seconds: start.elapsed().as_secs_f64() }
}

/// Executes all pending tasks.
pub(crate) async fn settle(world: &World) {
    deliver_pending(world.worker.as_ref(), &world.clock, &Rules::default()).await.unwrap();
}

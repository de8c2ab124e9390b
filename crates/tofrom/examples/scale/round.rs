//! Accounts act, one after the other at a steady pace, while a worker delivers.

use super::cluster::draft;
use super::rules::RuleSet;
use super::simulation::Simulation;
use domain::fanout::{self, Rules};
use domain::ingest::{Ingest, Outcome};
use domain::live::Hub;
use futures::future::join_all;
use model::{Filter, Millis, Order, Position};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::cql::CqlStore;
use store::{Feeds, Log, Slice};
use tokio::sync::watch;

/// Poll interval for the floor.
const POLL_INTERVAL: Duration = Duration::from_millis(40);

/// The result of a round.
pub(crate) struct Round {
    /// Statements of the worker.
    pub(crate) statements: u64,
    /// How long some accepted activity was undelivered.
    pub(crate) delivering: f64,
    /// Seconds from acceptance until the floor passed the activity, shortest first.
    pub(crate) lags: Vec<f64>,
}

/// Each actor acts once, at this many per second.
pub(crate) async fn run(
    simulation: &mut Simulation,
    rule_set: &RuleSet,
    actors: &[usize],
    pace: f64,
) -> Round {
    let before = simulation.worker.counted().0;
    let (stop, stopped) = watch::channel(false);
    let end = |mut stopped: watch::Receiver<bool>| async move { drop(stopped.wait_for(|stop| *stop).await) };
    let (store, clock, hub) = (simulation.worker.clone(), simulation.clock.clone(), Arc::new(Hub::default()));
    let worker = tokio::spawn(fanout::run(store, clock, hub, Rules::default(), end(stopped.clone())));
    let start = Instant::now();
    let watcher = tokio::spawn(floors(simulation.api.clone(), start, stopped));
    let accepted = act(simulation, rule_set, actors, pace, start).await;
    let positions = positions(simulation, actors).await;
    let last = positions.iter().copied().max().unwrap();
    while simulation.api.floor().await.unwrap() < last || simulation.api.backlog(1).await.unwrap().tasks > 0 {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    // Until the watcher has seen it too.
    tokio::time::sleep(5 * POLL_INTERVAL).await;
    stop.send(true).unwrap();
    worker.await.unwrap();
    let floors = watcher.await.unwrap();
    let passed = |position| floors[floors.partition_point(|(_, floor)| *floor < position)].0;
    let spans = accepted.into_iter().zip(positions).map(|(at, position)| (at, passed(position).max(at)));
    let spans: Vec<(f64, f64)> = spans.collect();
    let mut lags: Vec<f64> = spans.iter().map(|(from, to)| to - from).collect();
    lags.sort_by(f64::total_cmp);
    Round { statements: simulation.worker.counted().0 - before, delivering: covered(spans), lags }
}

/// Returns the acknowledgement time of each, in seconds.
async fn act(
    simulation: &mut Simulation,
    rule_set: &RuleSet,
    actors: &[usize],
    pace: f64,
    start: Instant,
) -> Vec<f64> {
    let ingest = Ingest::new(simulation.api.clone(), simulation.clock.clone());
    let (now, accounts) = (simulation.clock.now(), &simulation.accounts);
    let acts = actors.iter().enumerate().map(|(turn, actor)| {
        let (ingest, after) = (&ingest, turn as f64 / pace);
        async move {
            let received = Millis(now.0 + (after * 1e3) as i64);
            tokio::time::sleep_until((start + Duration::from_secs_f64(after)).into()).await;
            let outcome = ingest.accept(&accounts[*actor], vec![draft(turn, received, &[])]).await.unwrap();
            let [Outcome::Created(id)] = outcome.as_slice() else { panic!("the activity exists already") };
            (*id, start.elapsed().as_secs_f64())
        }
    });
    let accepted = join_all(acts).await;
    for ((id, _), actor) in accepted.iter().zip(actors) {
        simulation.steps.insert(*id, simulation.actors.len());
        simulation.actors.push(*actor);
        simulation.pulled.push(rule_set.pulls(simulation, *actor));
    }
    accepted.into_iter().map(|(_, at)| at).collect()
}

/// The positions of the floor with their times, in seconds, until it is stopped.
async fn floors(
    store: Arc<CqlStore>,
    start: Instant,
    stopped: watch::Receiver<bool>,
) -> Vec<(f64, Position)> {
    let mut floors = Vec::new();
    while !*stopped.borrow() {
        let floor = store.floor().await.unwrap();
        floors.push((start.elapsed().as_secs_f64(), floor));
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    floors
}

/// The log position of the last activity of each actor.
async fn positions(simulation: &Simulation, actors: &[usize]) -> Vec<Position> {
    let filter = Filter::default();
    let slices: Vec<Slice<'_>> = actors
        .iter()
        .map(|actor| Slice::own(simulation.accounts[*actor].uid, Order::Received, &filter, None, 1))
        .collect();
    let found = simulation.api.slices(&slices).await.unwrap();
    found.into_iter().map(|own| own[0].arrived.unwrap()).collect()
}

/// How much of the time is covered by at least one of these spans.
fn covered(mut spans: Vec<(f64, f64)>) -> f64 {
    spans.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut until = 0.0_f64;
    spans.into_iter().fold(0.0, |sum, (from, to)| {
        let new = (to - from.max(until)).max(0.0);
        until = until.max(to);
        sum + new
    })
}

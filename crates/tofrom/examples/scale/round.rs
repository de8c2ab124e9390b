//! Accounts act, one after the other at a steady pace, while a worker delivers.

use super::cluster::draft;
use super::rules::Choice;
use super::world::World;
use futures::future::join_all;
use model::{Filter, Millis, Order, Position};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::cql::CqlStore;
use store::{Feeds, Log, Slice};
use tofrom::fanout::{self, Rules};
use tofrom::ingest::{Ingest, Outcome};
use tofrom::live::Hub;
use tokio::sync::watch;

/// Poll interval for the floor.
const LOOK: Duration = Duration::from_millis(40);

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
pub(crate) async fn run(world: &mut World, choice: &Choice, actors: &[usize], pace: f64) -> Round {
    let before = world.worker.counted().0;
    let (stop, stopped) = watch::channel(false);
    let end = |mut stopped: watch::Receiver<bool>| async move { drop(stopped.wait_for(|stop| *stop).await) };
    let (store, clock, hub) = (world.worker.clone(), world.clock.clone(), Arc::new(Hub::default()));
    let worker = tokio::spawn(fanout::run(store, clock, hub, Rules::default(), end(stopped.clone())));
    let start = Instant::now();
    let watcher = tokio::spawn(floors(world.api.clone(), start, stopped));
    let accepted = act(world, choice, actors, pace, start).await;
    let places = places(world, actors).await;
    let last = places.iter().copied().max().unwrap();
    while world.api.floor().await.unwrap() < last || world.api.backlog(1).await.unwrap().tasks > 0 {
        tokio::time::sleep(LOOK).await;
    }
    // Until the watcher has seen it too.
    tokio::time::sleep(5 * LOOK).await;
    stop.send(true).unwrap();
    worker.await.unwrap();
    let floors = watcher.await.unwrap();
    let passed = |place| floors[floors.partition_point(|(_, floor)| *floor < place)].0;
    let spans = accepted.into_iter().zip(places).map(|(at, place)| (at, passed(place).max(at)));
    let spans: Vec<(f64, f64)> = spans.collect();
    let mut lags: Vec<f64> = spans.iter().map(|(from, to)| to - from).collect();
    lags.sort_by(f64::total_cmp);
    Round { statements: world.worker.counted().0 - before, delivering: covered(spans), lags }
}

/// Returns the acknowledgement time of each, in seconds.
async fn act(world: &mut World, choice: &Choice, actors: &[usize], pace: f64, start: Instant) -> Vec<f64> {
    let ingest = Ingest::new(world.api.clone(), world.clock.clone());
    let (now, accounts) = (world.clock.now(), &world.accounts);
    let acts = actors.iter().enumerate().map(|(turn, actor)| {
        let (ingest, after) = (&ingest, turn as f64 / pace);
        async move {
            let received = Millis(now.0 + (after * 1e3) as i64);
            tokio::time::sleep_until((start + Duration::from_secs_f64(after)).into()).await;
            let outcome = ingest.accept(&accounts[*actor], vec![draft(turn, received, &[])]).await.unwrap();
            let [Outcome::Created(id)] = outcome.as_slice() else { panic!("it is there already") };
            (*id, start.elapsed().as_secs_f64())
        }
    });
    let accepted = join_all(acts).await;
    for ((id, _), actor) in accepted.iter().zip(actors) {
        world.steps.insert(*id, world.actors.len());
        world.actors.push(*actor);
        world.pulled.push(choice.pulls(world, *actor));
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
        tokio::time::sleep(LOOK).await;
    }
    floors
}

/// The log position of the last activity of each actor.
async fn places(world: &World, actors: &[usize]) -> Vec<Position> {
    let filter = Filter::default();
    let slices: Vec<Slice<'_>> = actors
        .iter()
        .map(|actor| Slice::own(world.accounts[*actor].uid, Order::Received, &filter, None, 1))
        .collect();
    let found = world.api.slices(&slices).await.unwrap();
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

//! Admission control: refuses requests while the server is overloaded, so that the others stay quick.
//!
//! Two queues are measured, and both in requests, not in time. A slow or busy host makes a queue slow, but only clients
//! can make it long.
//!
//! - The **run queue** of the runtime. A task gives up its turn and counts how many requests begin until it has its turn
//!   again. This queue contains all work on the CPU: TLS, HTTP and the reads of one machine, which do not wait for
//!   anything. While it is too long, [`regulator`] sets a rate for each address, and requests above it are refused before
//!   anything else is done for them. An address below that rate is not affected ([`senders`]).
//! - The requests **in flight** of a route ([`concurrency`]), which wait for the store. They are counted after
//!   authentication and not while they wait for their body, so that neither guessed passwords, which wait to be hashed,
//!   nor slow bodies count. A live stream counts until it begins.
//!
//! Both refuse only after the queue has been too long for a while, so a burst is served. `limits.queued_requests` is the
//! length that is allowed; fewer parallel requests are never refused.

mod concurrency;
mod regulator;
mod senders;

use crate::telemetry;
use concurrency::{Begun, Concurrency};
use regulator::{QueueSample, Regulator};
use senders::Senders;
use std::collections::HashMap;
use std::future::poll_fn;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

/// The pause between two samples of the run queue, and the one while there are no requests.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(5);
const IDLE_SAMPLE_INTERVAL: Duration = Duration::from_millis(50);
/// How long a queue must be too long before a request is refused.
const TOLERANCE: Duration = Duration::from_millis(100);
/// How long no request must have been refused until a queue may be too long for a while again.
const RECOVERY: Duration = Duration::from_secs(1);
/// How long no request must have been refused until the log says that the overload is over.
const LOG_RECOVERY: Duration = Duration::from_secs(10);

/// Requests of one kind, which take about as long as each other: the route, and whether they only read.
pub(crate) type Work = (&'static str, bool);

/// Decides which requests are refused. Clones share the state.
#[derive(Clone)]
pub(crate) struct Admission(Option<Arc<State>>);

struct State {
    started: Instant,
    /// The allowed length of a queue.
    limit: u32,
    arrived: AtomicU64,
    refused: AtomicU64,
    senders: Senders,
    /// The routes that have been requested: as many as the router has.
    routes: Mutex<HashMap<Work, Arc<Mutex<Concurrency>>>>,
}

impl Admission {
    /// Admission with this allowed length of a queue. `None`: nothing is refused.
    pub(crate) fn new(limit: Option<u32>) -> Admission {
        Admission(limit.map(|limit| {
            Arc::new(State {
                started: Instant::now(),
                limit,
                arrived: AtomicU64::new(0),
                refused: AtomicU64::new(0),
                senders: Senders::default(),
                routes: Mutex::default(),
            })
        }))
    }

    /// Whether a request from this address may begin.
    pub(crate) fn admits(&self, from: IpAddr) -> bool {
        let Some(state) = &self.0 else { return true };
        state.arrived.fetch_add(1, Ordering::Relaxed);
        let admitted = state.senders.admits(from);
        if !admitted {
            state.refused("run-queue");
        }
        admitted
    }

    /// The work of an authenticated request begins. `None`: too many of its kind are in flight.
    pub(crate) fn begin(&self, work: Work) -> Option<InFlight> {
        let Some(state) = &self.0 else { return Some(InFlight(None)) };
        let route = Arc::clone(
            locked(&state.routes)
                .entry(work)
                .or_insert_with(|| Arc::new(Mutex::new(Concurrency::new(state.limit)))),
        );
        let begun = locked(&route).begin(state.started.elapsed());
        let Some(begun) = begun else {
            state.refused("in-flight");
            return None;
        };
        Some(InFlight(Some(Counted { state: Arc::clone(state), route, begun: Some(begun) })))
    }

    /// Samples the run queue as long as the server runs.
    pub(crate) async fn watch(self) {
        let Some(state) = self.0 else { return std::future::pending().await };
        let (mut regulator, mut log) = (Regulator::new(state.limit), Log::default());
        let (mut arrived, mut rotated) = (0, Duration::ZERO);
        loop {
            let idle = state.arrived.load(Ordering::Relaxed) == arrived;
            tokio::time::sleep(if idle { IDLE_SAMPLE_INTERVAL } else { SAMPLE_INTERVAL }).await;
            let (before, began) = (state.arrived.load(Ordering::Relaxed), state.started.elapsed());
            next_turn().await;
            arrived = state.arrived.load(Ordering::Relaxed);
            let now = state.started.elapsed();
            if now.saturating_sub(rotated) >= senders::WINDOW {
                state.senders.rotate(now.saturating_sub(rotated));
                rotated = now;
            }
            let queued = arrived.saturating_sub(before);
            let sample = QueueSample { began, ended: now, queued };
            let rate = regulator.sample(sample, state.senders.highest_rate());
            state.senders.limit(rate);
            telemetry::queue(queued, rate);
            log.update(now, queued, state.refused.load(Ordering::Relaxed));
        }
    }
}

impl State {
    fn refused(&self, reason: &'static str) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        telemetry::refused(reason);
    }
}

/// Completes when all tasks that can run now have had their turn. Unlike `yield_now`, the task stays where an idle
/// thread takes it from one that is busy.
async fn next_turn() {
    let mut waited = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Every change leaves a consistent state, so a poisoned lock is safe to use.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request in flight. Dropping it means that its client has left.
pub(crate) struct InFlight(Option<Counted>);

struct Counted {
    state: Arc<State>,
    route: Arc<Mutex<Concurrency>>,
    begun: Option<Begun>,
}

impl InFlight {
    /// The request waits for its body: it does not count.
    pub(crate) fn pause(&mut self) {
        if let Some(counted) = &mut self.0
            && counted.begun.take().is_some()
        {
            locked(&counted.route).leave();
        }
    }

    /// The body is complete.
    pub(crate) fn resume(&mut self) {
        if let Some(counted) = &mut self.0
            && counted.begun.is_none()
        {
            counted.begun = Some(locked(&counted.route).resume(counted.state.started.elapsed()));
        }
    }

    /// The response begins.
    pub(crate) fn end(mut self) {
        if let Some(counted) = &mut self.0
            && let Some(begun) = counted.begun.take()
        {
            locked(&counted.route).end(begun, counted.state.started.elapsed());
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.pause();
    }
}

/// Logs the begin and the end of an overload, instead of every refused request.
#[derive(Default)]
struct Log {
    /// The refused requests at the last update and at the begin of the overload, if there is one.
    refused: u64,
    before: Option<u64>,
    last: Duration,
}

impl Log {
    fn update(&mut self, now: Duration, queued: u64, refused: u64) {
        if refused > self.refused {
            if self.before.is_none() {
                tracing::warn!(queued, "overloaded, refusing requests");
                self.before = Some(self.refused);
            }
            (self.refused, self.last) = (refused, now);
        } else if now.saturating_sub(self.last) >= LOG_RECOVERY
            && let Some(before) = self.before.take()
        {
            tracing::info!(refused = refused - before, "overload ended");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORK: Work = ("/", true);

    #[test]
    fn a_request_that_waits_for_its_body_does_not_count() {
        let admission = Admission::new(Some(1));
        let state = Arc::clone(admission.0.as_ref().unwrap());
        let in_flight = || locked(&Arc::clone(&locked(&state.routes)[&WORK])).in_flight();
        let mut waiting = admission.begin(WORK).unwrap();
        assert_eq!(in_flight(), 1);
        waiting.pause();
        waiting.pause();
        assert_eq!(in_flight(), 0);
        waiting.resume();
        waiting.resume();
        assert_eq!(in_flight(), 1);
        waiting.end();
        assert_eq!(in_flight(), 0);
        drop(admission.begin(WORK));
        assert_eq!(in_flight(), 0, "a client that left");
    }

    #[test]
    fn without_a_limit_nothing_is_refused_or_counted() {
        let admission = Admission::new(None);
        let held: Vec<_> = (0..10_000).map(|_| admission.begin(WORK)).collect();
        assert!(held.iter().all(Option::is_some));
        assert!((0..10_000).all(|_| admission.admits(IpAddr::from([192, 0, 2, 1]))));
    }

    #[tokio::test]
    async fn the_next_turn_comes_after_all_tasks_that_can_run() {
        let ran = Arc::new(AtomicU64::new(0));
        for _ in 0..50 {
            let ran = Arc::clone(&ran);
            tokio::spawn(async move { ran.fetch_add(1, Ordering::Relaxed) });
        }
        next_turn().await;
        assert_eq!(ran.load(Ordering::Relaxed), 50);
    }
}

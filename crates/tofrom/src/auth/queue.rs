//! A queue that networks share fairly. Work of one network waits behind work of the same network, and the
//! networks with waiting work take turns. So a network with nothing waiting is served within one round, however much
//! the others send.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// The queue is full for this network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

/// How much fits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// How much runs at once.
    pub(super) running: usize,
    /// How much of one network waits.
    pub(super) per_network: usize,
    /// How many networks wait.
    pub(super) networks: usize,
}

/// A queue of work of networks.
pub(super) struct FairQueue {
    limits: Limits,
    state: Mutex<State>,
}

struct State {
    running: usize,
    last: u64,
    /// The networks with waiting work, in the order of their turns.
    round: VecDeque<IpAddr>,
    /// Never empty for a network in the round; no others are here.
    waiting: HashMap<IpAddr, VecDeque<Waiting>>,
}

struct Waiting {
    number: u64,
    wakes: oneshot::Sender<Turn>,
}

/// The right to run. Dropping it lets the next one run.
pub(super) struct Turn(Arc<FairQueue>);

impl Drop for Turn {
    fn drop(&mut self) {
        FairQueue::pass_on(&self.0);
    }
}

/// A place in the queue. Dropping it gives the place back.
struct Place {
    queue: Arc<FairQueue>,
    network: IpAddr,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.queue.locked(|state| state.leave(self.network, self.number));
    }
}

impl FairQueue {
    pub(super) fn new(limits: Limits) -> Arc<FairQueue> {
        let state = State { running: 0, last: 0, round: VecDeque::new(), waiting: HashMap::new() };
        Arc::new(FairQueue { limits, state: Mutex::new(state) })
    }

    /// Waits for a turn. A dropped future leaves the queue.
    pub(super) async fn turn(self: &Arc<Self>, network: IpAddr) -> Result<Turn, Full> {
        let (place, woken) = match self.enter(network)? {
            Entered::Runs => return Ok(Turn(Arc::clone(self))),
            Entered::Waits(place, woken) => (place, woken),
        };
        let turn = woken.await.map_err(|_| Full);
        drop(place);
        turn
    }

    fn enter(self: &Arc<Self>, network: IpAddr) -> Result<Entered, Full> {
        let Limits { running, per_network, networks } = self.limits;
        self.locked(|state| {
            // While anybody waits, all turns are taken: they are passed on, never put down.
            if state.running < running {
                state.running += 1;
                return Ok(Entered::Runs);
            }
            let others = state.waiting.len();
            let queue = match state.waiting.entry(network) {
                Entry::Occupied(queue) if queue.get().len() >= per_network => return Err(Full),
                Entry::Occupied(queue) => queue.into_mut(),
                Entry::Vacant(_) if others >= networks => return Err(Full),
                Entry::Vacant(none) => {
                    state.round.push_back(network);
                    none.insert(VecDeque::new())
                }
            };
            state.last += 1;
            let ((wakes, woken), number) = (oneshot::channel(), state.last);
            queue.push_back(Waiting { number, wakes });
            Ok(Entered::Waits(Place { queue: Arc::clone(self), network, number }, woken))
        })
    }

    /// Gives a turn that is over to the next in the queue.
    fn pass_on(queue: &Arc<Self>) {
        if let Some(next) = queue.locked(State::next) {
            // If it stopped waiting just now, the turn comes back and is dropped: it is passed on again.
            drop(next.wakes.send(Turn(Arc::clone(queue))));
        }
    }

    fn locked<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

enum Entered {
    Runs,
    Waits(Place, oneshot::Receiver<Turn>),
}

impl State {
    /// Takes out the next one; without one there is a turn less.
    fn next(&mut self) -> Option<Waiting> {
        let next = self.round.pop_front().and_then(|network| {
            let queue = self.waiting.get_mut(&network)?;
            let next = queue.pop_front();
            if queue.is_empty() {
                self.waiting.remove(&network);
            } else {
                self.round.push_back(network);
            }
            next
        });
        self.running -= usize::from(next.is_none());
        next
    }

    fn leave(&mut self, network: IpAddr, number: u64) {
        let Some(queue) = self.waiting.get_mut(&network) else { return };
        queue.retain(|waiting| waiting.number != number);
        if queue.is_empty() {
            self.waiting.remove(&network);
            self.round.retain(|other| *other != network);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use proptest::prelude::*;
    use std::pin::Pin;

    const LIMITS: Limits = Limits { running: 2, per_network: 8, networks: 16 };

    type Asking = Pin<Box<dyn Future<Output = Result<Turn, Full>> + Send>>;

    /// Somebody who has asked for a turn.
    fn ask(queue: &Arc<FairQueue>, network: u8) -> Asking {
        let queue = Arc::clone(queue);
        let mut asking =
            Box::pin(async move { queue.turn(IpAddr::from([192, 0, network, 0])).await }) as Asking;
        match asking.as_mut().now_or_never() {
            Some(at_once) => Box::pin(std::future::ready(at_once)),
            None => asking,
        }
    }

    /// Everybody whose turn it is by now, with what they hold; the others go on waiting.
    fn served(waiting: &mut Vec<(u8, Asking)>) -> Vec<(u8, Turn)> {
        let mut turns = Vec::new();
        waiting.retain_mut(|(network, asking)| match asking.as_mut().now_or_never() {
            Some(turn) => {
                turns.extend(turn.ok().map(|turn| (*network, turn)));
                false
            }
            None => true,
        });
        turns
    }

    fn is_empty(queue: &FairQueue) -> bool {
        queue.locked(|state| (state.running, state.waiting.len(), state.round.len()) == (0, 0, 0))
    }

    proptest! {
        /// Networks with any loads wait, some of them leave, then somebody comes from a network with nothing waiting.
        /// Between their coming and their turn every other network is served at most once more than those that hold a
        /// turn by then.
        #[test]
        fn a_newcomer_is_served_within_one_round(
            loads in prop::collection::vec(1_usize..8, 0..15),
            leaving in prop::collection::vec(any::<bool>(), 200),
        ) {
            let queue = FairQueue::new(LIMITS);
            let mut waiting = Vec::new();
            for (network, load) in (1_u8..).zip(&loads) {
                waiting.extend((0..*load).map(|_| (network, ask(&queue, network))));
            }
            let mut held = served(&mut waiting);
            let mut leaving = leaving.into_iter();
            waiting.retain(|_| !leaving.next().unwrap_or_default());
            waiting.push((0, ask(&queue, 0)));
            let mut between: HashMap<u8, usize> = HashMap::new();
            loop {
                held.extend(served(&mut waiting));
                prop_assert!(held.len() <= LIMITS.running);
                if held.iter().any(|(network, _)| *network == 0) {
                    break;
                }
                let (_, turn) = held.remove(0);
                drop(turn);
                let next = served(&mut waiting);
                prop_assert_eq!(next.len(), 1, "a turn that is over is somebody's at once");
                next.iter().for_each(|(network, _)| *between.entry(*network).or_default() += 1);
                held.extend(next);
            }
            prop_assert!(between.values().all(|times| *times <= 1), "{:?}", between);
            drop((held, waiting));
            prop_assert!(is_empty(&queue));
        }
    }

    #[test]
    fn what_is_full_for_one_network_is_not_for_another() {
        let queue = FairQueue::new(LIMITS);
        let mut waiting: Vec<(u8, Asking)> = (0..10).map(|_| (1, ask(&queue, 1))).collect();
        assert!(matches!(ask(&queue, 1).now_or_never(), Some(Err(Full))));
        waiting.extend((2..=16).map(|network| (network, ask(&queue, network))));
        assert!(matches!(ask(&queue, 17).now_or_never(), Some(Err(Full))), "networks have an end too");
        assert!(ask(&queue, 16).now_or_never().is_none(), "one that waits already goes on");
        // Somebody who leaves makes room at once.
        waiting.retain(|(network, _)| *network != 5);
        assert!(ask(&queue, 17).now_or_never().is_none());
        assert_eq!(served(&mut waiting).len(), LIMITS.running);
        drop(waiting);
        assert!(is_empty(&queue));
    }

    #[test]
    fn a_turn_of_somebody_who_left_is_not_lost() {
        let queue = FairQueue::new(LIMITS);
        let mut running = vec![(0, ask(&queue, 0)), (0, ask(&queue, 0))];
        let held = served(&mut running);
        let (gone, mut next) = (ask(&queue, 1), vec![(2, ask(&queue, 2))]);
        drop(held);
        // Its turn came, and it is not there to take it.
        drop(gone);
        assert_eq!(served(&mut next).len(), 1);
        assert!(is_empty(&queue));
    }
}

//! A queue that is fair between networks. Work of one network waits behind work of the same network, and the networks
//! with waiting work take turns. So a network with nothing waiting is served within one round, however much other
//! networks send.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// The queue is full for this network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

/// Capacity of the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Maximum number of concurrent turns.
    pub(super) running: usize,
    /// Maximum number of waiters per network.
    pub(super) per_network: usize,
    /// Maximum number of networks with waiters.
    pub(super) networks: usize,
}

/// A fair queue.
pub(super) struct FairQueue {
    limits: Limits,
    state: Mutex<State>,
}

struct State {
    running: usize,
    last: u64,
    /// The networks with waiting work, in the order of their turns.
    round: VecDeque<IpAddr>,
    /// The waiters of each network in `round`; never an empty queue.
    waiting: HashMap<IpAddr, VecDeque<Waiter>>,
}

struct Waiter {
    number: u64,
    sender: oneshot::Sender<Turn>,
}

/// The right to run. Dropping it passes the turn to the next waiter.
pub(super) struct Turn(Arc<FairQueue>);

impl Drop for Turn {
    fn drop(&mut self) {
        FairQueue::pass_on(&self.0);
    }
}

/// A slot in the queue. Dropping it leaves the queue.
struct QueueSlot {
    queue: Arc<FairQueue>,
    network: IpAddr,
    number: u64,
}

impl Drop for QueueSlot {
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
        let (slot, receiver) = match self.enter(network)? {
            Entered::Runs => return Ok(Turn(Arc::clone(self))),
            Entered::Waits(slot, receiver) => (slot, receiver),
        };
        let turn = receiver.await.map_err(|_| Full);
        drop(slot);
        turn
    }

    fn enter(self: &Arc<Self>, network: IpAddr) -> Result<Entered, Full> {
        let Limits { running, per_network, networks } = self.limits;
        self.locked(|state| {
            // While a request waits, all turns are taken: a turn is passed on, never released.
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
            let ((sender, receiver), number) = (oneshot::channel(), state.last);
            queue.push_back(Waiter { number, sender });
            Ok(Entered::Waits(QueueSlot { queue: Arc::clone(self), network, number }, receiver))
        })
    }

    /// Passes a finished turn to the next waiter.
    fn pass_on(queue: &Arc<Self>) {
        if let Some(next) = queue.locked(State::next) {
            // If the waiter has just left, the turn is dropped, which passes it on again.
            drop(next.sender.send(Turn(Arc::clone(queue))));
        }
    }

    fn locked<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

enum Entered {
    Runs,
    Waits(QueueSlot, oneshot::Receiver<Turn>),
}

impl State {
    /// Removes the next waiter from the queue. Without one, releases the turn.
    fn next(&mut self) -> Option<Waiter> {
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

    type PendingTurn = Pin<Box<dyn Future<Output = Result<Turn, Full>> + Send>>;

    /// A request for a turn, already in the queue.
    fn request(queue: &Arc<FairQueue>, network: u8) -> PendingTurn {
        let queue = Arc::clone(queue);
        let mut pending =
            Box::pin(async move { queue.turn(IpAddr::from([192, 0, network, 0])).await }) as PendingTurn;
        match pending.as_mut().now_or_never() {
            Some(result) => Box::pin(std::future::ready(result)),
            None => pending,
        }
    }

    /// Removes the requests that have their turn by now, and returns their turns.
    fn served(waiting: &mut Vec<(u8, PendingTurn)>) -> Vec<(u8, Turn)> {
        let mut turns = Vec::new();
        waiting.retain_mut(|(network, pending)| match pending.as_mut().now_or_never() {
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
        /// Networks with arbitrary loads wait, some requests leave, then a request of a network with nothing waiting
        /// arrives. Until its turn every other network is served at most once.
        #[test]
        fn a_newcomer_is_served_within_one_round(
            loads in prop::collection::vec(1_usize..8, 0..15),
            leaving in prop::collection::vec(any::<bool>(), 200),
        ) {
            let queue = FairQueue::new(LIMITS);
            let mut waiting = Vec::new();
            for (network, load) in (1_u8..).zip(&loads) {
                waiting.extend((0..*load).map(|_| (network, request(&queue, network))));
            }
            let mut held = served(&mut waiting);
            let mut leaving = leaving.into_iter();
            waiting.retain(|_| !leaving.next().unwrap_or_default());
            waiting.push((0, request(&queue, 0)));
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
                prop_assert_eq!(next.len(), 1, "a finished turn is passed on immediately");
                next.iter().for_each(|(network, _)| *between.entry(*network).or_default() += 1);
                held.extend(next);
            }
            prop_assert!(between.values().all(|times| *times <= 1), "{:?}", between);
            drop((held, waiting));
            prop_assert!(is_empty(&queue));
        }
    }

    #[test]
    fn the_limit_of_one_network_does_not_affect_another() {
        let queue = FairQueue::new(LIMITS);
        let mut waiting: Vec<(u8, PendingTurn)> = (0..10).map(|_| (1, request(&queue, 1))).collect();
        assert!(matches!(request(&queue, 1).now_or_never(), Some(Err(Full))));
        waiting.extend((2..=16).map(|network| (network, request(&queue, network))));
        assert!(
            matches!(request(&queue, 17).now_or_never(), Some(Err(Full))),
            "the number of networks is limited"
        );
        assert!(request(&queue, 16).now_or_never().is_none(), "a network that already waits is not affected");
        // A request that leaves frees its slot immediately.
        waiting.retain(|(network, _)| *network != 5);
        assert!(request(&queue, 17).now_or_never().is_none());
        assert_eq!(served(&mut waiting).len(), LIMITS.running);
        drop(waiting);
        assert!(is_empty(&queue));
    }

    #[test]
    fn the_turn_of_a_request_that_left_is_not_lost() {
        let queue = FairQueue::new(LIMITS);
        let mut running = vec![(0, request(&queue, 0)), (0, request(&queue, 0))];
        let held = served(&mut running);
        let (left, mut next) = (request(&queue, 1), vec![(2, request(&queue, 2))]);
        drop(held);
        // It has its turn but leaves without taking it.
        drop(left);
        assert_eq!(served(&mut next).len(), 1);
        assert!(is_empty(&queue));
    }
}

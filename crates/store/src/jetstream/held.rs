//! Messages that this process has taken, until they are acknowledged.

use async_nats::jetstream::Message;
use model::Position;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The maximum time that a message is held. After that it goes to other processes.
const MAX_HOLD: Duration = Duration::from_secs(600);

/// A task that was taken: its position, and its payload if its message verifies.
pub(crate) type TakenTask = (Position, Option<Vec<u8>>);

/// A task that is done.
#[derive(Clone, Copy)]
pub(crate) struct DoneTask {
    pub(crate) at: Position,
    /// Whether nothing of its intent is left to do.
    pub(crate) ends_intent: bool,
}

/// A message whose tasks are all done.
pub(crate) struct DoneMessage {
    /// The position of its first task.
    pub(crate) first: Position,
    pub(super) message: Message,
    /// The payloads of the tasks that end their intents.
    pub(crate) ended: Vec<Vec<u8>>,
}

/// The held messages, by the position of their first task.
#[derive(Default)]
pub(super) struct HeldMessages(Mutex<BTreeMap<Position, Held>>);

struct Held {
    message: Message,
    /// At consecutive positions.
    tasks: Vec<HeldTask>,
    since: Instant,
}

struct HeldTask {
    payload: Option<Vec<u8>>,
    /// Whether it is done, and ends its intent.
    done: Option<bool>,
}

impl Held {
    fn waiting(&self, first: Position) -> impl Iterator<Item = (Position, &HeldTask)> {
        let positions = (first.0..).map(Position);
        positions.zip(&self.tasks).filter(|(_, task)| task.done.is_none())
    }
}

impl HeldMessages {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Position, Held>> {
        // No operation under the lock can leave it inconsistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds a message. One that is held already keeps what is done of it.
    pub(super) fn insert(&self, first: Position, message: Message, payloads: Vec<Option<Vec<u8>>>) {
        let mut held = self.lock();
        let earlier = held.remove(&first).map(|held| held.tasks);
        let tasks = earlier.unwrap_or_else(|| {
            payloads.into_iter().map(|payload| HeldTask { payload, done: None }).collect()
        });
        held.insert(first, Held { message, tasks, since: Instant::now() });
    }

    /// The number of tasks that are not done.
    pub(super) fn waiting(&self) -> usize {
        self.lock().iter().map(|(first, held)| held.waiting(*first).count()).sum()
    }

    /// The first tasks that are not done.
    pub(super) fn first_waiting(&self, limit: usize) -> Vec<TakenTask> {
        let held = self.lock();
        let waiting = held.iter().flat_map(|(first, held)| held.waiting(*first));
        waiting.take(limit).map(|(at, task)| (at, task.payload.clone())).collect()
    }

    /// The payload of the task at this position.
    pub(super) fn payload(&self, at: Position) -> Option<Vec<u8>> {
        let held = self.lock();
        let (first, held) = held.range(..=at).next_back()?;
        held.tasks.get(offset(*first, at))?.payload.clone()
    }

    /// Marks tasks as done. Returns the messages of which no task is left.
    pub(super) fn finish(&self, done: &[DoneTask]) -> Vec<DoneMessage> {
        let mut held = self.lock();
        let mut finished = BTreeMap::new();
        for DoneTask { at, ends_intent } in done {
            let Some((first, held)) = held.range_mut(..=at).next_back() else { continue };
            let Some(task) = held.tasks.get_mut(offset(*first, *at)) else { continue };
            task.done = Some(*ends_intent);
            if held.tasks.iter().all(|task| task.done.is_some()) {
                let ended = held.tasks.iter().filter(|task| task.done == Some(true));
                let ended = ended.filter_map(|task| task.payload.clone()).collect();
                let message = held.message.clone();
                finished.insert(*first, DoneMessage { first: *first, message, ended });
            }
        }
        finished.into_values().collect()
    }

    /// Their tasks are executed again: the messages could not be acknowledged.
    pub(super) fn reopen(&self, messages: &[DoneMessage]) {
        let mut held = self.lock();
        for DoneMessage { first, .. } in messages {
            if let Some(held) = held.get_mut(first) {
                held.tasks.iter_mut().for_each(|task| task.done = None);
            }
        }
    }

    /// No longer holds the message with the task at this position.
    pub(super) fn remove(&self, at: Position) -> Option<Message> {
        let mut held = self.lock();
        let (first, found) = held.range(..=at).next_back()?;
        found.tasks.get(offset(*first, at))?;
        let first = *first;
        held.remove(&first).map(|held| held.message)
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    /// The messages of which other processes must hear that this one works on them.
    pub(super) fn in_progress(&self) -> Vec<Message> {
        let mut held = self.lock();
        held.retain(|_, held| held.since.elapsed() < MAX_HOLD);
        held.values().map(|held| held.message.clone()).collect()
    }
}

fn offset(first: Position, at: Position) -> usize {
    usize::try_from(at.0 - first.0).unwrap_or(usize::MAX)
}

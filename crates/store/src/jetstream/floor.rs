//! The floor as this process last knew it. Reads take it from memory, so they need no answer from NATS, and their number
//! does not change the number of requests to NATS. An older floor can only repeat arrivals, never skip one.

use model::Position;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The last known floor.
pub(super) struct Floor {
    known: Mutex<Known>,
    /// The maximum age while NATS answers.
    max_age: Duration,
    /// Held by the one task that asks NATS.
    pub(super) asking: tokio::sync::Mutex<()>,
}

struct Known {
    position: Position,
    /// When it was read; `None` if it must be read again.
    at: Option<Instant>,
    /// When it was last read; at first, when this process began.
    read: Instant,
    /// Since when NATS does not answer. Until it does, reads do not wait for it.
    away: Option<Instant>,
}

impl Floor {
    pub(super) fn new(position: Position, max_age: Duration) -> Floor {
        let known = Known { position, at: None, read: Instant::now(), away: None };
        Floor { known: Mutex::new(known), max_age, asking: tokio::sync::Mutex::default() }
    }

    /// The floor, if it need not be read again now.
    pub(super) fn current(&self) -> Option<Position> {
        let known = self.known();
        let is_fresh = known.at.is_some_and(|at| at.elapsed() < self.max_age);
        (is_fresh || known.away.is_some()).then_some(known.position)
    }

    /// The time since it was read.
    pub(super) fn age(&self) -> Duration {
        self.known().read.elapsed()
    }

    /// Whether NATS has not answered for at least that time.
    pub(super) fn is_away_for(&self, time: Duration) -> bool {
        self.known().away.is_some_and(|since| since.elapsed() >= time)
    }

    /// Records an answer. A floor never goes back.
    pub(super) fn answered(&self, position: Position) -> Position {
        let mut known = self.known();
        let position = known.position.max(position);
        let now = Instant::now();
        *known = Known { position, at: Some(now), read: now, away: None };
        position
    }

    /// Records that NATS did not answer. Returns the last known floor.
    pub(super) fn no_answer(&self) -> Position {
        let mut known = self.known();
        known.away.get_or_insert_with(Instant::now);
        known.position
    }

    /// The next read asks NATS: the floor has probably moved.
    pub(super) fn expire(&self) {
        self.known().at = None;
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // No operation under the lock can leave it inconsistent.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_is_kept_for_a_moment_and_while_nats_is_away() {
        const MAX_AGE: Duration = Duration::from_millis(100);
        let floor = Floor::new(Position(5), MAX_AGE);
        assert_eq!(floor.current(), None, "it was never read");
        assert_eq!(floor.answered(Position(7)), Position(7));
        assert_eq!(floor.current(), Some(Position(7)));
        floor.expire();
        assert_eq!(floor.current(), None);
        assert_eq!(floor.answered(Position(6)), Position(7), "it never goes back");
        assert_eq!(floor.no_answer(), Position(7));
        std::thread::sleep(MAX_AGE);
        assert_eq!((floor.current(), floor.is_away_for(Duration::ZERO)), (Some(Position(7)), true));
        floor.answered(Position(8));
        std::thread::sleep(MAX_AGE);
        assert_eq!((floor.current(), floor.is_away_for(Duration::ZERO)), (None, false));
    }
}

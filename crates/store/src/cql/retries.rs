//! Failed tasks, until their retry is due.
//!
//! They wait in partitions of ten minutes. A published task leaves a tombstone there, so a process reads only from where it
//! has read before, and only if it has written a retry since. What other processes have left behind it finds with a full
//! read.

use super::db::hash_slot;
use super::{CqlStore, Query, concurrently};
use crate::Result;
use crate::codec::Encoded;
use crate::message::Message;
use model::{Millis, Position};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The length of a slot, and the number of slots of a full read.
const SLOT: i64 = 10 * 60 * 1_000;
const SLOTS: i64 = 3;
/// The partitions of a slot.
const SHARDS: u64 = 4;
/// The time between two full reads.
const FULL_READ: i64 = 10_000;
/// How far before the last read a read begins, because clocks differ.
const MARGIN: i64 = 60_000;
/// Due retries that are published per partition and call.
const BATCH: usize = 500;

const WAIT: Query =
    Query::write("INSERT INTO feed.waiting (slot, not_before_ms, id, message) VALUES (?, ?, ?, ?)");
const DUE: Query = Query::read(
    "SELECT not_before_ms, id, message FROM feed.waiting
     WHERE slot = ? AND not_before_ms > ? AND not_before_ms <= ? LIMIT ?",
);
const DELETE: Query =
    Query::write("DELETE FROM feed.waiting WHERE slot = ? AND not_before_ms = ? AND id = ?");

/// What this process knows of the waiting tasks, by the clock of its callers.
pub(super) struct KnownRetries(Mutex<Known>);

#[derive(Clone, Copy)]
struct Known {
    /// All retries that were due at this time have been published.
    read_to: i64,
    /// The time of the last full read.
    full_read: i64,
    /// The latest retry that this process has written.
    written_to: i64,
}

impl Default for KnownRetries {
    fn default() -> KnownRetries {
        KnownRetries(Mutex::new(Known { read_to: i64::MIN, full_read: i64::MIN, written_to: i64::MIN }))
    }
}

impl KnownRetries {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time from which retries must be read, and whether that is a full read. `None`: none is due.
    fn unread(&self, now: i64) -> Option<(i64, bool)> {
        let known = *self.lock();
        if now < known.read_to || now >= known.full_read.saturating_add(FULL_READ) {
            return Some(((now.div_euclid(SLOT) - SLOTS + 1) * SLOT - 1, true));
        }
        (known.written_to > known.read_to).then_some((known.read_to - MARGIN, false))
    }

    fn read(&self, now: i64, full: bool) {
        let mut known = self.lock();
        known.read_to = now;
        if full {
            known.full_read = now;
        }
    }

    fn written(&self, not_before: i64) {
        let mut known = self.lock();
        known.written_to = known.written_to.max(not_before);
        known.read_to = known.read_to.min(not_before.saturating_sub(1));
    }
}

fn partition(slot: i64, shard: u64) -> i64 {
    slot * SHARDS.cast_signed() + shard.cast_signed()
}

impl CqlStore {
    /// Stores a task until `message.not_before`.
    pub(super) async fn put_retry(&self, position: Position, message: &Message) -> Result<()> {
        let (not_before, id) = (message.not_before.0, position.0.to_string());
        let partition = partition(not_before.div_euclid(SLOT), hash_slot(id.as_bytes(), SHARDS));
        self.db.write(&WAIT, (partition, not_before, id, message.encoded())).await?;
        self.retries.written(not_before);
        Ok(())
    }

    /// Appends the tasks that are due to the log.
    pub(super) async fn publish_due(&self, now: Millis) -> Result<()> {
        let Some((after, full)) = self.retries.unread(now.0) else { return Ok(()) };
        let slots = after.div_euclid(SLOT)..=now.0.div_euclid(SLOT);
        let partitions = slots.flat_map(|slot| (0..SHARDS).map(move |shard| partition(slot, shard)));
        let counts =
            concurrently(partitions.map(|partition| self.publish_partition(partition, after, now))).await?;
        if counts.into_iter().all(|count| count < BATCH) {
            self.retries.read(now.0, full);
        }
        Ok(())
    }

    /// Returns the number of tasks that were published.
    async fn publish_partition(&self, partition: i64, after: i64, now: Millis) -> Result<usize> {
        let limit = i32::try_from(BATCH).unwrap_or(i32::MAX);
        let due: Vec<(i64, String, Vec<u8>)> = self.db.rows(&DUE, (partition, after, now.0, limit)).await?;
        for (not_before, id, bytes) in &due {
            self.log.publish(&format!("w:{id}:{not_before}"), bytes).await?;
            self.db.write(&DELETE, (partition, not_before, id)).await?;
        }
        Ok(due.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_are_read_if_this_process_wrote_one_and_otherwise_rarely() {
        let (known, noon) = (KnownRetries::default(), 1_000 * SLOT);
        let full = |now: i64| Some(((now.div_euclid(SLOT) - 2) * SLOT - 1, true));
        assert_eq!(known.unread(noon), full(noon), "nothing is known yet");
        known.read(noon, true);
        assert_eq!(known.unread(noon + FULL_READ - 1), None);
        known.written(noon + 50);
        assert_eq!(known.unread(noon + 1), Some((noon - MARGIN, false)));
        known.read(noon + 49, false);
        assert_eq!(known.unread(noon + 50), Some((noon + 49 - MARGIN, false)), "it was not due yet");
        known.read(noon + 50, false);
        assert_eq!(known.unread(noon + 60), None);
        known.written(noon + 40);
        assert_eq!(known.unread(noon + 60), Some((noon + 39 - MARGIN, false)), "it was due at once");
        known.read(noon + 60, false);
        assert_eq!(known.unread(noon), full(noon), "the clock went back");
        assert_eq!(known.unread(noon + FULL_READ), full(noon + FULL_READ));
    }
}

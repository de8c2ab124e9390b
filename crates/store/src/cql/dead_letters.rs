//! Dead letters: tasks that failed too often, spread over partitions by their number.

use super::db::hash_slot;
use super::{CqlStore, Query, concurrently};
use crate::codec::Encoded;
use crate::message::Message;
use crate::{DeadLetter, Result};
use model::{Millis, Position};

const SHARDS: u64 = 8;

const PUT: Query = Query::write(
    "INSERT INTO feed.dead_letter (shard, number, message, attempts, error, at_ms) VALUES (?, ?, ?, ?, ?, ?)",
);
const LIST: Query = Query::read(
    "SELECT number, message, attempts, error, at_ms FROM feed.dead_letter
     WHERE shard = ? AND number > ? ORDER BY number LIMIT ?",
);
const MESSAGE: Query = Query::read("SELECT message FROM feed.dead_letter WHERE shard = ? AND number = ?");
const DELETE: Query = Query::write("DELETE FROM feed.dead_letter WHERE shard = ? AND number = ?");

fn shard(number: i64) -> i16 {
    i16::try_from(hash_slot(&number.to_be_bytes(), SHARDS)).unwrap_or(0)
}

/// The number of a dead letter, by the time and the position of its task.
fn number_of(at: Millis, position: Position) -> i64 {
    at.0 << 20 | (position.0 & 0xf_ffff).cast_signed()
}

impl CqlStore {
    /// Stores a dead letter. `message` is empty for one that does not verify.
    pub(super) async fn put_dead_letter(
        &self,
        position: Position,
        message: &[u8],
        attempts: u32,
        error: &str,
        at: Millis,
    ) -> Result<()> {
        let (number, attempts) = (number_of(at, position), i32::try_from(attempts).unwrap_or(i32::MAX));
        self.db.write(&PUT, (shard(number), number, message, attempts, error, at.0)).await
    }

    /// Dead letters, oldest first, after the one with the number `after`.
    pub(super) async fn list_dead_letters(
        &self,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<DeadLetter>> {
        type Row = (i64, Vec<u8>, i32, String, i64);
        let after = after.map_or(-1, |number| i64::try_from(number).unwrap_or(i64::MAX));
        let rows = i32::try_from(limit).unwrap_or(i32::MAX);
        let shards = (0..SHARDS).map(|shard| {
            let shard = i16::try_from(shard).unwrap_or(0);
            self.db.rows::<Row>(&LIST, (shard, after, rows))
        });
        let mut letters: Vec<Row> = concurrently(shards).await?.into_iter().flatten().collect();
        letters.sort_unstable_by_key(|(number, ..)| *number);
        letters.truncate(limit);
        let letter = |(number, bytes, attempts, error, at): Row| {
            Ok(DeadLetter {
                number: number.unsigned_abs(),
                work: if bytes.is_empty() { None } else { Some(Message::decoded(&bytes)?.work) },
                attempts: attempts.unsigned_abs(),
                error,
                at: Millis(at),
            })
        };
        letters.into_iter().map(letter).collect()
    }

    /// Appends the work of a dead letter as a new task. `false`: there is no such dead letter.
    pub(super) async fn replay_dead_letter(&self, number: u64) -> Result<bool> {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        let Some((bytes,)) = self.db.row::<(Vec<u8>,)>(&MESSAGE, (shard(number), number)).await? else {
            return Ok(false);
        };
        // A message that did not verify has no work, and must not be signed by this service.
        if !bytes.is_empty() {
            self.log.publish(&format!("l:{number}"), &bytes).await?;
        }
        self.db.write(&DELETE, (shard(number), number)).await?;
        Ok(true)
    }
}

//! Lightweight transactions: operations that exactly one of many concurrent callers completes, and compare-and-set of
//! versioned states.

use super::db::{Db, Outcome, Query};
use crate::{Result, StoreError};
use model::Version;
use scylla::deserialize::row::DeserializeRow;
use scylla::serialize::row::SerializeRow;
use std::fmt::Debug;
use std::time::Duration;
use uuid::Uuid;

/// Reads of a row before the outcome is reported as unknown.
const MAX_READS: u32 = 10;
/// The minimum pause after a failed read; it grows by as much each time.
const PAUSE: Duration = Duration::from_millis(100);

/// A random part of the pause, so that competing callers do not collide again.
fn jitter() -> Duration {
    let [byte, ..] = Uuid::new_v4().into_bytes();
    PAUSE * u32::from(byte) / 256
}

/// A conditional write, and the read that resolves its outcome. The read is serial, so it completes a pending write.
/// After a refusal no write is pending, so a plain read is enough, and competing callers do not disturb each other.
pub(super) struct Lwt {
    write: Query,
    read: Query,
    read_after_refusal: Query,
}

impl Lwt {
    pub(super) const fn new(write: &'static str, read: &'static str) -> Lwt {
        Lwt {
            write: Query::conditional(write),
            read: Query::serial(read),
            read_after_refusal: Query::read(read),
        }
    }
}

impl Db {
    /// Replaces a versioned state on the condition that the stored version is `before` (`None`: nothing is stored).
    /// The row has the columns `ver` and `op`, which the statement writes and the read returns. `false`: another
    /// version is stored, and nothing was changed.
    ///
    /// An unknown outcome is resolved by the operation id. If a later update has replaced it by then, this one counts
    /// as not applied, and the caller repeats it on top of that update. For updates that set fields the result is the
    /// same.
    pub(super) async fn replace(
        &self,
        lwt: &Lwt,
        before: Option<Version>,
        op: Uuid,
        values: impl SerializeRow,
        key: impl SerializeRow + Debug,
    ) -> Result<bool> {
        let ours = |found: Option<(Option<i64>, Option<Uuid>)>| {
            let (version, by) = found.unwrap_or_default();
            match by {
                Some(by) if by == op => Some(true),
                _ if version.map(Version) == before => None,
                _ => Some(false),
            }
        };
        self.apply_lwt(lwt, values, key, ours).await
    }

    /// Executes a lightweight transaction. `true` for the caller whose write was applied, also if it repeats the
    /// call. `ours` decides by the row whether that was this caller; `None`: no write was applied yet. If the outcome
    /// of the write is unknown, the row is read, and the write is repeated only if it was not applied.
    pub(super) async fn apply_lwt<R>(
        &self,
        lwt: &Lwt,
        values: impl SerializeRow,
        key: impl SerializeRow + Debug,
        ours: impl Fn(Option<R>) -> Option<bool>,
    ) -> Result<bool>
    where
        R: for<'r> DeserializeRow<'r, 'r>,
    {
        // Concurrent lightweight transactions on a row slow each other down, so this process runs one at a time.
        let _guard = self.lock_for(&key).lock().await;
        let mut outcome = self.conditional(&lwt.write, &values).await?;
        let mut reads = 0;
        while outcome != Outcome::Applied {
            if reads == MAX_READS {
                return Err(StoreError::Unknown(
                    "the outcome of a lightweight transaction is unknown".to_owned(),
                ));
            }
            reads += 1;
            let is_refused = outcome == Outcome::Refused;
            let read = if is_refused { &lwt.read_after_refusal } else { &lwt.read };
            match self.row::<R>(read, &key).await.map(&ours) {
                Ok(Some(ours)) => return Ok(ours),
                Ok(None) if is_refused => return Ok(false),
                // A serial read is a Paxos round: a write that was not applied before it cannot be applied later.
                Ok(None) => outcome = self.conditional(&lwt.write, &values).await?,
                Err(_) => tokio::time::sleep(PAUSE * reads + jitter()).await,
            }
        }
        Ok(true)
    }
}

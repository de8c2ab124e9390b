//! Conditional writes: steps of which each is taken once, by one of many who try, and states that replace the version
//! that they were made of.

use super::db::{Db, Outcome, Query};
use crate::{Result, StoreError};
use model::Version;
use scylla::deserialize::row::DeserializeRow;
use scylla::serialize::row::SerializeRow;
use std::fmt::Debug;
use std::time::Duration;
use uuid::Uuid;

/// How often a row is looked at before its step is given up as unknown.
const LOOKS: u32 = 10;
/// How long after a look that failed the next one comes at least; each time as much longer.
const PAUSE: Duration = Duration::from_millis(100);

/// A part of that pause, so that those who got into each other's way do not meet again.
fn part_of_a_pause() -> Duration {
    let [byte, ..] = Uuid::new_v4().into_bytes();
    PAUSE * u32::from(byte) / 256
}

/// The write that takes a step on a condition, and the look at its row, which finishes what is under way there.
/// After a refusal nothing is, so that all who were refused can look without getting into each other's way.
pub(super) struct Lwt {
    take: Query,
    look: Query,
    look_after_refusal: Query,
}

impl Lwt {
    pub(super) const fn new(take: &'static str, look: &'static str) -> Lwt {
        Lwt {
            take: Query::conditional(take),
            look: Query::serial(look),
            look_after_refusal: Query::read(look),
        }
    }
}

impl Db {
    /// Replaces a versioned state on the condition that the stored version is still `before` (`None`: nothing is stored).
    /// The row has the columns `ver` and `op`, which the step writes and its look reads. `false`: another version is
    /// stored, and nothing was changed.
    ///
    /// An unknown outcome is resolved by the operation id. If a later change has replaced it by then, this one counts as
    /// not made, and the caller makes it again on top of that change: for changes that set fields the result is the same.
    pub(super) async fn replace(
        &self,
        step: &Lwt,
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
        self.take(step, values, key, ours).await
    }

    /// Takes a step; `true` for whoever took it, also when they repeat the call. `ours` says of the row whether it
    /// was us; `None`: nobody yet. Where nobody knows what became of the write, the row tells; only when it tells
    /// that the step was not taken is it tried again.
    pub(super) async fn take<R>(
        &self,
        step: &Lwt,
        values: impl SerializeRow,
        key: impl SerializeRow + Debug,
        ours: impl Fn(Option<R>) -> Option<bool>,
    ) -> Result<bool>
    where
        R: for<'r> DeserializeRow<'r, 'r>,
    {
        // Many who try at once only hinder each other; of those in this process one tries at a time.
        let _one_at_a_time = self.gate(&key).lock().await;
        let mut outcome = self.conditional(&step.take, &values).await?;
        let mut looks = 0;
        while outcome != Outcome::Applied {
            if looks == LOOKS {
                return Err(StoreError::Unknown("who took a step that is taken once".to_owned()));
            }
            looks += 1;
            let is_refused = outcome == Outcome::Refused;
            let look = if is_refused { &step.look_after_refusal } else { &step.look };
            match self.row::<R>(look, &key).await.map(&ours) {
                Ok(Some(ours)) => return Ok(ours),
                Ok(None) if is_refused => return Ok(false),
                // A look is a round of its own, so that what was not done before it can't be done any more.
                Ok(None) => outcome = self.conditional(&step.take, &values).await?,
                Err(_) => tokio::time::sleep(PAUSE * looks + part_of_a_pause()).await,
            }
        }
        Ok(true)
    }
}

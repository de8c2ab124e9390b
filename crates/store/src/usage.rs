//! The interface of usage: what the activities of each account take up.

use crate::Result;
use async_trait::async_trait;
use model::{Millis, Uid};

/// A number of activities and the size of their bodies, or a change of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Activities that are not deleted.
    pub activities: i64,
    /// Bytes of their bodies.
    pub bytes: i64,
}

impl Usage {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Usage) -> Usage {
        Usage {
            activities: self.activities.saturating_add(other.activities),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

/// Usage of accounts. It is counted by the day on which an activity was received, so that expired activities do not count.
#[async_trait]
pub trait Usages: Send + Sync {
    /// What the account's activities received at or after `since` take up. A cluster may lag behind by a minute.
    async fn usage(&self, uid: Uid, since: Option<Millis>) -> Result<Usage>;

    /// Writes what this process has counted and not written yet. A server does so by itself; a command does before it ends.
    async fn flush_usage(&self) -> Result<()>;
}

/// The day of a time, in UTC.
pub(crate) fn day_of(time: Millis) -> i64 {
    time.0.div_euclid(24 * 60 * 60 * 1_000)
}

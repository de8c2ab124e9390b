//! The actors whose entries are merged into a collection at read time: its pulled actors, and, while the owner is
//! dormant or catching up, all followees.

use super::{Feed, ReadError};
use model::{Collection, DeliveryState, Dormancy, FeedQuery, Position, Uid};
use moka::sync::Cache;
use std::collections::HashMap;
use std::time::Duration;
use store::{Store, StoreError};

/// Followees read per request to the store.
const PAGE: usize = 1_000;
/// Reads are recorded at most this often per `idle_after`.
const READS_PER_IDLE: u32 = 8;
/// Maximum number of accounts in the read tracker.
const CAPACITY: u64 = 200_000;

/// The actors whose entries are merged into a collection.
#[derive(Default)]
pub(super) struct PulledActors {
    /// The pulled actors, each with the position of the edge.
    pub(super) pulled: HashMap<Uid, Position>,
    /// All actors whose activities may be missing from the collection's own entries.
    pub(super) merged: Vec<Uid>,
}

/// Remembers which accounts were read recently, so that not every read is written to the store.
pub(super) struct ReadTracker {
    recent: Option<Cache<Uid, ()>>,
}

impl ReadTracker {
    /// A tracker for accounts that become dormant after that time. `None` turns it off.
    pub(super) fn new(idle_after: Option<Duration>) -> ReadTracker {
        let cache = |after: Duration| {
            Cache::builder().max_capacity(CAPACITY).time_to_live(after / READS_PER_IDLE).build()
        };
        ReadTracker { recent: idle_after.map(cache) }
    }

    /// Whether a read must be recorded in the store.
    fn must_record(&self, uid: Uid) -> bool {
        self.recent.as_ref().is_some_and(|recent| recent.entry(uid).or_insert(()).is_fresh())
    }
}

impl Feed {
    /// The collection's pulled actors, each with the position of the edge. A caller that reads arrivals must read the
    /// floor first: every edge pulled by then is in the result.
    pub(super) async fn pulled(&self, query: &FeedQuery) -> Result<HashMap<Uid, Position>, ReadError> {
        let delivery = self.delivery_state(query).await?;
        self.reactivate(query.owner, &delivery).await?;
        Ok(delivery.pulled.into_iter().collect())
    }

    /// The actors whose entries are merged into the collection.
    pub(super) async fn pulled_actors(
        &self,
        owner: Uid,
        delivery: &DeliveryState,
    ) -> Result<PulledActors, ReadError> {
        let merged = match delivery.dormancy {
            Dormancy::Active => delivery.pulled.iter().map(|(uid, _)| *uid).collect(),
            Dormancy::Dormant { .. } | Dormancy::CatchingUp { .. } => {
                followed(self.store.as_ref(), owner).await?
            }
        };
        Ok(PulledActors { pulled: delivery.pulled.iter().copied().collect(), merged })
    }

    /// The delivery state of the collection's owner. Also records the read.
    pub(super) async fn delivery_state(&self, query: &FeedQuery) -> Result<DeliveryState, ReadError> {
        // A `from` collection consists of the account's own entries alone.
        if query.collection == Collection::From {
            return Ok(DeliveryState::default());
        }
        self.record_read(query).await?;
        Ok(self.store.delivery_state(query.owner).await?)
    }

    /// Records that the owner's collection was read, so that the account does not become dormant.
    pub(super) async fn record_read(&self, query: &FeedQuery) -> Result<(), ReadError> {
        if query.collection != Collection::From && self.reads.must_record(query.owner) {
            self.store.note_read(query.owner, self.clock.now()).await?;
        }
        Ok(())
    }

    /// Reactivates a dormant account. A failure does not fail the read: while the delivery log does not answer, a
    /// dormant account is read by merging its followees, and its next read tries again.
    pub(super) async fn reactivate(&self, owner: Uid, delivery: &DeliveryState) -> Result<(), ReadError> {
        if let Dormancy::Dormant { since } = delivery.dormancy
            && let Err(error) = self.store.reactivate(owner, delivery.version, since, self.clock.now()).await
        {
            match error {
                StoreError::Unavailable(_) | StoreError::Unknown(_) => {
                    tracing::warn!(%error, owner = owner.0, "reactivation failed");
                }
                error => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// All followees of an account.
async fn followed(store: &dyn Store, owner: Uid) -> store::Result<Vec<Uid>> {
    let mut all: Vec<Uid> = Vec::new();
    loop {
        let page = store.following(owner, all.last().copied(), PAGE).await?;
        let ended = page.len() < PAGE;
        all.extend(page.into_iter().map(|(uid, _)| uid));
        if ended {
            return Ok(all);
        }
    }
}

//! From whom a collection is read besides its own entries: accounts that it pulls from; and, where things were not pushed
//! to it because nobody had read it for long, everybody whom its owner follows.

use super::{Feed, ReadError};
use model::{Collection, DeliveryState, Dormancy, FeedQuery, Position, Uid};
use moka::sync::Cache;
use std::collections::HashMap;
use std::time::Duration;
use store::Store;

/// Followed accounts that are asked for at once.
const PAGE: usize = 1_000;
/// Of the time after which an account falls asleep, the part for which a read is not noted again.
const NOTED_FOR: u32 = 8;
/// How many accounts are remembered as read.
const REMEMBERED: u64 = 200_000;

/// From whom a collection is read besides.
#[derive(Default)]
pub(super) struct PulledActors {
    /// From whom it pulls, each with where in the log the edge was made.
    pub(super) pulled: HashMap<Uid, Position>,
    /// Everybody of whose deeds something may be missing among its own entries.
    pub(super) merged: Vec<Uid>,
}

/// Which collections were read lately: they do not fall asleep.
pub(super) struct ReadTracker {
    noted: Option<Cache<Uid, ()>>,
}

impl ReadTracker {
    /// Where accounts fall asleep after that time.
    pub(super) fn new(idle_after: Option<Duration>) -> ReadTracker {
        let cache = |after: Duration| {
            Cache::builder().max_capacity(REMEMBERED).time_to_live(after / NOTED_FOR).build()
        };
        ReadTracker { noted: idle_after.map(cache) }
    }

    /// Whether a read is to be noted.
    fn is_new(&self, uid: Uid) -> bool {
        self.noted.as_ref().is_some_and(|noted| noted.entry(uid).or_insert(()).is_fresh())
    }
}

impl Feed {
    /// From whom the collection pulls, each with where in the log the edge was made. Who asks for what arrived takes the
    /// floor first: whoever is pulled from by then is known here.
    pub(super) async fn pulled(&self, query: &FeedQuery) -> Result<HashMap<Uid, Position>, ReadError> {
        let reading = self.delivery_state(query).await?;
        self.reactivate(query.owner, &reading).await?;
        Ok(reading.pulled.into_iter().collect())
    }

    /// From whom the collection is read besides.
    pub(super) async fn others(
        &self,
        owner: Uid,
        reading: &DeliveryState,
    ) -> Result<PulledActors, ReadError> {
        let merged = match reading.dormancy {
            Dormancy::Active => reading.pulled.iter().map(|(uid, _)| *uid).collect(),
            Dormancy::Dormant { .. } | Dormancy::CatchingUp { .. } => {
                followed(self.store.as_ref(), owner).await?
            }
        };
        Ok(PulledActors { pulled: reading.pulled.iter().copied().collect(), merged })
    }

    /// How the collection is read, now that it is.
    pub(super) async fn delivery_state(&self, query: &FeedQuery) -> Result<DeliveryState, ReadError> {
        // What somebody did is all among their own entries.
        if query.collection == Collection::From {
            return Ok(DeliveryState::default());
        }
        if self.reads.is_new(query.owner) {
            self.store.note_read(query.owner, self.clock.now()).await?;
        }
        Ok(self.store.delivery_state(query.owner).await?)
    }

    /// Has an account return that is asleep.
    pub(super) async fn reactivate(&self, owner: Uid, reading: &DeliveryState) -> Result<(), ReadError> {
        if let Dormancy::Dormant { since } = reading.dormancy {
            self.store.reactivate(owner, reading.version, since, self.clock.now()).await?;
        }
        Ok(())
    }
}

/// Everybody whom an account follows.
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

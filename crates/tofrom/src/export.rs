//! What an account did, oldest first, as lines that `import` takes.
//!
//! The store tells collections newest first. So the whole is walked once for the identifiers, 16 bytes each, and
//! then written from its end, a batch at a time.

use crate::ingest::json::ExportedActivity;
use crate::json;
use axum::body::Bytes;
use futures::{Stream, stream};
use model::{Activity, ActivityId, EntryReason, EntryReasons, Filter, Order, Uid};
use std::sync::Arc;
use store::{Result, Slice, Store, StoreError};

/// Entries that are read at once.
const PAGE: usize = 1_000;
/// Activities that are read and written at once.
const BATCH: usize = 200;

/// A line for everything that the account did, a batch of lines at a time.
pub fn lines(store: Arc<dyn Store>, owner: Uid) -> impl Stream<Item = Result<Bytes>> + Send {
    let walk = Walk { store, owner, ids: None };
    stream::try_unfold(walk, |mut walk| async move {
        Ok(walk.next().await?.map(|lines| (Bytes::from(lines), walk)))
    })
}

/// How far the lines have come.
struct Walk {
    store: Arc<dyn Store>,
    owner: Uid,
    /// What is still to be written, newest first; `None` before anything was looked at.
    ids: Option<Vec<ActivityId>>,
}

impl Walk {
    async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let mut ids = match self.ids.take() {
            Some(ids) => ids,
            None => self.all_ids().await?,
        };
        let batch = ids.split_off(ids.len().saturating_sub(BATCH));
        self.ids = Some(ids);
        if batch.is_empty() {
            return Ok(None);
        }
        let activities = self.activities(&batch).await?;
        let mut lines = Vec::new();
        for activity in activities.iter().rev() {
            json::write(&mut lines, &ExportedActivity(activity))
                .map_err(|error| StoreError::Corrupt(error.to_string()))?;
            lines.push(b'\n');
        }
        Ok(Some(lines))
    }

    /// Newest first.
    async fn all_ids(&self) -> Result<Vec<ActivityId>> {
        let (filter, order) = (Filter::default(), Order::Received);
        let mut ids = Vec::new();
        let mut after = None;
        loop {
            let reasons = EntryReasons::default().with(EntryReason::Authored);
            let slice = Slice { owner: self.owner, reasons, order, filter: &filter, after, limit: PAGE };
            let entries = self.store.slice(&slice).await?;
            ids.extend(entries.iter().filter(|entry| !entry.retracted).map(|entry| entry.id));
            if entries.len() < PAGE {
                return Ok(ids);
            }
            after = entries.last().map(|entry| entry.sort_key(order));
        }
    }

    /// Those that are still there.
    async fn activities(&self, ids: &[ActivityId]) -> Result<Vec<Activity>> {
        let found = self.store.activities(ids).await?.into_iter().flatten();
        Ok(found.filter(|activity| !activity.state.deleted).collect())
    }
}

//! Exports an account's activities, oldest first, as lines that `import` accepts.
//!
//! The store reads collections newest first. So the export first collects all identifiers, 16 bytes each, and then
//! writes them from the end, a batch at a time.

use crate::ingest::json::ExportedActivity;
use crate::json;
use futures::{Stream, stream};
use model::{Activity, ActivityId, EntryReason, EntryReasons, Filter, Order, Uid};
use std::sync::Arc;
use store::{Result, Slice, Store, StoreError};

/// Entries read per request to the store.
const PAGE: usize = 1_000;
/// Activities read and written per batch.
const BATCH: usize = 200;

/// Streams one line per activity of the account, a batch of lines at a time.
pub fn lines(store: Arc<dyn Store>, owner: Uid) -> impl Stream<Item = Result<Vec<u8>>> + Send {
    let export = Export { store, owner, ids: None };
    stream::try_unfold(
        export,
        |mut export| async move { Ok(export.next().await?.map(|lines| (lines, export))) },
    )
}

/// Progress of an export.
struct Export {
    store: Arc<dyn Store>,
    owner: Uid,
    /// The remaining identifiers, newest first. `None` before the first batch.
    ids: Option<Vec<ActivityId>>,
}

impl Export {
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

    /// The identifiers of all activities, newest first.
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

    /// The activities that were not deleted.
    async fn activities(&self, ids: &[ActivityId]) -> Result<Vec<Activity>> {
        let found = self.store.activities(ids).await?.into_iter().flatten();
        Ok(found.filter(|activity| !activity.state.deleted).collect())
    }
}

//! Entries of which reason, time of receipt and identifier are known.

use super::super::db::uuid;
use super::super::{CONCURRENCY, CqlStore};
use super::buckets::Bucket;
use super::row::{Columns, entry, later, reason_number};
use super::tables::table;
use crate::Result;
use futures::{StreamExt, TryStreamExt, stream};
use model::{Entry, EntryReason, Order, Uid};
use std::collections::HashMap;
use uuid::Uuid;

/// How many entries are looked up by one statement.
const TOGETHER: usize = 100;

/// What is looked for: reason, time of receipt and identifier.
pub(super) type Wanted = (EntryReason, i64, Uuid);

impl CqlStore {
    /// The present entries of these, by reason and identifier. The buckets are those of the owner in the order of receipt.
    pub(super) async fn entries_at(
        &self,
        owner: Uid,
        buckets: &[(EntryReason, Bucket)],
        wanted: &[Wanted],
    ) -> Result<HashMap<(EntryReason, Uuid), Entry>> {
        let mut keys: HashMap<(EntryReason, Bucket), Vec<(i64, Uuid)>> = HashMap::new();
        for (one, received, id) in wanted {
            let holds = |(of, bucket): &&(EntryReason, Bucket)| of == one && bucket.contains(*received);
            for at in buckets.iter().filter(holds) {
                keys.entry(*at).or_default().push((*received, *id));
            }
        }
        for keys in keys.values_mut() {
            keys.sort_unstable();
            keys.dedup();
        }
        let parts = keys.iter().flat_map(|(at, keys)| keys.chunks(TOGETHER).map(|keys| (*at, keys)));
        let look_ups: Vec<_> = parts.map(|(at, keys)| self.look_up(owner, at, keys)).collect();
        let found: Vec<Vec<(EntryReason, Entry)>> =
            stream::iter(look_ups).buffer_unordered(CONCURRENCY).try_collect().await?;
        let mut entries = HashMap::new();
        for (one, row) in found.into_iter().flatten() {
            let key = (one, uuid(row.id));
            let row = match entries.remove(&key) {
                Some(other) => later(other, row),
                None => row,
            };
            entries.insert(key, row);
        }
        Ok(entries)
    }

    async fn look_up(
        &self,
        owner: Uid,
        (one, bucket): (EntryReason, Bucket),
        keys: &[(i64, Uuid)],
    ) -> Result<Vec<(EntryReason, Entry)>> {
        let values = (owner.0, reason_number(one), bucket.number(), keys);
        let rows: Vec<Columns> = self.db.rows(&table(one, Order::Received).look_up, values).await?;
        rows.into_iter().map(|columns| Ok((one, entry(columns, one, Order::Received)?))).collect()
    }

    /// The entries that the owner's collection has of these because they are followed.
    pub(in crate::cql) async fn look_up_followed(
        &self,
        owner: Uid,
        these: &[Entry],
    ) -> Result<Vec<Option<Entry>>> {
        if these.is_empty() {
            return Ok(Vec::new());
        }
        let wanted = these.iter().map(|entry| (EntryReason::Followed, entry.received.0, uuid(entry.id)));
        let wanted: Vec<Wanted> = wanted.collect();
        let buckets = self.buckets(owner, Order::Received).await?;
        let found = self.entries_at(owner, &buckets, &wanted).await?;
        let same = |this: &Entry| {
            let entry = found.get(&(EntryReason::Followed, uuid(this.id)))?;
            (entry.facet == this.facet && entry.published == this.published).then(|| entry.clone())
        };
        Ok(these.iter().map(same).collect())
    }
}

//! Look-up of entries by reason, time of receipt and identifier.

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

/// Entries per statement.
const KEYS_PER_STATEMENT: usize = 100;

/// The key of an entry: reason, time of receipt, identifier.
pub(super) type EntryKey = (EntryReason, i64, Uuid);

impl CqlStore {
    /// The entries with these keys, by reason and identifier. `buckets` are those of the owner by time of receipt.
    pub(super) async fn entries_at(
        &self,
        owner: Uid,
        buckets: &[(EntryReason, Bucket)],
        entry_keys: &[EntryKey],
    ) -> Result<HashMap<(EntryReason, Uuid), Entry>> {
        let mut keys: HashMap<(EntryReason, Bucket), Vec<(i64, Uuid)>> = HashMap::new();
        for (reason, received, id) in entry_keys {
            let holds = |(of, bucket): &&(EntryReason, Bucket)| of == reason && bucket.contains(*received);
            for at in buckets.iter().filter(holds) {
                keys.entry(*at).or_default().push((*received, *id));
            }
        }
        for keys in keys.values_mut() {
            keys.sort_unstable();
            keys.dedup();
        }
        let parts =
            keys.iter().flat_map(|(at, keys)| keys.chunks(KEYS_PER_STATEMENT).map(|keys| (*at, keys)));
        let look_ups: Vec<_> = parts.map(|(at, keys)| self.look_up(owner, at, keys)).collect();
        let found: Vec<Vec<(EntryReason, Entry)>> =
            stream::iter(look_ups).buffer_unordered(CONCURRENCY).try_collect().await?;
        let mut entries = HashMap::new();
        for (reason, row) in found.into_iter().flatten() {
            let key = (reason, uuid(row.id));
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
        (reason, bucket): (EntryReason, Bucket),
        keys: &[(i64, Uuid)],
    ) -> Result<Vec<(EntryReason, Entry)>> {
        let values = (owner.0, reason_number(reason), bucket.number(), keys);
        let rows: Vec<Columns> = self.db.rows(&table(reason, Order::Received).look_up, values).await?;
        let entries = rows.into_iter().map(|columns| entry(&columns, reason, Order::Received));
        entries.filter_map(|found| Some(found.transpose()?.map(|entry| (reason, entry)))).collect()
    }

    /// The owner's followed entries of these activities.
    pub(in crate::cql) async fn look_up_followed(
        &self,
        owner: Uid,
        own: &[Entry],
    ) -> Result<Vec<Option<Entry>>> {
        if own.is_empty() {
            return Ok(Vec::new());
        }
        let entry_keys = own.iter().map(|entry| (EntryReason::Followed, entry.received.0, uuid(entry.id)));
        let entry_keys: Vec<EntryKey> = entry_keys.collect();
        let buckets = self.buckets(owner, Order::Received).await?;
        let found = self.entries_at(owner, &buckets, &entry_keys).await?;
        let find = |own: &Entry| {
            let entry = found.get(&(EntryReason::Followed, uuid(own.id)))?;
            (entry.facet == own.facet && entry.published == own.published).then(|| entry.clone())
        };
        Ok(own.iter().map(find).collect())
    }
}

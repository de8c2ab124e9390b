//! Entries of which box, time of receipt and identifier are known.

use super::super::db::uuid;
use super::super::{AT_ONCE, CqlStore};
use super::buckets::Bucket;
use super::row::{Columns, box_number, entry, later};
use super::tables::table;
use crate::Result;
use futures::{StreamExt, TryStreamExt, stream};
use model::{Box, Entry, Order, Uid};
use std::collections::HashMap;
use uuid::Uuid;

/// How many entries are looked up by one statement.
const TOGETHER: usize = 100;

/// What is looked for: box, time of receipt and identifier.
pub(super) type Wanted = (Box, i64, Uuid);

impl CqlStore {
    /// The present entries of these, by box and identifier. The buckets are those of the owner in the order of receipt.
    pub(super) async fn entries_at(
        &self,
        owner: Uid,
        buckets: &[(Box, Bucket)],
        wanted: &[Wanted],
    ) -> Result<HashMap<(Box, Uuid), Entry>> {
        let mut keys: HashMap<(Box, Bucket), Vec<(i64, Uuid)>> = HashMap::new();
        for (one, received, id) in wanted {
            let holds = |(of, bucket): &&(Box, Bucket)| of == one && bucket.contains(*received);
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
        let found: Vec<Vec<(Box, Entry)>> =
            stream::iter(look_ups).buffer_unordered(AT_ONCE).try_collect().await?;
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
        (one, bucket): (Box, Bucket),
        keys: &[(i64, Uuid)],
    ) -> Result<Vec<(Box, Entry)>> {
        let values = (owner.0, box_number(one), bucket.number(), keys);
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
        let wanted = these.iter().map(|entry| (Box::Followed, entry.received.0, uuid(entry.id)));
        let wanted: Vec<Wanted> = wanted.collect();
        let buckets = self.buckets(owner, Order::Received).await?;
        let found = self.entries_at(owner, &buckets, &wanted).await?;
        let same = |this: &Entry| {
            let entry = found.get(&(Box::Followed, uuid(this.id)))?;
            (entry.facet == this.facet && entry.published == this.published).then(|| entry.clone())
        };
        Ok(these.iter().map(same).collect())
    }
}

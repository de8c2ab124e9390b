//! Delivery: rows in both orders, rows by facet for cheap filters, and arrivals.

use super::super::CqlStore;
use super::super::db::uuid;
use super::buckets::Bucket;
use super::directory::EntryList;
use super::row::{cell, facet_name, reason_number};
use super::tables::{runs, table};
use crate::Result;
use futures::future::{try_join, try_join_all};
use futures::{StreamExt, TryStreamExt, stream};
use model::{Entry, EntryReason, Order, Position, Uid};
use std::collections::HashMap;

/// Concurrent deliveries.
const DELIVERY_CONCURRENCY: usize = 128;
/// Rows of one partition per request.
const ROWS_PER_REQUEST: usize = 128;

/// An entry to be written, with the name of its facet and its TTL.
struct EntryRow<'a> {
    entry: &'a Entry,
    facet: String,
    ttl: i32,
}

fn in_both_orders(owner: Uid, reason: EntryReason) -> [EntryList; 2] {
    [Order::Received, Order::Published].map(|order| EntryList { owner, order, reason })
}

impl CqlStore {
    /// Writes entries into collections, all arriving at `at`. Entries older than the retention are not written.
    pub(in crate::cql) async fn deliver_entries(
        &self,
        at: Position,
        deliveries: &[(Uid, Entry)],
    ) -> Result<()> {
        let each = deliveries.iter().map(|(owner, entry)| self.deliver_entry(at, *owner, entry));
        let all: Vec<_> = each.collect();
        stream::iter(all).buffer_unordered(DELIVERY_CONCURRENCY).try_collect().await
    }

    /// Writes entries into a collection without arrivals. Rows of one partition are written together.
    pub(in crate::cql) async fn put_entries(
        &self,
        at: Position,
        owner: Uid,
        entries: &[Entry],
    ) -> Result<()> {
        let lists = EntryReason::ALL.into_iter().flat_map(|reason| in_both_orders(owner, reason));
        let lists = lists.map(|list| async move {
            let mut buckets: HashMap<Bucket, Vec<EntryRow<'_>>> = HashMap::new();
            for entry in entries.iter().filter(|entry| entry.reasons.contains(list.reason)) {
                let Some(ttl) = self.ttl(entry.received) else { continue };
                let bucket = self.bucket_for(list, entry.sort_key(list.order).time).await?;
                let row = EntryRow { entry, facet: facet_name(&entry.facet), ttl };
                buckets.entry(bucket).or_default().push(row);
            }
            let all: Vec<_> =
                buckets.into_iter().map(|(bucket, rows)| self.put_bucket(at, list, bucket, rows)).collect();
            stream::iter(all).buffer_unordered(DELIVERY_CONCURRENCY).try_collect::<()>().await
        });
        try_join_all(lists).await.map(drop)
    }

    /// Writes rows into a bucket.
    async fn put_bucket(
        &self,
        at: Position,
        list: EntryList,
        bucket: Bucket,
        rows: Vec<EntryRow<'_>>,
    ) -> Result<()> {
        self.list(list, bucket, rows.iter().map(|row| row.facet.as_str())).await?;
        let EntryList { owner, order, reason } = list;
        let (number, kind) = (bucket.number(), reason_number(reason));
        let row = |EntryRow { entry, ttl, .. }: &EntryRow<'_>| {
            let (sort_key, cells) = (entry.sort_key(order), vec![cell(entry, at, order)]);
            (entry.version.0, *ttl, cells, owner.0, kind, number, sort_key.time.0, uuid(entry.id))
        };
        let put = &table(reason, order).put;
        let parts =
            rows.chunks(ROWS_PER_REQUEST).map(|part| self.db.write_rows(put, part.iter().map(row).collect()));
        let parts: Vec<_> = parts.collect();
        stream::iter(parts).buffer_unordered(DELIVERY_CONCURRENCY).try_collect::<()>().await?;
        if let Some(runs) = runs(reason, order) {
            let mut facets: HashMap<&str, Vec<&EntryRow<'_>>> = HashMap::new();
            rows.iter().for_each(|row| facets.entry(&row.facet).or_default().push(row));
            let runs = facets.iter().flat_map(|(facet, rows)| {
                rows.chunks(ROWS_PER_REQUEST).map(move |part| {
                    let in_run = |item: &&EntryRow<'_>| {
                        let (version, ttl, cells, owner, kind, number, time, id) = row(item);
                        (owner, kind, *facet, number, time, id, cells, version, ttl)
                    };
                    self.db.write_rows(&runs.put, part.iter().map(in_run).collect())
                })
            });
            let runs: Vec<_> = runs.collect();
            stream::iter(runs).buffer_unordered(DELIVERY_CONCURRENCY).try_collect::<()>().await?;
        }
        try_join_all(rows.iter().map(|row| self.keep_bounded(list, bucket, row.entry.id))).await.map(drop)
    }

    async fn deliver_entry(&self, at: Position, owner: Uid, entry: &Entry) -> Result<()> {
        let Some(ttl) = self.ttl(entry.received) else { return Ok(()) };
        self.put_rows(at, owner, entry, ttl).await?;
        // The arrival is written last: a reader that finds it finds the entry.
        let arrival = |reason: EntryReason| {
            self.put_arrival(owner, at, uuid(entry.id), reason_number(reason), entry.received, ttl)
        };
        try_join_all(entry.reasons.iter().map(arrival)).await?;
        Ok(())
    }

    async fn put_rows(&self, at: Position, owner: Uid, entry: &Entry, ttl: i32) -> Result<()> {
        let row = &EntryRow { entry, facet: facet_name(&entry.facet), ttl };
        let rows = entry.reasons.iter().flat_map(|reason| in_both_orders(owner, reason));
        try_join_all(rows.map(|list| self.put_row(at, list, row))).await?;
        Ok(())
    }

    /// Removes followed entries with their version and position from both orders. Of two times of one bucket each may be
    /// in several, so all that could hold the entry are asked.
    pub(in crate::cql) async fn remove_followed_entries(&self, owner: Uid, entries: &[Entry]) -> Result<()> {
        let reason = EntryReason::Followed;
        for order in [Order::Received, Order::Published] {
            let buckets = self.buckets(owner, order).await?;
            let removals = entries.iter().flat_map(|entry| {
                let time = entry.sort_key(order).time.0;
                let holding =
                    buckets.iter().filter(move |(of, bucket)| *of == reason && bucket.contains(time));
                holding.map(move |(_, bucket)| self.remove_row(owner, order, *bucket, entry))
            });
            let removals: Vec<_> = removals.collect();
            stream::iter(removals).buffer_unordered(DELIVERY_CONCURRENCY).try_collect::<()>().await?;
        }
        Ok(())
    }

    async fn remove_row(&self, owner: Uid, order: Order, bucket: Bucket, entry: &Entry) -> Result<()> {
        let Some(at) = entry.arrived else { return Ok(()) };
        let (reason, time) = (EntryReason::Followed, entry.sort_key(order).time.0);
        let (kind, number, cells) = (reason_number(reason), bucket.number(), vec![cell(entry, at, order)]);
        let values = (entry.version.0, cells, owner.0, kind, number, time, uuid(entry.id));
        self.db.write(&table(reason, order).remove, values).await
    }

    async fn put_row(&self, at: Position, list: EntryList, row: &EntryRow<'_>) -> Result<()> {
        let EntryRow { entry, facet, ttl } = row;
        let EntryList { owner, order, reason } = list;
        let (sort_key, version) = (entry.sort_key(order), entry.version.0);
        let bucket = self.bucket_for(list, sort_key.time).await?;
        self.list(list, bucket, [facet.as_str()].into_iter()).await?;
        let (number, cells, id) = (bucket.number(), vec![cell(entry, at, order)], uuid(entry.id));
        let values = (version, ttl, &cells, owner.0, reason_number(reason), number, sort_key.time.0, id);
        let row = self.db.write(&table(reason, order).put, values);
        match runs(reason, order) {
            Some(runs) => {
                let kind = reason_number(reason);
                let values = (owner.0, kind, facet, number, sort_key.time.0, id, &cells, version, ttl);
                try_join(row, self.db.write(&runs.put, values)).await?;
            }
            None => row.await?,
        }
        self.keep_bounded(list, bucket, entry.id).await
    }
}

//! Delivering: rows in both orders, by facet too where filters are to be cheap, and the arrivals.

use super::super::CqlStore;
use super::super::db::uuid;
use super::directory::Line;
use super::row::{box_number, cell, facet_name};
use super::tables::{runs, table};
use crate::Result;
use futures::future::{try_join, try_join_all};
use futures::{StreamExt, TryStreamExt, stream};
use model::{Box, Entry, Order, Position, Uid};

/// How many deliveries are under way at once.
const UNDER_WAY: usize = 128;

impl CqlStore {
    /// Writes entries into collections, all arriving at `at`.
    pub(in crate::cql) async fn deliver_entries(
        &self,
        at: Position,
        deliveries: &[(Uid, Entry)],
    ) -> Result<()> {
        let each = deliveries.iter().map(|(owner, entry)| self.deliver_entry(at, *owner, entry));
        let all: Vec<_> = each.collect();
        stream::iter(all).buffer_unordered(UNDER_WAY).try_collect().await
    }

    /// Writes entries into a collection without their arriving there.
    pub(in crate::cql) async fn put_entries(
        &self,
        at: Position,
        owner: Uid,
        entries: &[Entry],
    ) -> Result<()> {
        let all: Vec<_> = entries.iter().map(|entry| self.put_rows(at, owner, entry)).collect();
        stream::iter(all).buffer_unordered(UNDER_WAY).try_collect().await
    }

    async fn deliver_entry(&self, at: Position, owner: Uid, entry: &Entry) -> Result<()> {
        self.put_rows(at, owner, entry).await?;
        // Whoever finds the arrival finds the entry.
        let arrival = |one: Box| self.put_arrival(owner, at, uuid(entry.id), box_number(one), entry.received);
        try_join_all(entry.boxes.iter().map(arrival)).await?;
        Ok(())
    }

    async fn put_rows(&self, at: Position, owner: Uid, entry: &Entry) -> Result<()> {
        let facet = facet_name(&entry.facet);
        let line = |one, order| Line { owner, order, one };
        let in_both_orders = |one| [line(one, Order::Received), line(one, Order::Published)];
        let rows = entry.boxes.iter().flat_map(in_both_orders);
        try_join_all(rows.map(|line| self.put_row(at, line, entry, &facet))).await?;
        Ok(())
    }

    async fn put_row(&self, at: Position, line: Line, entry: &Entry, facet: &str) -> Result<()> {
        let Line { owner, order, one } = line;
        let (spot, version) = (entry.spot(order), entry.version.0);
        let bucket = self.bucket_for(line, spot.time, facet).await?;
        let (number, cell, id) = (bucket.number(), cell(entry, at, order), uuid(entry.id));
        let values = (owner.0, box_number(one), number, spot.time.0, id, &cell, version);
        let row = self.db.write(&table(one, order).put, values);
        match runs(one, order) {
            Some(runs) => {
                let values = (owner.0, box_number(one), facet, number, spot.time.0, id, &cell, version);
                try_join(row, self.db.write(&runs.put, values)).await?;
            }
            None => row.await?,
        }
        self.keep_bounded(line, bucket, entry.id).await
    }
}

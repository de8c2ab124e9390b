//! The partitions of a slice: the account's buckets that may have rows of it, whole or by facet.

use super::super::CqlStore;
use super::super::db::{activity_id, uuid};
use super::buckets::Bucket;
use super::row::{Columns, before, entry, facet, reason_number};
use super::tables::{runs, table};
use crate::{Result, Slice};
use model::{ActivityId, Entry, EntryReason, Filter, Millis, Order, Range, SortKey};
use std::collections::VecDeque;
use uuid::Uuid;

/// Facets are read one by one if the filter selects at most this many of a bucket, or one in this many.
const FEW: usize = 8;

/// The factor by which portions grow, and the maximum number of rows per statement.
const GROWTH: usize = 4;
const MAX_PORTION: usize = 500;

/// A partition, read up to a point.
pub(super) struct PartitionReader {
    reason: EntryReason,
    bucket: Bucket,
    rows: Rows,
    /// No requested row is newer.
    pub(super) newest: i64,
    /// The upper bound (exclusive) and the lower bound (inclusive) of rows.
    below: SortKey,
    end: SortKey,
    /// Decoded when they are taken: a merge of several partitions needs only some of them.
    read: VecDeque<(SortKey, Columns)>,
    portion: usize,
    ended: bool,
}

/// The rows to read from a bucket.
enum Rows {
    All,
    /// All rows are read, and those that the filter does not select are left out.
    Selected,
    /// Only the rows of one facet.
    Of(String),
}

impl PartitionReader {
    /// The oldest time that it can have.
    pub(super) fn oldest(&self) -> i64 {
        self.bucket.first()
    }

    /// The sort key of the next row, after [`PartitionReader::fill`].
    pub(super) fn sort_key(&self) -> Option<SortKey> {
        self.read.front().map(|(sort_key, _)| *sort_key)
    }

    /// Takes the next row.
    pub(super) fn take(&mut self, order: Order) -> Result<Option<(EntryReason, Entry)>> {
        let Some((_, columns)) = self.read.pop_front() else { return Ok(None) };
        Ok(entry(&columns, self.reason, order)?.map(|row| (self.reason, row)))
    }

    /// Sets the size of the first portion. `remaining` is the number of rows still needed.
    pub(super) fn begin_with(&mut self, portion: usize, remaining: usize) {
        self.portion = match self.rows {
            Rows::Selected => remaining.saturating_mul(GROWTH),
            Rows::All | Rows::Of(_) => portion,
        };
    }

    /// Reads the next portion if no row is buffered.
    pub(super) async fn fill(&mut self, store: &CqlStore, slice: &Slice<'_>, remaining: usize) -> Result<()> {
        while self.read.is_empty() && !self.ended {
            let max = match self.rows {
                Rows::Selected => MAX_PORTION,
                Rows::All | Rows::Of(_) => MAX_PORTION.min(remaining),
            };
            let portion = self.portion.clamp(1, max.max(1));
            self.read_portion(store, slice, portion).await?;
            self.portion = self.portion.saturating_mul(GROWTH);
        }
        Ok(())
    }

    async fn read_portion(&mut self, store: &CqlStore, slice: &Slice<'_>, portion: usize) -> Result<()> {
        let (owner, order, number) = (slice.owner.0, slice.order, reason_number(self.reason));
        let (bucket, limit) = (self.bucket.number(), i32::try_from(portion).unwrap_or(i32::MAX));
        let (below, end) = ((self.below.time.0, uuid(self.below.id)), (self.end.time.0, uuid(self.end.id)));
        let rows: Vec<Columns> = match (&self.rows, runs(self.reason, order)) {
            (Rows::Of(facet), Some(runs)) => {
                let values = (owner, number, facet, bucket, below.0, below.1, end.0, end.1, limit);
                store.db.rows(&runs.read, values).await?
            }
            _ => {
                let values = (owner, number, bucket, below.0, below.1, end.0, end.1, limit);
                store.db.rows(&table(self.reason, order).read, values).await?
            }
        };
        self.ended = rows.len() < portion;
        for columns in rows {
            let (time, id, cells) = &columns;
            self.below = SortKey { time: Millis(*time), id: activity_id(*id)? };
            let is_read = match self.rows {
                Rows::Selected => entry(&columns, self.reason, order)?
                    .is_some_and(|entry| slice.filter.selects(&entry.facet)),
                // A row that expires has lost its cells first.
                Rows::All | Rows::Of(_) => cells.as_ref().is_some_and(|cells| !cells.is_empty()),
            };
            if is_read {
                self.read.push_back((self.below, columns));
            }
        }
        Ok(())
    }
}

/// The bounds of a slice.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Span {
    below: SortKey,
    end: SortKey,
    newest: i64,
}

impl Span {
    /// `None` if it is empty.
    pub(super) fn of(slice: &Slice<'_>) -> Option<Span> {
        let range = match slice.order {
            Order::Received => slice.filter.received,
            Order::Published => slice.filter.published,
        };
        let (below, end) = bounds(range, slice.after);
        // Below the smallest identifier of a time there are only older rows.
        let newest = if below.id == ActivityId::MIN { below.time.0.saturating_sub(1) } else { below.time.0 };
        (newest >= end.time.0).then_some(Span { below, end, newest })
    }

    /// Whether the bucket can have rows of the slice.
    pub(super) fn meets(&self, bucket: Bucket) -> bool {
        bucket.first() <= self.newest && bucket.last() >= self.end.time.0
    }

    /// The upper bound (exclusive) and the lower bound (inclusive).
    pub(super) fn bounds(&self) -> ((i64, Uuid), (i64, Uuid)) {
        ((self.below.time.0, uuid(self.below.id)), (self.end.time.0, uuid(self.end.id)))
    }
}

/// The partitions of a slice.
pub(super) async fn select_partitions(store: &CqlStore, slice: &Slice<'_>) -> Result<Vec<PartitionReader>> {
    let Some(span) = Span::of(slice) else { return Ok(Vec::new()) };
    let Span { below, end, newest } = span;
    let mut partitions = Vec::new();
    for (reason, bucket, rows) in rows_by_bucket(store, slice).await? {
        if slice.reasons.contains(reason) && span.meets(bucket) {
            let newest = newest.min(bucket.last());
            let (read, portion, ended) = (VecDeque::new(), 1, false);
            partitions.push(PartitionReader {
                reason,
                bucket,
                rows,
                newest,
                below,
                end,
                read,
                portion,
                ended,
            });
        }
    }
    Ok(partitions)
}

/// Whether a filter selects every facet.
pub(super) fn selects_every_facet(Filter { services, kinds, verbs, .. }: &Filter) -> bool {
    services.is_empty() && kinds.is_empty() && verbs.is_empty()
}

/// The rows to read from each bucket of the account.
async fn rows_by_bucket(store: &CqlStore, slice: &Slice<'_>) -> Result<Vec<(EntryReason, Bucket, Rows)>> {
    if selects_every_facet(slice.filter) {
        let buckets = store.buckets(slice.owner, slice.order).await?;
        return Ok(buckets.into_iter().map(|(reason, bucket)| (reason, bucket, Rows::All)).collect());
    }
    let mut all = Vec::new();
    for (reason, bucket, facets) in store.buckets_and_facets(slice.owner, slice.order).await? {
        all.extend(rows_of(slice, reason, facets)?.into_iter().map(|rows| (reason, bucket, rows)));
    }
    Ok(all)
}

/// The upper bound (exclusive) and the lower bound (inclusive) of a slice.
fn bounds(range: Range, after: Option<SortKey>) -> (SortKey, SortKey) {
    let before_range = before(range.before.map_or(i64::MAX, |time| time.0));
    let below = after.map_or(before_range, |after| after.min(before_range));
    (below, before(range.since.map_or(i64::MIN, |time| time.0)))
}

/// The rows to read from a bucket.
fn rows_of(slice: &Slice<'_>, reason: EntryReason, facets: Vec<String>) -> Result<Vec<Rows>> {
    let listed = facets.len();
    let mut selected = Vec::new();
    for name in facets {
        if slice.filter.selects(&facet(&name)?) {
            selected.push(name);
        }
    }
    let few = selected.len() <= FEW || selected.len() * FEW <= listed;
    Ok(if selected.is_empty() {
        Vec::new()
    } else if selected.len() == listed {
        vec![Rows::All]
    } else if few && runs(reason, slice.order).is_some() {
        selected.into_iter().map(Rows::Of).collect()
    } else {
        vec![Rows::Selected]
    })
}

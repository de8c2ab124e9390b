//! What a slice is read from: those of the account's buckets that can have something of it, whole or by facet.

use super::super::CqlStore;
use super::super::db::uuid;
use super::buckets::Bucket;
use super::row::{before, entry, facet, reason_number};
use super::tables::{runs, table};
use crate::{Result, Slice};
use model::{ActivityId, Entry, EntryReason, Filter, Order, Range, SortKey};
use std::collections::VecDeque;
use uuid::Uuid;

/// Facets are read one by one where the filter selects no more than this many of a bucket, or one in so many.
const FEW: usize = 8;

/// The factor by which portions grow, and how many rows a statement gives at most.
const GROWTH: usize = 4;
const LARGEST_PORTION: usize = 500;

/// A partition, read up to some point.
pub(super) struct Source {
    one: EntryReason,
    bucket: Bucket,
    rows: Rows,
    /// Nothing of it that is wanted is newer.
    pub(super) newest: i64,
    /// Rows come below this sort_key, and not below that one.
    below: SortKey,
    end: SortKey,
    read: VecDeque<Entry>,
    portion: usize,
    ended: bool,
}

/// Which of a bucket's rows.
enum Rows {
    All,
    /// All are read, and those that the filter does not select are left out.
    Selected,
    /// Those of one facet.
    Of(String),
}

impl Source {
    /// The first millisecond that it can have.
    pub(super) fn oldest(&self) -> i64 {
        self.bucket.first()
    }

    /// Where its next row stands; after [`Source::fill`] only.
    pub(super) fn sort_key(&self, order: Order) -> Option<SortKey> {
        self.read.front().map(|entry| entry.sort_key(order))
    }

    /// Takes its next row.
    pub(super) fn take(&mut self) -> Option<(EntryReason, Entry)> {
        self.read.pop_front().map(|entry| (self.one, entry))
    }

    /// Sets how much is read at first, `wanted` being as much as can be of use.
    pub(super) fn begin_with(&mut self, portion: usize, wanted: usize) {
        self.portion = match self.rows {
            Rows::Selected => wanted.saturating_mul(GROWTH),
            Rows::All | Rows::Of(_) => portion,
        };
    }

    /// Reads on where nothing is left of what was read before.
    pub(super) async fn fill(&mut self, store: &CqlStore, slice: &Slice<'_>, wanted: usize) -> Result<()> {
        while self.read.is_empty() && !self.ended {
            let most = match self.rows {
                Rows::Selected => LARGEST_PORTION,
                Rows::All | Rows::Of(_) => LARGEST_PORTION.min(wanted),
            };
            let portion = self.portion.clamp(1, most.max(1));
            self.read_portion(store, slice, portion).await?;
            self.portion = self.portion.saturating_mul(GROWTH);
        }
        Ok(())
    }

    async fn read_portion(&mut self, store: &CqlStore, slice: &Slice<'_>, portion: usize) -> Result<()> {
        let (owner, order, number) = (slice.owner.0, slice.order, reason_number(self.one));
        let (bucket, limit) = (self.bucket.number(), i32::try_from(portion).unwrap_or(i32::MAX));
        let (below, end) = ((self.below.time.0, uuid(self.below.id)), (self.end.time.0, uuid(self.end.id)));
        let rows = match (&self.rows, runs(self.one, order)) {
            (Rows::Of(facet), Some(runs)) => {
                let values = (owner, number, facet, bucket, below.0, below.1, end.0, end.1, limit);
                store.db.rows(&runs.read, values).await?
            }
            _ => {
                let values = (owner, number, bucket, below.0, below.1, end.0, end.1, limit);
                store.db.rows(&table(self.one, order).read, values).await?
            }
        };
        self.ended = rows.len() < portion;
        for columns in rows {
            let entry = entry(columns, self.one, order)?;
            self.below = entry.sort_key(order);
            if !matches!(self.rows, Rows::Selected) || slice.filter.selects(&entry.facet) {
                self.read.push_back(entry);
            }
        }
        Ok(())
    }
}

/// From where to where a slice goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Span {
    below: SortKey,
    end: SortKey,
    newest: i64,
}

impl Span {
    /// `None` if nothing can be in it.
    pub(super) fn of(slice: &Slice<'_>) -> Option<Span> {
        let range = match slice.order {
            Order::Received => slice.filter.received,
            Order::Published => slice.filter.published,
        };
        let (below, end) = bounds(range, slice.after);
        // Nothing is below the smallest identifier of a time but what is older.
        let newest = if below.id == ActivityId::MIN { below.time.0.saturating_sub(1) } else { below.time.0 };
        (newest >= end.time.0).then_some(Span { below, end, newest })
    }

    /// Whether something of it can be in that bucket.
    pub(super) fn meets(&self, bucket: Bucket) -> bool {
        bucket.first() <= self.newest && bucket.last() >= self.end.time.0
    }

    /// Rows come below the first of these, and not below the second.
    pub(super) fn bounds(&self) -> ((i64, Uuid), (i64, Uuid)) {
        ((self.below.time.0, uuid(self.below.id)), (self.end.time.0, uuid(self.end.id)))
    }
}

/// All sources of a slice.
pub(super) async fn pick(store: &CqlStore, slice: &Slice<'_>) -> Result<Vec<Source>> {
    let Some(span) = Span::of(slice) else { return Ok(Vec::new()) };
    let Span { below, end, newest } = span;
    let mut sources = Vec::new();
    for (one, bucket, rows) in rows_by_bucket(store, slice).await? {
        if slice.reasons.contains(one) && span.meets(bucket) {
            let newest = newest.min(bucket.last());
            let (read, portion, ended) = (VecDeque::new(), 1, false);
            sources.push(Source { one, bucket, rows, newest, below, end, read, portion, ended });
        }
    }
    Ok(sources)
}

/// Whether a filter leaves no facet out.
pub(super) fn takes_every_facet(Filter { services, kinds, verbs, .. }: &Filter) -> bool {
    services.is_empty() && kinds.is_empty() && verbs.is_empty()
}

/// How each bucket of the account is read.
async fn rows_by_bucket(store: &CqlStore, slice: &Slice<'_>) -> Result<Vec<(EntryReason, Bucket, Rows)>> {
    if takes_every_facet(slice.filter) {
        let buckets = store.buckets(slice.owner, slice.order).await?;
        return Ok(buckets.into_iter().map(|(one, bucket)| (one, bucket, Rows::All)).collect());
    }
    let mut all = Vec::new();
    for (one, bucket, facets) in store.buckets_and_facets(slice.owner, slice.order).await? {
        all.extend(rows_of(slice, one, facets)?.into_iter().map(|rows| (one, bucket, rows)));
    }
    Ok(all)
}

/// The sort_key that everything comes below, and the one that nothing comes below.
fn bounds(range: Range, after: Option<SortKey>) -> (SortKey, SortKey) {
    let before_range = before(range.before.map_or(i64::MAX, |time| time.0));
    let below = after.map_or(before_range, |after| after.min(before_range));
    (below, before(range.since.map_or(i64::MIN, |time| time.0)))
}

/// How a bucket is read.
fn rows_of(slice: &Slice<'_>, one: EntryReason, facets: Vec<String>) -> Result<Vec<Rows>> {
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
    } else if few && runs(one, slice.order).is_some() {
        selected.into_iter().map(Rows::Of).collect()
    } else {
        vec![Rows::Selected]
    })
}

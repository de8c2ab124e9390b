//! Slices of many accounts, read together: a page merged from very many accounts would otherwise need as many
//! statements.
//!
//! Buckets have the same numbers for all accounts, so one statement reads the same bucket of many. Accounts with
//! overlapping buckets are left to the [merge](super::merge).

use super::super::{CqlStore, Query, concurrently};
use super::buckets::Bucket;
use super::merge;
use super::partitions::{Span, selects_every_facet};
use super::row::{Cells, entry, reason_number};
use crate::{Result, Slice};
use model::{Entry, EntryReason, EntryReasons, Order, Uid};
use std::collections::HashMap;
use uuid::Uuid;

/// Partitions per statement.
pub(super) const PARTITIONS_PER_STATEMENT: usize = 100;
/// Longer slices are read one by one: together they would be too large for one response.
const MAX_LIMIT: usize = 100;

const READ_RECEIVED: Query = Query::read(
    "SELECT uid, received_ms, aid, entry FROM feed.own_received WHERE uid IN ? AND reason = ? AND bucket = ?
     AND (received_ms, aid) < (?, ?) AND (received_ms, aid) >= (?, ?) PER PARTITION LIMIT ?",
);
const READ_PUBLISHED: Query = Query::read(
    "SELECT uid, published_ms, aid, entry FROM feed.own_published WHERE uid IN ? AND reason = ? AND bucket = ?
     AND (published_ms, aid) < (?, ?) AND (published_ms, aid) >= (?, ?) PER PARTITION LIMIT ?",
);

/// The parameters that slices of several accounts share.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct SliceParams {
    order: Order,
    span: Span,
    limit: usize,
}

impl SliceParams {
    /// The parameters of a slice of authored entries. `None` if the slice needs a merge.
    fn of(slice: &Slice<'_>) -> Option<SliceParams> {
        let authored = EntryReasons::default().with(EntryReason::Authored);
        let simple = slice.reasons == authored
            && selects_every_facet(slice.filter)
            && (1..=MAX_LIMIT).contains(&slice.limit);
        let span = Span::of(slice).filter(|_| simple)?;
        Some(SliceParams { order: slice.order, span, limit: slice.limit })
    }
}

/// The progress of reading an account.
struct AccountProgress {
    owner: Uid,
    /// The buckets still to be read, the newest last.
    buckets: Vec<Bucket>,
    found: Vec<Entry>,
}

impl AccountProgress {
    /// `None` if buckets overlap, because one was divided.
    fn new(owner: Uid, mut buckets: Vec<Bucket>, span: &Span) -> Option<AccountProgress> {
        buckets.retain(|bucket| span.meets(*bucket));
        buckets.sort_unstable_by_key(|bucket| bucket.first());
        let is_disjoint = buckets.is_sorted_by(|bucket, next| bucket.last() < next.first());
        is_disjoint.then_some(AccountProgress { owner, buckets, found: Vec::new() })
    }
}

/// Reads slices; those with the same parameters together.
pub(super) async fn slices(store: &CqlStore, slices: &[Slice<'_>]) -> Result<Vec<Vec<Entry>>> {
    let mut by_params: HashMap<SliceParams, Vec<Uid>> = HashMap::new();
    for slice in slices {
        if let Some(params) = SliceParams::of(slice) {
            by_params.entry(params).or_default().push(slice.owner);
        }
    }
    let mut found: HashMap<(SliceParams, Uid), Vec<Entry>> = HashMap::new();
    for (params, owners) in by_params.into_iter().filter(|(_, owners)| owners.len() > 1) {
        let read = read(store, params, owners).await?;
        found.extend(read.into_iter().map(|account| ((params, account.owner), account.found)));
    }
    concurrently(slices.iter().map(|slice| {
        let known = SliceParams::of(slice).and_then(|params| found.get(&(params, slice.owner)));
        known_or_read(store, slice, known)
    }))
    .await
}

/// The slice that was read together with others, or else a merge.
async fn known_or_read(
    store: &CqlStore,
    slice: &Slice<'_>,
    known: Option<&Vec<Entry>>,
) -> Result<Vec<Entry>> {
    match known {
        Some(entries) => Ok(entries.clone()),
        None => merge::slice(store, slice).await,
    }
}

/// Reads the same slice of many accounts. Accounts that need a merge are missing.
async fn read(store: &CqlStore, params: SliceParams, mut owners: Vec<Uid>) -> Result<Vec<AccountProgress>> {
    owners.sort_unstable();
    owners.dedup();
    let listed = store.buckets_of_many(&owners, params.order, EntryReason::Authored).await?;
    let progress =
        listed.into_iter().filter_map(|(owner, buckets)| AccountProgress::new(owner, buckets, &params.span));
    let (mut open, mut ended): (Vec<AccountProgress>, Vec<AccountProgress>) =
        (progress.collect(), Vec::new());
    loop {
        let done =
            |account: &mut AccountProgress| account.buckets.is_empty() || account.found.len() >= params.limit;
        ended.extend(open.extract_if(.., done));
        if open.is_empty() {
            return Ok(ended);
        }
        let mut next: HashMap<Bucket, Vec<i64>> = HashMap::new();
        for account in &mut open {
            if let Some(bucket) = account.buckets.pop() {
                next.entry(bucket).or_default().push(account.owner.0);
            }
        }
        let mut parts = Vec::new();
        for (bucket, owners) in &next {
            let each = owners.chunks(PARTITIONS_PER_STATEMENT);
            parts.extend(each.map(|owners| read_bucket(store, params, *bucket, owners)));
        }
        let rows = concurrently(parts).await?;
        let mut by_owner: HashMap<Uid, Vec<Entry>> = HashMap::new();
        for (owner, entry) in rows.into_iter().flatten() {
            by_owner.entry(owner).or_default().push(entry);
        }
        for account in &mut open {
            account.found.extend(by_owner.remove(&account.owner).unwrap_or_default());
            account.found.truncate(params.limit);
        }
    }
}

/// The newest rows of one bucket of these accounts, in order per account.
async fn read_bucket(
    store: &CqlStore,
    SliceParams { order, span, limit }: SliceParams,
    bucket: Bucket,
    owners: &[i64],
) -> Result<Vec<(Uid, Entry)>> {
    let query = match order {
        Order::Received => &READ_RECEIVED,
        Order::Published => &READ_PUBLISHED,
    };
    let (below, end) = span.bounds();
    let limit = i32::try_from(limit).unwrap_or(i32::MAX);
    let values = (
        owners,
        reason_number(EntryReason::Authored),
        bucket.number(),
        below.0,
        below.1,
        end.0,
        end.1,
        limit,
    );
    let rows: Vec<(i64, i64, Uuid, Cells)> = store.db.rows(query, values).await?;
    let entries = rows.into_iter().map(|(owner, time, id, cells)| {
        let entry = entry(&(time, id, cells), EntryReason::Authored, order)?;
        Ok(entry.map(|entry| (Uid(owner), entry)))
    });
    entries.filter_map(Result::transpose).collect()
}

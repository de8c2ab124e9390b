//! What many accounts did, read together: a page that is merged from very many accounts would otherwise take as many
//! statements.
//!
//! Buckets have the same numbers for all, so one statement reads the same bucket of many accounts. Whoever's buckets do not
//! simply lie one behind the other is left to the [merge](super::merge), which can do everything.

use super::super::{CqlStore, Query, together};
use super::buckets::Bucket;
use super::merge;
use super::row::{entry, reason_number};
use super::sources::{Span, takes_every_facet};
use crate::{Result, Slice};
use model::{Entry, EntryReason, EntryReasons, Order, Uid};
use std::collections::HashMap;
use uuid::Uuid;

/// How many partitions are read by one statement.
pub(super) const TOGETHER: usize = 100;
/// Longer slices are read one by one: together they would be too much for one answer.
const LONGEST: usize = 100;

const READ_RECEIVED: Query = Query::read(
    "SELECT uid, received_ms, aid, entry FROM feed.own_received WHERE uid IN ? AND reason = ? AND bucket = ?
     AND (received_ms, aid) < (?, ?) AND (received_ms, aid) >= (?, ?) PER PARTITION LIMIT ?",
);
const READ_PUBLISHED: Query = Query::read(
    "SELECT uid, published_ms, aid, entry FROM feed.own_published WHERE uid IN ? AND reason = ? AND bucket = ?
     AND (published_ms, aid) < (?, ?) AND (published_ms, aid) >= (?, ?) PER PARTITION LIMIT ?",
);

/// What is asked of an account, the same of many.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Question {
    order: Order,
    span: Span,
    limit: usize,
}

impl Question {
    /// That of a slice of what its owner did; `None` if it is not as simple as that.
    fn of(slice: &Slice<'_>) -> Option<Question> {
        let did = EntryReasons::default().with(EntryReason::Authored);
        let simple =
            slice.reasons == did && takes_every_facet(slice.filter) && (1..=LONGEST).contains(&slice.limit);
        let span = Span::of(slice).filter(|_| simple)?;
        Some(Question { order: slice.order, span, limit: slice.limit })
    }
}

/// How far an account has been read.
struct Progress {
    owner: Uid,
    /// Those that are still to be read, the newest last.
    buckets: Vec<Bucket>,
    found: Vec<Entry>,
}

impl Progress {
    /// `None` if buckets overlap: then one was divided, and a time's rows are in several.
    fn new(owner: Uid, mut buckets: Vec<Bucket>, span: &Span) -> Option<Progress> {
        buckets.retain(|bucket| span.meets(*bucket));
        buckets.sort_unstable_by_key(|bucket| bucket.first());
        let in_a_row = buckets.is_sorted_by(|one, next| one.last() < next.first());
        in_a_row.then_some(Progress { owner, buckets, found: Vec::new() })
    }
}

/// Reads slices, those that are alike together.
pub(super) async fn slices(store: &CqlStore, slices: &[Slice<'_>]) -> Result<Vec<Vec<Entry>>> {
    let mut alike: HashMap<Question, Vec<Uid>> = HashMap::new();
    for slice in slices {
        if let Some(question) = Question::of(slice) {
            alike.entry(question).or_default().push(slice.owner);
        }
    }
    let mut found: HashMap<(Question, Uid), Vec<Entry>> = HashMap::new();
    for (question, owners) in alike.into_iter().filter(|(_, owners)| owners.len() > 1) {
        let read = read(store, question, owners).await?;
        found.extend(read.into_iter().map(|one| ((question, one.owner), one.found)));
    }
    together(slices.iter().map(|slice| {
        let known = Question::of(slice).and_then(|question| found.get(&(question, slice.owner)));
        known_or_read(store, slice, known)
    }))
    .await
}

/// A slice that is known already, or else is read by itself.
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

/// Asks the same of many. Those of whom it can't be asked like this are missing.
async fn read(store: &CqlStore, question: Question, mut owners: Vec<Uid>) -> Result<Vec<Progress>> {
    owners.sort_unstable();
    owners.dedup();
    let listed = store.buckets_of_many(&owners, question.order, EntryReason::Authored).await?;
    let begun =
        listed.into_iter().filter_map(|(owner, buckets)| Progress::new(owner, buckets, &question.span));
    let (mut open, mut ended): (Vec<Progress>, Vec<Progress>) = (begun.collect(), Vec::new());
    loop {
        let done = |one: &mut Progress| one.buckets.is_empty() || one.found.len() >= question.limit;
        ended.extend(open.extract_if(.., done));
        if open.is_empty() {
            return Ok(ended);
        }
        let mut next: HashMap<Bucket, Vec<i64>> = HashMap::new();
        for one in &mut open {
            if let Some(bucket) = one.buckets.pop() {
                next.entry(bucket).or_default().push(one.owner.0);
            }
        }
        let mut parts = Vec::new();
        for (bucket, owners) in &next {
            let each = owners.chunks(TOGETHER);
            parts.extend(each.map(|owners| read_bucket(store, question, *bucket, owners)));
        }
        let rows = together(parts).await?;
        let mut by_owner: HashMap<Uid, Vec<Entry>> = HashMap::new();
        for (owner, entry) in rows.into_iter().flatten() {
            by_owner.entry(owner).or_default().push(entry);
        }
        for one in &mut open {
            one.found.extend(by_owner.remove(&one.owner).unwrap_or_default());
            one.found.truncate(question.limit);
        }
    }
}

/// The newest rows of one bucket of these accounts; those of each are in order.
async fn read_bucket(
    store: &CqlStore,
    Question { order, span, limit }: Question,
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
    let rows: Vec<(i64, i64, Uuid, Vec<u8>)> = store.db.rows(query, values).await?;
    rows.into_iter()
        .map(|(owner, time, id, cell)| {
            Ok((Uid(owner), entry((time, id, cell), EntryReason::Authored, order)?))
        })
        .collect()
}

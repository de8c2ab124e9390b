//! Reads a slice as a merge of runs.
//!
//! A run has the rows of one facet and one reason, ordered by either time. The filter selects the runs, and the merge
//! reads no row that the filter excludes. So a filter that selects one row in a thousand costs no more than its page.
//! A run is opened when the merge reaches its newest time, which the directory has. Then its rows are read in growing
//! portions. At most four rows are read per row used, plus three per run.

use super::super::Counters;
use super::super::entries::facet_and_reason;
use super::super::facets::Facets;
use super::super::values::{corrupt, count};
use super::row::EntryRow;
use crate::feeds::merge_entries;
use crate::{Result, Slice};
use model::{ActivityId, Entry, EntryReason, Facet, Order, Range, SortKey, Uid};
use rusqlite::{CachedStatement, Connection, params};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

pub(super) const RUNS: &str = "SELECT run, received_ms, published_ms FROM run_of WHERE uid = ?1";

pub(super) const RECEIVED: &str = "SELECT aid, received_ms, published_ms, actor, ver, flags, seq
     FROM entry WHERE uid = ?1 AND run = ?2 AND (received_ms, aid) < (?3, ?4) AND received_ms >= ?5
     ORDER BY received_ms DESC, aid DESC LIMIT ?6";

pub(super) const PUBLISHED: &str = "SELECT aid, received_ms, published_ms, actor, ver, flags, seq
     FROM entry INDEXED BY entry_published
     WHERE uid = ?1 AND run = ?2 AND (published_ms, aid) < (?3, ?4) AND published_ms >= ?5
     ORDER BY published_ms DESC, aid DESC LIMIT ?6";

/// The size of the first portion of a run, and the factor by which portions grow.
const FIRST_PORTION: usize = 3;
const GROWTH: usize = 4;

/// Above every identifier of the same time.
const TOP: [u8; 16] = [u8::MAX; 16];

/// Reads a slice.
pub(super) fn slice(
    connection: &Connection,
    facets: &Facets,
    counters: &Counters,
    slice: &Slice<'_>,
) -> Result<Vec<Entry>> {
    if slice.limit == 0 {
        return Ok(Vec::new());
    }
    let mut reader = RowReader::new(connection, slice)?;
    let mut runs = select_runs(connection, facets, counters, slice)?;
    if let [alone] = &mut runs[..] {
        alone.portion = slice.limit;
    }
    let mut heads: BinaryHeap<Head> = runs
        .iter()
        .enumerate()
        .map(|(index, run)| Head { at: (run.newest, TOP), row: None, index })
        .collect();

    let mut entries = Vec::with_capacity(slice.limit.min(256));
    let mut taken_from = Vec::with_capacity(EntryReason::ALL.len());
    while let Some(head) = heads.pop() {
        let Some(row) = head.row else {
            let run = runs.get_mut(head.index).ok_or_else(|| corrupt("head without a run"))?;
            heads.extend(reader.head(run, head.index, slice.limit - entries.len())?);
            continue;
        };
        let mut entry = entry_of(&runs, head.index, &row)?;
        taken_from.clear();
        taken_from.push(head.index);
        // A run that could have the same sort key is ahead of it in the heap until it is opened. So all of them are
        // open now.
        while let Some(same) = next_if(&mut heads, head.at) {
            let Some(row) = &same.row else { continue };
            entry = merge_entries(entry, entry_of(&runs, same.index, row)?);
            taken_from.push(same.index);
        }
        entries.push(entry);
        let remaining = slice.limit - entries.len();
        if remaining == 0 {
            break;
        }
        for &index in &taken_from {
            let Some(run) = runs.get_mut(index) else { continue };
            heads.extend(reader.head(run, index, remaining)?);
        }
    }
    counters.add_rows(reader.stepped);
    Ok(entries)
}

/// The account's runs that may have rows of the slice.
fn select_runs(
    connection: &Connection,
    facets: &Facets,
    counters: &Counters,
    slice: &Slice<'_>,
) -> Result<Vec<Run>> {
    let (range, _) = range_and_statement(slice);
    let below = Bound::start(range, slice.after);
    let mut statement = connection.prepare_cached(RUNS)?;
    let mut rows = statement.query([slice.owner.0])?;
    let mut runs = Vec::new();
    let mut seen = 0;
    let mut facets = facets.view();
    while let Some(row) = rows.next()? {
        seen += 1;
        let (number, received, published): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (facet, reason) = facet_and_reason(number).ok_or_else(|| corrupt("invalid run number"))?;
        let newest = match slice.order {
            Order::Received => received,
            Order::Published => published,
        };
        if !slice.reasons.contains(reason) || range.since.is_some_and(|since| newest < since.0) {
            continue;
        }
        let facet = facets.get(connection, facet)?;
        if slice.filter.selects(facet) {
            let newest = newest.min(below.time);
            // A run that continues from the middle may have nothing for this page. One that begins here has its
            // newest row.
            let (read, portion) = (VecDeque::new(), if newest < below.time { FIRST_PORTION } else { 1 });
            runs.push(Run {
                number,
                reason,
                facet: Arc::clone(facet),
                newest,
                read,
                below,
                portion,
                ended: false,
            });
        }
    }
    counters.add_runs(seen);
    Ok(runs)
}

fn range_and_statement(slice: &Slice<'_>) -> (Range, &'static str) {
    match slice.order {
        Order::Received => (slice.filter.received, RECEIVED),
        Order::Published => (slice.filter.published, PUBLISHED),
    }
}

/// A run, read up to a point.
struct Run {
    number: i64,
    reason: EntryReason,
    facet: Arc<Facet>,
    /// No requested row is newer.
    newest: i64,
    read: VecDeque<EntryRow>,
    below: Bound,
    portion: usize,
    ended: bool,
}

/// An upper bound of rows: below a sort key, or below every sort key of a time.
#[derive(Clone, Copy)]
struct Bound {
    time: i64,
    id: Option<ActivityId>,
}

impl Bound {
    fn start(range: Range, after: Option<SortKey>) -> Bound {
        let before = range.before.map_or(i64::MAX, |before| before.0);
        match after {
            Some(sort_key) if sort_key.time.0 < before => {
                Bound { time: sort_key.time.0, id: Some(sort_key.id) }
            }
            _ => Bound { time: before, id: None },
        }
    }
}

/// The statement that reads rows, and its constant parameters.
struct RowReader<'a> {
    statement: CachedStatement<'a>,
    owner: Uid,
    order: Order,
    since: i64,
    stepped: u64,
}

impl<'a> RowReader<'a> {
    fn new(connection: &'a Connection, slice: &Slice<'_>) -> Result<RowReader<'a>> {
        let (range, statement) = range_and_statement(slice);
        Ok(RowReader {
            statement: connection.prepare_cached(statement)?,
            owner: slice.owner,
            order: slice.order,
            since: range.since.map_or(i64::MIN, |since| since.0),
            stepped: 0,
        })
    }

    fn sort_key(&self, row: &EntryRow) -> SortKey {
        let time = match self.order {
            Order::Received => row.received,
            Order::Published => row.published,
        };
        SortKey { time, id: row.id }
    }

    /// The next row of a run, for the heap.
    fn head(&mut self, run: &mut Run, index: usize, remaining: usize) -> Result<Option<Head>> {
        let row = self.next(run, remaining)?;
        Ok(row.map(|row| {
            let sort_key = self.sort_key(&row);
            Head { at: (sort_key.time.0, *sort_key.id.as_bytes()), row: Some(row), index }
        }))
    }

    /// The next row of a run. If none is buffered, reads a portion, but no more than `wanted`.
    fn next(&mut self, run: &mut Run, remaining: usize) -> Result<Option<EntryRow>> {
        if run.read.is_empty() && !run.ended {
            let portion = run.portion.min(remaining);
            let id: &[u8] = run.below.id.as_ref().map_or(&[], |id| id.as_bytes());
            let bounds = params![self.owner.0, run.number, run.below.time, id, self.since, count(portion)];
            let mut rows = self.statement.query(bounds)?;
            while let Some(row) = rows.next()? {
                run.read.push_back(EntryRow::read(row)?);
            }
            drop(rows);
            self.stepped += run.read.len() as u64;
            run.ended = run.read.len() < portion;
            run.portion = run.portion.saturating_mul(GROWTH);
            if let Some(last) = run.read.back().map(|row| self.sort_key(row)) {
                run.below = Bound { time: last.time.0, id: Some(last.id) };
            }
        }
        Ok(run.read.pop_front())
    }
}

/// The next row of a run; for a run that is not open, the upper bound of its rows.
struct Head {
    at: (i64, [u8; 16]),
    row: Option<EntryRow>,
    index: usize,
}

fn entry_of(runs: &[Run], index: usize, row: &EntryRow) -> Result<Entry> {
    let run = runs.get(index).ok_or_else(|| corrupt("row without a run"))?;
    row.entry(&run.facet, run.reason)
}

fn next_if(heads: &mut BinaryHeap<Head>, at: (i64, [u8; 16])) -> Option<Head> {
    if heads.peek().is_some_and(|next| next.at == at) { heads.pop() } else { None }
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> Ordering {
        self.at.cmp(&other.at).then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

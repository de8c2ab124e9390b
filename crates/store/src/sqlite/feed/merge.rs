//! A slice is a merge of runs.
//!
//! A run is one facet in one box: its rows lie in order, in either order of time. The filter picks the runs,
//! and the merge reads no row that the filter leaves out, so that a filter that selects one in a thousand
//! costs what the page costs. Every run is asked for its first row only, then for more in growing portions
//! while its rows are taken: rows read are at most four for each row taken and one for each run.

use super::super::Counters;
use super::super::entries::facet_and_box;
use super::super::facets::Facets;
use super::super::values::{corrupt, count};
use super::row::EntryRow;
use crate::entries::joined;
use crate::{Result, Slice};
use model::{ActivityId, Box, Entry, Facet, Order, Range, Spot, Uid};
use rusqlite::{CachedStatement, Connection, params};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

pub(super) const RUNS: &str = "SELECT run FROM run_of WHERE uid = ?1";

pub(super) const RECEIVED: &str = "SELECT aid, received_ms, published_ms, actor, ver, flags, seq
     FROM entry WHERE uid = ?1 AND run = ?2 AND (received_ms, aid) < (?3, ?4) AND received_ms >= ?5
     ORDER BY received_ms DESC, aid DESC LIMIT ?6";

pub(super) const PUBLISHED: &str = "SELECT aid, received_ms, published_ms, actor, ver, flags, seq
     FROM entry INDEXED BY entry_published
     WHERE uid = ?1 AND run = ?2 AND (published_ms, aid) < (?3, ?4) AND published_ms >= ?5
     ORDER BY published_ms DESC, aid DESC LIMIT ?6";

/// Portions grow by this factor.
const GROWTH: usize = 4;

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
    let mut source = Source::new(connection, slice)?;
    let mut runs = pick(connection, facets, counters, slice)?;
    // A run that is alone is read as it is wanted.
    let first = if runs.len() == 1 { slice.limit } else { 1 };
    let mut heads = BinaryHeap::with_capacity(runs.len());
    for (index, run) in runs.iter_mut().enumerate() {
        run.portion = first;
        heads.extend(source.next(run, slice.limit)?.map(|row| Head { spot: source.spot(&row), row, index }));
    }

    let mut entries = Vec::with_capacity(slice.limit.min(256));
    let mut taken_from = Vec::with_capacity(Box::ALL.len());
    while let Some(head) = heads.pop() {
        let mut entry = head.entry(&runs)?;
        taken_from.clear();
        taken_from.push(head.index);
        while let Some(same) = next_if(&mut heads, head.spot) {
            entry = joined(entry, same.entry(&runs)?);
            taken_from.push(same.index);
        }
        entries.push(entry);
        let wanted = slice.limit - entries.len();
        if wanted == 0 {
            break;
        }
        for &index in &taken_from {
            let Some(run) = runs.get_mut(index) else { continue };
            heads.extend(source.next(run, wanted)?.map(|row| Head { spot: source.spot(&row), row, index }));
        }
    }
    counters.add_rows(source.stepped);
    Ok(entries)
}

/// The account's runs that the slice is made of.
fn pick(
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
    while let Some(row) = rows.next()? {
        seen += 1;
        let number = row.get(0)?;
        let (facet, one) = facet_and_box(number).ok_or_else(|| corrupt("a run in no box"))?;
        if !slice.boxes.contains(one) {
            continue;
        }
        let facet = facets.one(connection, facet)?;
        if slice.filter.selects(&facet) {
            runs.push(Run { number, one, facet, read: VecDeque::new(), below, portion: 1, ended: false });
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

/// A facet in a box, read up to some point.
struct Run {
    number: i64,
    one: Box,
    facet: Arc<Facet>,
    read: VecDeque<EntryRow>,
    below: Bound,
    portion: usize,
    ended: bool,
}

/// Rows come below this: below a spot, or below every spot of a time.
#[derive(Clone, Copy)]
struct Bound {
    time: i64,
    id: Option<ActivityId>,
}

impl Bound {
    fn start(range: Range, after: Option<Spot>) -> Bound {
        let before = range.before.map_or(i64::MAX, |before| before.0);
        match after {
            Some(spot) if spot.time.0 < before => Bound { time: spot.time.0, id: Some(spot.id) },
            _ => Bound { time: before, id: None },
        }
    }
}

/// Where rows come from: the statement, and what stays the same whenever it is asked.
struct Source<'a> {
    statement: CachedStatement<'a>,
    owner: Uid,
    order: Order,
    since: i64,
    stepped: u64,
}

impl<'a> Source<'a> {
    fn new(connection: &'a Connection, slice: &Slice<'_>) -> Result<Source<'a>> {
        let (range, statement) = range_and_statement(slice);
        Ok(Source {
            statement: connection.prepare_cached(statement)?,
            owner: slice.owner,
            order: slice.order,
            since: range.since.map_or(i64::MIN, |since| since.0),
            stepped: 0,
        })
    }

    fn spot(&self, row: &EntryRow) -> Spot {
        let time = match self.order {
            Order::Received => row.received,
            Order::Published => row.published,
        };
        Spot { time, id: row.id }
    }

    /// The run's next row; where none is left over from before, as many are read as the run's portion says,
    /// but no more than are wanted.
    fn next(&mut self, run: &mut Run, wanted: usize) -> Result<Option<EntryRow>> {
        if run.read.is_empty() && !run.ended {
            let portion = run.portion.min(wanted);
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
            if let Some(last) = run.read.back().map(|row| self.spot(row)) {
                run.below = Bound { time: last.time.0, id: Some(last.id) };
            }
        }
        Ok(run.read.pop_front())
    }
}

/// The first row of a run that is not taken yet.
struct Head {
    spot: Spot,
    row: EntryRow,
    index: usize,
}

impl Head {
    fn entry(&self, runs: &[Run]) -> Result<Entry> {
        let run = runs.get(self.index).ok_or_else(|| corrupt("a row of no run"))?;
        self.row.entry(&run.facet, run.one)
    }
}

fn next_if(heads: &mut BinaryHeap<Head>, spot: Spot) -> Option<Head> {
    if heads.peek().is_some_and(|next| next.spot == spot) { heads.pop() } else { None }
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> Ordering {
        self.spot.cmp(&other.spot).then(self.index.cmp(&other.index))
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

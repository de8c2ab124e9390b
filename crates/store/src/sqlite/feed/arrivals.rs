//! Arrivals: entries by position, and changes that have no entry.

use super::super::Counters;
use super::super::entries::facet_and_reason;
use super::super::facets::Facets;
use super::super::values::{corrupt, count, position, seq};
use super::row::EntryRow;
use crate::feeds::merge_entries;
use crate::{Arrival, Result};
use model::{ArrivalOffset, Entry, Position, Uid};
use rusqlite::{Connection, params};

/// In index order, so that reading can stop at any row.
pub(super) const ARRIVALS: &str = "SELECT aid, received_ms, published_ms, actor, ver, flags, seq, run
     FROM entry INDEXED BY entry_arrival WHERE uid = ?1 AND (seq, aid) > (?2, ?3) AND seq <= ?4
     ORDER BY seq, aid";

/// Only authored entries: the runs of the first reason.
pub(super) const OWN: &str = "SELECT aid, received_ms, published_ms, actor, ver, flags, seq, run
     FROM entry INDEXED BY entry_own WHERE uid = ?1 AND (seq, aid) > (?2, ?3) AND seq <= ?4 AND run % 4 = 0
     ORDER BY seq, aid";

/// A change comes after the entries of its position.
pub(super) const CHANGES: &str =
    "SELECT seq FROM change WHERE uid = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq LIMIT ?4";

/// Sorts after every identifier.
const AFTER_ALL: &[u8] = &[0xff; 17];

/// A request for arrivals.
#[derive(Clone, Copy)]
pub(super) struct ArrivalQuery {
    pub(super) after: ArrivalOffset,
    pub(super) floor: Position,
    pub(super) limit: usize,
}

/// Reads arrivals. The rows of one activity at one position become one entry.
pub(super) fn read(
    connection: &Connection,
    facets: &Facets,
    counters: &Counters,
    owner: Uid,
    query: ArrivalQuery,
) -> Result<Vec<Arrival>> {
    let ArrivalQuery { after, floor, limit } = query;
    let entries = entries(connection, ARRIVALS, facets, counters, owner, query)?;
    // If the offset is inside a position, the change of that position has not been read yet.
    let from = if after.inside.is_some() { seq(after.position) - 1 } else { seq(after.position) };
    let mut statement = connection.prepare_cached(CHANGES)?;
    let mut rows = statement.query(params![owner.0, from, seq(floor), count(limit)])?;
    let mut all: Vec<Arrival> = entries.into_iter().map(Arrival::Entry).collect();
    let full = all.len() == limit;
    while let Some(row) = rows.next()? {
        all.push(Arrival::Change(position(row, 0)?));
    }
    // Stable, so that a change stays after the entries of its position.
    all.sort_by_key(|arrival| match arrival {
        Arrival::Entry(entry) => entry.arrived,
        Arrival::Change(position) => Some(*position),
    });
    // Entries beyond the last one read may precede the changes after it.
    if full && let Some(last) = all.iter().rposition(|arrival| matches!(arrival, Arrival::Entry(_))) {
        all.truncate(last + 1);
    }
    all.truncate(limit);
    Ok(all)
}

/// The arriving entries, read by [`ARRIVALS`] or [`OWN`].
pub(super) fn entries(
    connection: &Connection,
    statement: &str,
    facets: &Facets,
    counters: &Counters,
    owner: Uid,
    ArrivalQuery { after, floor, limit }: ArrivalQuery,
) -> Result<Vec<Entry>> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    let inside: &[u8] = after.inside.as_ref().map_or(AFTER_ALL, |id| id.as_bytes());
    let mut statement = connection.prepare_cached(statement)?;
    let mut rows = statement.query(params![owner.0, seq(after.position), inside, seq(floor)])?;
    let mut entries: Vec<Entry> = Vec::new();
    let mut stepped = 0;
    let mut facets = facets.view();
    while let Some(row) = rows.next()? {
        stepped += 1;
        let (facet, reason) = facet_and_reason(row.get(7)?).ok_or_else(|| corrupt("invalid run number"))?;
        let found = EntryRow::read(row)?;
        let last = entries.pop_if(|last| last.id == found.id && last.arrived == Some(found.arrived));
        if last.is_none() && entries.len() == limit {
            break;
        }
        let facet = facets.get(connection, facet)?;
        let entry = found.entry(facet, reason)?;
        entries.push(match last {
            Some(last) => merge_entries(last, entry),
            None => entry,
        });
    }
    counters.add_rows(stepped);
    Ok(entries)
}

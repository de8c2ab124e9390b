//! Arrivals: entries by the position of their delivery.

use super::super::Counters;
use super::super::entries::facet_and_box;
use super::super::facets::Facets;
use super::super::values::{corrupt, seq};
use super::row::EntryRow;
use crate::Result;
use crate::entries::joined;
use model::{Entry, Place, Position, Uid};
use rusqlite::{Connection, params};

/// In the order of the index, so that reading can stop at any row.
pub(super) const ARRIVALS: &str = "SELECT aid, received_ms, published_ms, actor, ver, flags, seq, run
     FROM entry INDEXED BY entry_arrival WHERE uid = ?1 AND (seq, aid) > (?2, ?3) AND seq <= ?4
     ORDER BY seq, aid";

/// Sorts after every identifier.
const AFTER_ALL: &[u8] = &[0xff; 17];

/// Reads arrivals, the rows of one activity at one position as one entry.
pub(super) fn read(
    connection: &Connection,
    facets: &Facets,
    counters: &Counters,
    owner: Uid,
    after: Place,
    floor: Position,
    limit: usize,
) -> Result<Vec<Entry>> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    let inside: &[u8] = after.inside.as_ref().map_or(AFTER_ALL, |id| id.as_bytes());
    let mut statement = connection.prepare_cached(ARRIVALS)?;
    let mut rows = statement.query(params![owner.0, seq(after.position), inside, seq(floor)])?;
    let mut entries: Vec<Entry> = Vec::new();
    let mut stepped = 0;
    let mut facets = facets.view();
    while let Some(row) = rows.next()? {
        stepped += 1;
        let (facet, one) = facet_and_box(row.get(7)?).ok_or_else(|| corrupt("a run in no box"))?;
        let found = EntryRow::read(row)?;
        let last = entries.pop_if(|last| last.id == found.id && last.arrived == Some(found.arrived));
        if last.is_none() && entries.len() == limit {
            break;
        }
        let facet = facets.one(connection, facet)?;
        let entry = found.entry(facet, one)?;
        entries.push(match last {
            Some(last) => joined(last, entry),
            None => entry,
        });
    }
    counters.add_rows(stepped);
    Ok(entries)
}

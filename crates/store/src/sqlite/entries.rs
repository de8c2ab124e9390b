//! Writing entries.

use super::facets::Facets;
use super::values::{entry_flags, seq};
use crate::Result;
use model::{Box, Entry, Position, Uid};
use rusqlite::{Connection, params};

/// Facet, received and published never change, so an entry's keys never move. The latest version says what it is, of
/// equal versions the later position; one that is overtaken was here before. So the order of writes is nothing.
const PUT: &str = "INSERT INTO entry (uid, run, received_ms, aid, published_ms, actor, ver, flags, seq)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
     ON CONFLICT (uid, run, received_ms, aid) DO UPDATE SET
     flags = (iif((excluded.ver, excluded.seq) > (entry.ver, entry.seq), excluded.flags, entry.flags) & 7)
       | (min(iif(entry.flags & 24, entry.flags & 24, 32), iif(excluded.flags & 24, excluded.flags & 24, 32),
         CASE WHEN (excluded.ver, excluded.seq) > (entry.ver, entry.seq)
                THEN iif(entry.flags & 4, 32, 8 + 8 * (entry.flags & 3))
              WHEN (excluded.ver, excluded.seq) < (entry.ver, entry.seq)
                THEN iif(excluded.flags & 4, 32, 8 + 8 * (excluded.flags & 3))
              ELSE 32 END) & 24),
     seq = iif((excluded.ver, excluded.seq) > (entry.ver, entry.seq), excluded.seq, entry.seq),
     ver = max(excluded.ver, entry.ver)";

const NOTE_RUN: &str = "INSERT INTO run_of (uid, run, received_ms, published_ms) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (uid, run) DO UPDATE SET received_ms = max(received_ms, excluded.received_ms),
     published_ms = max(published_ms, excluded.published_ms)
     WHERE excluded.received_ms > received_ms OR excluded.published_ms > published_ms";

/// The number of a run: a facet in a box.
fn run(facet: i64, one: Box) -> i64 {
    facet * 4 + i64::from(one.number())
}

/// Facet and box of a run, if there is such a box.
pub(super) fn facet_and_box(run: i64) -> Option<(i64, Box)> {
    let one = Box::ALL.into_iter().find(|one| i64::from(one.number()) == run & 3);
    one.map(|one| (run >> 2, one))
}

/// Writes an entry into the account's collection, a row for each of its boxes, within the present
/// transaction.
pub(super) fn put(
    connection: &Connection,
    facets: &Facets,
    owner: Uid,
    entry: &Entry,
    at: Position,
) -> Result<()> {
    let facet = facets.number(connection, &entry.facet)?;
    for one in entry.boxes.iter() {
        let run = run(facet, one);
        let newest = [owner.0, run, entry.received.0, entry.published.0];
        connection.prepare_cached(NOTE_RUN)?.execute(newest)?;
        connection.prepare_cached(PUT)?.execute(params![
            owner.0,
            run,
            entry.received.0,
            entry.id.as_bytes(),
            entry.published.0,
            entry.actor.0,
            entry.version.0,
            entry_flags(entry),
            seq(at)
        ])?;
    }
    Ok(())
}

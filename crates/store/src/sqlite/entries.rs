//! Writing entries.

use super::facets::Facets;
use super::values::{entry_flags, seq};
use crate::Result;
use model::{Entry, EntryReason, Position, Uid};
use rusqlite::{Connection, params};

/// Facet, received and published never change, so an entry's keys never move. The rest is as the latest write says, by
/// version, then position, then who could see what was before, the wider later. So the order of writes is nothing.
const PUT: &str = "INSERT INTO entry (uid, run, received_ms, aid, published_ms, actor, ver, flags, seq)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
     ON CONFLICT (uid, run, received_ms, aid) DO UPDATE
     SET ver = excluded.ver, flags = excluded.flags, seq = excluded.seq
     WHERE (excluded.ver, excluded.seq, excluded.flags / 8 % 4) > (entry.ver, entry.seq, entry.flags / 8 % 4)";

const NOTE_RUN: &str = "INSERT INTO run_of (uid, run, received_ms, published_ms) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (uid, run) DO UPDATE SET received_ms = max(received_ms, excluded.received_ms),
     published_ms = max(published_ms, excluded.published_ms)
     WHERE excluded.received_ms > received_ms OR excluded.published_ms > published_ms";

/// The number of a run: a facet in a reason.
pub(super) fn run(facet: i64, one: EntryReason) -> i64 {
    facet * 4 + i64::from(one.number())
}

/// Facet and reason of a run, if there is such a reason.
pub(super) fn facet_and_reason(run: i64) -> Option<(i64, EntryReason)> {
    let one = EntryReason::ALL.into_iter().find(|one| i64::from(one.number()) == run & 3);
    one.map(|one| (run >> 2, one))
}

/// Writes an entry into the account's collection, a row for each of its reasons, within the present
/// transaction.
pub(super) fn put(
    connection: &Connection,
    facets: &Facets,
    owner: Uid,
    entry: &Entry,
    at: Position,
) -> Result<()> {
    let facet = facets.number(connection, &entry.facet)?;
    for one in entry.reasons.iter() {
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

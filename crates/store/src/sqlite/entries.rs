//! Writing entries.

use super::changes::note_of;
use super::facets::Facets;
use super::values::{entry_flags, seq};
use crate::{Part, Result};
use model::{Entry, EntryReason, Position, Uid};
use rusqlite::{CachedStatement, Connection, params};

/// Facet and times never change, so the keys of an entry never move. The other columns come from the latest write by
/// version, then position, then prior visibility (the wider wins). So the order of writes does not matter.
const PUT: &str = "INSERT INTO entry (uid, run, received_ms, aid, published_ms, actor, ver, flags, seq)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
     ON CONFLICT (uid, run, received_ms, aid) DO UPDATE
     SET ver = excluded.ver, flags = excluded.flags, seq = excluded.seq
     WHERE (excluded.ver, excluded.seq, excluded.flags / 8 % 4) > (entry.ver, entry.seq, entry.flags / 8 % 4)";

const PUT_RUN: &str = "INSERT INTO run_of (uid, run, received_ms, published_ms, oldest_ms)
     VALUES (?1, ?2, ?3, ?4, ?3)
     ON CONFLICT (uid, run) DO UPDATE SET received_ms = max(received_ms, excluded.received_ms),
     published_ms = max(published_ms, excluded.published_ms), oldest_ms = min(oldest_ms, excluded.oldest_ms)
     WHERE excluded.received_ms > received_ms OR excluded.published_ms > published_ms
     OR excluded.oldest_ms < oldest_ms";

/// The number of a run, for a facet and a reason.
pub(super) fn run(facet: i64, reason: EntryReason) -> i64 {
    facet * 4 + i64::from(reason.number())
}

/// Facet and reason of a run. `None` if the number is invalid.
pub(super) fn facet_and_reason(run: i64) -> Option<(i64, EntryReason)> {
    let reason = EntryReason::ALL.into_iter().find(|reason| i64::from(reason.number()) == run & 3);
    reason.map(|reason| (run >> 2, reason))
}

/// Writes entries within the current transaction.
pub(super) struct EntryWriter<'a> {
    connection: &'a Connection,
    facets: &'a Facets,
    put: CachedStatement<'a>,
    put_run: CachedStatement<'a>,
}

impl EntryWriter<'_> {
    pub(super) fn new<'a>(connection: &'a Connection, facets: &'a Facets) -> Result<EntryWriter<'a>> {
        let (put, put_run) = (connection.prepare_cached(PUT)?, connection.prepare_cached(PUT_RUN)?);
        Ok(EntryWriter { connection, facets, put, put_run })
    }

    /// Writes an entry into a collection, one row per reason.
    pub(super) fn put(&mut self, owner: Uid, entry: &Entry, at: Position) -> Result<()> {
        note_of(Part::Collection, owner);
        let facet = self.facets.number(self.connection, &entry.facet)?;
        for reason in entry.reasons.iter() {
            let run = run(facet, reason);
            self.put_run.execute([owner.0, run, entry.received.0, entry.published.0])?;
            self.put.execute(params![
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
}

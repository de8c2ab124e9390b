//! Followed entries, found by the authored entries of the same activities.

use super::super::changes::note_of;
use super::super::entries::run;
use super::super::facets::Facets;
use super::super::values::seq;
use super::row::EntryRow;
use crate::{Part, Result};
use model::{Entry, EntryReason, Uid};
use rusqlite::{Connection, params};

pub(super) const FOLLOWED: &str = "SELECT aid, received_ms, published_ms, actor, ver, flags, seq FROM entry
     WHERE uid = ?1 AND run = ?2 AND received_ms = ?3 AND aid = ?4";

const REMOVE: &str = "DELETE FROM entry WHERE uid = ?1 AND run = ?2 AND received_ms = ?3 AND aid = ?4
     AND ver = ?5 AND seq = ?6";

/// Removes a followed entry, unless another version or position is stored.
pub(in crate::sqlite) fn remove(
    connection: &Connection,
    facets: &Facets,
    owner: Uid,
    entry: &Entry,
) -> Result<()> {
    let (Some(facet), Some(at)) = (facets.find(connection, &entry.facet)?, entry.arrived) else {
        return Ok(());
    };
    note_of(Part::Collection, owner);
    let run = run(facet, EntryReason::Followed);
    let key = params![owner.0, run, entry.received.0, entry.id.as_bytes(), entry.version.0, seq(at)];
    connection.prepare_cached(REMOVE)?.execute(key)?;
    Ok(())
}

/// Looks up the followed entry of each authored entry.
pub(in crate::sqlite) fn entries(
    connection: &Connection,
    facets: &Facets,
    owner: Uid,
    own: &[Entry],
) -> Result<Vec<Option<Entry>>> {
    let mut statement = connection.prepare_cached(FOLLOWED)?;
    let mut find = |own: &Entry| {
        let Some(facet) = facets.find(connection, &own.facet)? else { return Ok(None) };
        let key = params![owner.0, run(facet, EntryReason::Followed), own.received.0, own.id.as_bytes()];
        let row = statement.query(key)?.next()?.map(EntryRow::read).transpose()?;
        row.map(|row| row.entry(&own.facet, EntryReason::Followed)).transpose()
    };
    own.iter().map(&mut find).collect()
}

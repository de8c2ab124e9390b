//! Followed entries, found by the authored entries of the same activities.

use super::super::entries::run;
use super::super::facets::Facets;
use super::row::EntryRow;
use crate::Result;
use model::{Entry, EntryReason, Uid};
use rusqlite::{Connection, params};

pub(super) const FOLLOWED: &str = "SELECT aid, received_ms, published_ms, actor, ver, flags, seq FROM entry
     WHERE uid = ?1 AND run = ?2 AND received_ms = ?3 AND aid = ?4";

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

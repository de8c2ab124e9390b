//! A row of a collection: an activity with one reason.

use super::super::values::{activity_id, millis, position, unpack_entry_flags, version};
use crate::Result;
use model::{ActivityId, Entry, EntryReason, EntryReasons, Facet, Millis, Position, Uid, Version};
use rusqlite::Row;
use std::sync::Arc;

/// The columns of a row. Its facet and reason are those of its run.
pub(super) struct EntryRow {
    pub(super) id: ActivityId,
    pub(super) received: Millis,
    pub(super) published: Millis,
    pub(super) arrived: Position,
    actor: Uid,
    version: Version,
    flags: i64,
}

impl EntryRow {
    /// From the columns aid, received_ms, published_ms, actor, ver, flags, seq.
    pub(super) fn read(row: &Row<'_>) -> Result<EntryRow> {
        Ok(EntryRow {
            id: activity_id(row, 0)?,
            received: millis(row, 1)?,
            published: millis(row, 2)?,
            actor: Uid(row.get(3)?),
            version: version(row, 4)?,
            flags: row.get(5)?,
            arrived: position(row, 6)?,
        })
    }

    /// The entry of this row alone.
    pub(super) fn entry(&self, facet: &Arc<Facet>, reason: EntryReason) -> Result<Entry> {
        let (visibility, retracted, prior, pulled) = unpack_entry_flags(self.flags)?;
        Ok(Entry {
            id: self.id,
            reasons: EntryReasons::default().with(reason),
            facet: Arc::clone(facet),
            received: self.received,
            published: self.published,
            actor: self.actor,
            version: self.version,
            visibility,
            retracted,
            prior,
            arrived: Some(self.arrived),
            pulled,
        })
    }
}

//! Sources. A state is one cell; a row in a slot makes it found when it is due (see [`super::polling`]).

use super::lwt::Lwt;
use super::polling::Slot;
use super::scan::Scan;
use super::{CqlStore, Query};
use crate::codec::{Encoded, exactly};
use crate::sources::ScheduledSource;
use crate::{Connection, Result, Source, Sources};
use async_trait::async_trait;
use model::{Millis, SourceId, Uid, Version};
use uuid::Uuid;

const SOURCE: Query = Query::read("SELECT source FROM feed.source WHERE id = ?");
const SOURCES: Scan = Scan::new(
    "SELECT id, source FROM feed.source LIMIT ?",
    "SELECT id, source FROM feed.source WHERE token(id) > token(?) LIMIT ?",
);
const WRITE: Lwt = Lwt::new(
    "UPDATE feed.source SET source = ?, ver = ?, op = ? WHERE id = ? IF ver = ?",
    "SELECT ver, op FROM feed.source WHERE id = ?",
);

impl ScheduledSource {
    pub(super) fn slot(&self) -> Option<Slot> {
        self.slot.map(|at| Slot { shard: self.source.shard, at })
    }
}

/// The source identifier of a column value.
pub(super) fn source_id(id: &[u8]) -> Result<SourceId> {
    exactly(id).map(SourceId)
}

impl CqlStore {
    pub(super) async fn scheduled_source(&self, id: SourceId) -> Result<Option<ScheduledSource>> {
        let found: Option<(Vec<u8>,)> = self.db.row(&SOURCE, (id.0.as_slice(),)).await?;
        found.map(|(cell,)| ScheduledSource::decoded_beside(&cell, id)).transpose()
    }
}

#[async_trait]
impl Sources for CqlStore {
    async fn source(&self, id: SourceId) -> Result<Option<Source>> {
        Ok(self.scheduled_source(id).await?.map(|scheduled| scheduled.source))
    }

    async fn list_sources(&self, after: Option<SourceId>, limit: usize) -> Result<Vec<Source>> {
        let read = |(id, cell): (Vec<u8>, Vec<u8>)| {
            let source = ScheduledSource::decoded_beside(&cell, source_id(&id)?)?.source;
            Ok((id, Some(source)))
        };
        self.db.scan(&SOURCES, after.map(|id| id.0.to_vec()), limit, read).await
    }

    /// Writes the new slot first and deletes the old one last, so that the source is found wherever this stops.
    async fn replace_source(&self, before: Option<Version>, source: &Source) -> Result<bool> {
        let (current, start_minute) =
            futures::try_join!(self.scheduled_source(source.id), self.start_minute(source.shard))?;
        if current.as_ref().map(|current| current.source.version) != before {
            return Ok(false);
        }
        let slot = source.due.map(|due| Slot::of(source.shard, due, start_minute));
        if let Some(slot) = slot {
            self.schedule(source.id, slot, source.version).await?;
        }
        let (id, op, version) = (source.id.0.as_slice(), Uuid::new_v4(), source.version.0);
        let scheduled = ScheduledSource { source: source.clone(), slot: slot.map(|slot| slot.at) };
        let values = (scheduled.encoded(), version, op, id, before.map(|before| before.0));
        if !self.db.replace(&WRITE, before, op, values, (id,)).await? {
            return Ok(false);
        }
        if let Some(old) = current.and_then(|current| current.slot())
            && Some(old) != slot
        {
            self.unschedule(source.id, old, source.version).await?;
        }
        Ok(true)
    }

    async fn due_sources(&self, shard: u16, now: Millis, limit: usize) -> Result<Vec<SourceId>> {
        self.find_due(shard, now, limit).await
    }

    async fn connection(&self, owner: Uid, name: &str) -> Result<Option<Connection>> {
        self.find_connection(owner, name.to_owned()).await
    }

    async fn connections_of(&self, owner: Uid) -> Result<Vec<Connection>> {
        let mut all = self.listed_connections(owner).await?;
        all.retain(|connection| !connection.removed);
        Ok(all)
    }

    async fn connections_to(
        &self,
        source: SourceId,
        after: Option<(Uid, String)>,
        limit: usize,
    ) -> Result<Vec<Connection>> {
        self.connections_after(source, after, limit).await
    }

    async fn replace_connection(&self, before: Option<Version>, connection: &Connection) -> Result<bool> {
        self.write_connection(before, connection).await
    }
}

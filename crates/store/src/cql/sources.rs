//! Sources. A state is one cell; when it is to be fetched is told by a row in a slot besides (see [`super::polling`]).

use super::credentials::exactly;
use super::lwt::Lwt;
use super::polling::Slot;
use super::scan::Scan;
use super::{CqlStore, Query};
use crate::bytes::{WireReader, WireWriter};
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

/// A source, and where it is found when its time has come.
pub(super) struct Filed {
    pub(super) source: Source,
    pub(super) slot: Option<Slot>,
}

fn encoded(source: &Source, slot: Option<Slot>) -> Vec<u8> {
    WireWriter::new()
        .signed(source.version.0)
        .number(source.shard.into())
        .option(source.due, |put, due| put.signed(due.0))
        .option(slot, |put, slot| put.signed(slot.at.0))
        .blob(&source.state)
        .finish()
}

fn decoded(id: SourceId, cell: &[u8]) -> Result<Filed> {
    let mut take = WireReader::new(cell);
    let version = take.version()?;
    let shard = u16::try_from(take.number()?).map_err(|_| super::corrupt("not a shard"))?;
    let due = take.option(WireReader::millis)?;
    let slot = take.option(WireReader::millis)?.map(|at| Slot { shard, at });
    let state = take.blob()?.to_vec();
    Ok(Filed { source: Source { id, version, shard, due, state }, slot })
}

/// An identifier that the database gives.
pub(super) fn source_id(id: &[u8]) -> Result<SourceId> {
    exactly(id).map(SourceId)
}

impl CqlStore {
    pub(super) async fn filed_source(&self, id: SourceId) -> Result<Option<Filed>> {
        let found: Option<(Vec<u8>,)> = self.db.row(&SOURCE, (id.0.as_slice(),)).await?;
        found.map(|(cell,)| decoded(id, &cell)).transpose()
    }
}

#[async_trait]
impl Sources for CqlStore {
    async fn source(&self, id: SourceId) -> Result<Option<Source>> {
        Ok(self.filed_source(id).await?.map(|filed| filed.source))
    }

    async fn list_sources(&self, after: Option<SourceId>, limit: usize) -> Result<Vec<Source>> {
        let read = |(id, cell): (Vec<u8>, Vec<u8>)| {
            let source = decoded(source_id(&id)?, &cell)?.source;
            Ok((id, Some(source)))
        };
        self.db.scan(&SOURCES, after.map(|id| id.0.to_vec()), limit, read).await
    }

    /// In the slot first and out of the old one last, so that it is found whenever this ends.
    async fn replace_source(&self, before: Option<Version>, source: &Source) -> Result<bool> {
        let (present, mark) = futures::try_join!(self.filed_source(source.id), self.mark(source.shard))?;
        if present.as_ref().map(|present| present.source.version) != before {
            return Ok(false);
        }
        let slot = source.due.map(|due| Slot::of(source.shard, due, mark));
        if let Some(slot) = slot {
            self.file(source.id, slot, source.version).await?;
        }
        let (id, op, version) = (source.id.0.as_slice(), Uuid::new_v4(), source.version.0);
        let values = (encoded(source, slot), version, op, id, before.map(|before| before.0));
        if !self.db.replace(&WRITE, before, op, values, (id,)).await? {
            return Ok(false);
        }
        if let Some(old) = present.and_then(|present| present.slot)
            && Some(old) != slot
        {
            self.unfile(source.id, old, source.version).await?;
        }
        Ok(true)
    }

    async fn due_sources(&self, shard: u16, now: Millis, limit: usize) -> Result<Vec<SourceId>> {
        self.walk(shard, now, limit).await
    }

    async fn lease(&self, name: &str, holder: &str, now: Millis, until: Millis) -> Result<bool> {
        self.take_lease(name, holder, now, until).await
    }

    async fn release(&self, name: &str, holder: &str) -> Result<()> {
        self.give_lease_back(name, holder).await
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

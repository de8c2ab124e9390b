//! Sources and connections, found by indexes; and leases, which need no more than the single writer.

use super::SqliteStore;
use super::credentials::all;
use super::values::{count, optional_millis, version};
use crate::{Connection, Leases, Result, Source, Sources};
use async_trait::async_trait;
use model::{Millis, SourceId, Uid, Version};
use rusqlite::{Row, params};

const SOURCE: &str = "SELECT id, ver, shard, due_ms, state FROM source WHERE id = ?1";
const SOURCES: &str = "SELECT id, ver, shard, due_ms, state FROM source
     WHERE id > ?1 ORDER BY id LIMIT ?2";
const ADD_SOURCE: &str = "INSERT INTO source (id, ver, shard, due_ms, state) VALUES (?1, ?2, ?3, ?4, ?5)
     ON CONFLICT DO NOTHING";
const REPLACE_SOURCE: &str = "UPDATE source SET ver = ?2, shard = ?3, due_ms = ?4, state = ?5
     WHERE id = ?1 AND ver = ?6";
const DUE: &str = "SELECT id FROM source WHERE shard = ?1 AND due_ms <= ?2 ORDER BY due_ms, id LIMIT ?3";

const ACQUIRE: &str = "INSERT INTO lease (name, holder, until_ms) VALUES (?1, ?2, ?3)
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder,
     until_ms = iif(lease.holder = excluded.holder, max(lease.until_ms, excluded.until_ms), excluded.until_ms)
     WHERE lease.holder = excluded.holder OR lease.until_ms <= ?4";
const RELEASE: &str = "DELETE FROM lease WHERE name = ?1 AND holder = ?2";

const CONNECTION: &str = "SELECT owner, name, ver, source, removed, state FROM connection
     WHERE owner = ?1 AND name = ?2";
const CONNECTIONS_OF: &str = "SELECT owner, name, ver, source, removed, state FROM connection
     WHERE owner = ?1 AND NOT removed ORDER BY name";
const CONNECTIONS_TO: &str = "SELECT owner, name, ver, source, removed, state FROM connection
     WHERE source = ?1 AND (owner, name) > (?2, ?3) AND NOT removed ORDER BY owner, name LIMIT ?4";
const ADD_CONNECTION: &str = "INSERT INTO connection (owner, name, ver, source, removed, state)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING";
const REPLACE_CONNECTION: &str = "UPDATE connection SET ver = ?3, source = ?4, removed = ?5, state = ?6
     WHERE owner = ?1 AND name = ?2 AND ver = ?7";

/// Including removed ones.
pub(super) const EVERY_CONNECTION: &str = "SELECT owner, name, ver, source, removed, state FROM connection
     WHERE owner = ?1 ORDER BY name";

fn source(row: &Row<'_>) -> Result<Source> {
    Ok(Source {
        id: SourceId(row.get(0)?),
        version: version(row, 1)?,
        shard: row.get(2)?,
        due: optional_millis(row, 3)?,
        state: row.get(4)?,
    })
}

pub(super) fn connection(row: &Row<'_>) -> Result<Connection> {
    Ok(Connection {
        owner: Uid(row.get(0)?),
        name: row.get(1)?,
        version: version(row, 2)?,
        source: SourceId(row.get(3)?),
        removed: row.get(4)?,
        state: row.get(5)?,
    })
}

#[async_trait]
impl Sources for SqliteStore {
    async fn source(&self, id: SourceId) -> Result<Option<Source>> {
        self.read(|file| file.prepare_cached(SOURCE)?.query([id.0])?.next()?.map(source).transpose()).await
    }

    async fn list_sources(&self, after: Option<SourceId>, limit: usize) -> Result<Vec<Source>> {
        // The empty blob is before every identifier.
        let after = after.map_or_else(Vec::new, |id| id.0.to_vec());
        self.read_long(move |file| all(file, SOURCES, params![after, count(limit)], source)).await
    }

    async fn replace_source(&self, before: Option<Version>, source: &Source) -> Result<bool> {
        let Source { id, version, shard, due, state } = source.clone();
        self.writer
            .write_without_savepoint(move |file| {
                let due = due.map(|due| due.0);
                let written = match before {
                    None => {
                        file.prepare_cached(ADD_SOURCE)?.execute(params![id.0, version.0, shard, due, state])
                    }
                    Some(before) => file
                        .prepare_cached(REPLACE_SOURCE)?
                        .execute(params![id.0, version.0, shard, due, state, before.0]),
                };
                Ok(written? > 0)
            })
            .await
    }

    async fn due_sources(&self, shard: u16, now: Millis, limit: usize) -> Result<Vec<SourceId>> {
        let read = |row: &Row<'_>| Ok(SourceId(row.get(0)?));
        let bounds = [i64::from(shard), now.0, count(limit)];
        self.read_long(move |file| all(file, DUE, bounds, read)).await
    }

    async fn connection(&self, owner: Uid, name: &str) -> Result<Option<Connection>> {
        self.read(|file| {
            let mut statement = file.prepare_cached(CONNECTION)?;
            statement.query(params![owner.0, name])?.next()?.map(connection).transpose()
        })
        .await
    }

    async fn connections_of(&self, owner: Uid) -> Result<Vec<Connection>> {
        self.read_long(move |file| all(file, CONNECTIONS_OF, [owner.0], connection)).await
    }

    async fn connections_to(
        &self,
        source: SourceId,
        after: Option<(Uid, String)>,
        limit: usize,
    ) -> Result<Vec<Connection>> {
        let (owner, name) = after.map_or((i64::MIN, String::new()), |(owner, name)| (owner.0, name));
        self.read_long(move |file| {
            all(file, CONNECTIONS_TO, params![source.0, owner, name, count(limit)], connection)
        })
        .await
    }

    async fn replace_connection(&self, before: Option<Version>, connection: &Connection) -> Result<bool> {
        let Connection { owner, name, version, source, removed, state } = connection.clone();
        self.writer
            .write_without_savepoint(move |file| {
                let written = match before {
                    None => file
                        .prepare_cached(ADD_CONNECTION)?
                        .execute(params![owner.0, name, version.0, source.0, removed, state]),
                    Some(before) => file
                        .prepare_cached(REPLACE_CONNECTION)?
                        .execute(params![owner.0, name, version.0, source.0, removed, state, before.0]),
                };
                Ok(written? > 0)
            })
            .await
    }
}

#[async_trait]
impl Leases for SqliteStore {
    async fn lease(&self, name: &str, holder: &str, now: Millis, until: Millis) -> Result<bool> {
        let (name, holder) = (name.to_owned(), holder.to_owned());
        self.writer
            .write_without_savepoint(move |file| {
                let acquired =
                    file.prepare_cached(ACQUIRE)?.execute(params![name, holder, until.0, now.0])?;
                Ok(acquired > 0)
            })
            .await
    }

    async fn release(&self, name: &str, holder: &str) -> Result<()> {
        let lease = [name.to_owned(), holder.to_owned()];
        self.writer
            .write_without_savepoint(move |file| {
                Ok(file.prepare_cached(RELEASE)?.execute(lease).map(drop)?)
            })
            .await
    }
}

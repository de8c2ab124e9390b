//! Connections. The account's end is the truth. The source's end has their names only: a connection is listed there before
//! it is written and struck out after it points elsewhere, so whoever reads the list looks at each connection, passes
//! over those that say otherwise and strikes them out. What is listed has the version as its timestamp and what is struck
//! out that of the connection that says so, so that a later one which comes back to the source stays listed.

use super::credentials::exactly;
use super::lwt::Lwt;
use super::{CqlStore, Query, together};
use crate::bytes::{WireReader, WireWriter};
use crate::{Connection, Result};
use model::{SourceId, Uid, Version};
use uuid::Uuid;

const ONE: Query = Query::read("SELECT connection FROM feed.connection WHERE uid = ? AND name = ?");
const ALL: Query = Query::read("SELECT name, connection FROM feed.connection WHERE uid = ?");
const WRITE: Lwt = Lwt::new(
    "UPDATE feed.connection SET connection = ?, ver = ?, op = ? WHERE uid = ? AND name = ? IF ver = ?",
    "SELECT ver, op FROM feed.connection WHERE uid = ? AND name = ?",
);
const LISTED: Query =
    Query::read("SELECT uid, name FROM feed.connection_to WHERE source = ? AND (uid, name) > (?, ?) LIMIT ?");
const LIST: Query =
    Query::write("INSERT INTO feed.connection_to (source, uid, name) VALUES (?, ?, ?) USING TIMESTAMP ?");
const STRIKE_OUT: Query = Query::write(
    "DELETE FROM feed.connection_to USING TIMESTAMP ? WHERE source = ? AND uid = ? AND name = ?",
);

/// How many listed ones are looked at in one go; some at least, because some may be passed over.
const MIN_PAGE: usize = 50;
const MAX_PAGE: usize = 1_000;

fn encoded(connection: &Connection) -> Vec<u8> {
    WireWriter::new()
        .signed(connection.version.0)
        .blob(&connection.source.0)
        .flag(connection.removed)
        .blob(&connection.state)
        .finish()
}

fn decoded(owner: Uid, name: String, cell: &[u8]) -> Result<Connection> {
    let mut take = WireReader::new(cell);
    Ok(Connection {
        owner,
        name,
        version: take.version()?,
        source: SourceId(exactly(take.blob()?)?),
        removed: take.flag()?,
        state: take.blob()?.to_vec(),
    })
}

fn is_to(connection: &Connection, source: SourceId) -> bool {
    connection.source == source && !connection.removed
}

impl CqlStore {
    pub(super) async fn find_connection(&self, owner: Uid, name: String) -> Result<Option<Connection>> {
        let found: Option<(Vec<u8>,)> = self.db.row(&ONE, (owner.0, &name)).await?;
        found.map(|(cell,)| decoded(owner, name, &cell)).transpose()
    }

    /// All connections of an account, removed ones too.
    pub(super) async fn listed_connections(&self, owner: Uid) -> Result<Vec<Connection>> {
        let rows: Vec<(String, Vec<u8>)> = self.db.rows(&ALL, (owner.0,)).await?;
        rows.into_iter().map(|(name, cell)| decoded(owner, name, &cell)).collect()
    }

    pub(super) async fn write_connection(
        &self,
        before: Option<Version>,
        connection: &Connection,
    ) -> Result<bool> {
        let Connection { owner, name, version, source, removed, .. } = connection;
        let present = self.find_connection(*owner, name.clone()).await?;
        if present.as_ref().map(|present| present.version) != before {
            return Ok(false);
        }
        if !removed {
            self.db.write(&LIST, (source.0.as_slice(), owner.0, name, version.0)).await?;
        }
        let (op, key) = (Uuid::new_v4(), (owner.0, name.as_str()));
        let known = before.map(|before| before.0);
        let values = (encoded(connection), version.0, op, owner.0, name, known);
        if !self.db.replace(&WRITE, before, op, values, key).await? {
            return Ok(false);
        }
        if let Some(present) = present
            && !present.removed
            && !is_to(connection, present.source)
        {
            self.strike_out(present.source, *owner, name, *version).await?;
        }
        Ok(true)
    }

    async fn strike_out(&self, from: SourceId, owner: Uid, name: &str, version: Version) -> Result<()> {
        self.db.write(&STRIKE_OUT, (version.0, from.0.as_slice(), owner.0, name)).await
    }

    /// Those to a source after that one. Each that is listed is looked at, so many at once.
    pub(super) async fn connections_after(
        &self,
        source: SourceId,
        after: Option<(Uid, String)>,
        limit: usize,
    ) -> Result<Vec<Connection>> {
        let (mut owner, mut name) = after.map_or((i64::MIN, String::new()), |(uid, name)| (uid.0, name));
        let mut found = Vec::new();
        while found.len() < limit {
            let asked = (limit - found.len()).clamp(MIN_PAGE, MAX_PAGE);
            let count = i32::try_from(asked).unwrap_or(i32::MAX);
            let key = (source.0.as_slice(), owner, &name, count);
            let listed: Vec<(i64, String)> = self.db.rows(&LISTED, key).await?;
            let is_last = listed.len() < asked;
            if let Some(last) = listed.last() {
                (owner, name) = last.clone();
            }
            let looked_at = listed.into_iter().map(|(uid, name)| self.find_connection(Uid(uid), name));
            // One that is not there at all is being made.
            let there = together(looked_at).await?.into_iter().flatten();
            let (these, others): (Vec<_>, Vec<_>) = there.partition(|one| is_to(one, source));
            found.extend(these);
            together(others.iter().map(|one| self.strike_out(source, one.owner, &one.name, one.version)))
                .await?;
            if is_last {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }
}

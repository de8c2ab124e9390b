//! Connections. The row of the account is the truth; the list of a source has names only. A connection is listed
//! before it is written, and unlisted after it points elsewhere. So a reader of the list checks each connection,
//! skips those that point elsewhere, and unlists them. Both writes use the version of the connection as timestamp, so
//! a later connection to the same source stays listed.

use super::lwt::Lwt;
use super::{CqlStore, Query, concurrently};
use crate::codec::Encoded;
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
const UNLIST: Query = Query::write(
    "DELETE FROM feed.connection_to USING TIMESTAMP ? WHERE source = ? AND uid = ? AND name = ?",
);

/// Listed connections per statement. The minimum is for lists with many skipped ones.
const MIN_PAGE: usize = 50;
const MAX_PAGE: usize = 1_000;

fn is_to(connection: &Connection, source: SourceId) -> bool {
    connection.source == source && !connection.removed
}

impl CqlStore {
    pub(super) async fn find_connection(&self, owner: Uid, name: String) -> Result<Option<Connection>> {
        let found: Option<(Vec<u8>,)> = self.db.row(&ONE, (owner.0, &name)).await?;
        found.map(|(cell,)| Connection::decoded_beside(&cell, (owner, name))).transpose()
    }

    /// All connections of an account, including removed ones.
    pub(super) async fn listed_connections(&self, owner: Uid) -> Result<Vec<Connection>> {
        let rows: Vec<(String, Vec<u8>)> = self.db.rows(&ALL, (owner.0,)).await?;
        rows.into_iter().map(|(name, cell)| Connection::decoded_beside(&cell, (owner, name))).collect()
    }

    pub(super) async fn write_connection(
        &self,
        before: Option<Version>,
        connection: &Connection,
    ) -> Result<bool> {
        let Connection { owner, name, version, source, removed, .. } = connection;
        let current = self.find_connection(*owner, name.clone()).await?;
        if current.as_ref().map(|current| current.version) != before {
            return Ok(false);
        }
        if !removed {
            self.db.write(&LIST, (source.0.as_slice(), owner.0, name, version.0)).await?;
        }
        let (op, key) = (Uuid::new_v4(), (owner.0, name.as_str()));
        let known = before.map(|before| before.0);
        let values = (connection.encoded(), version.0, op, owner.0, name, known);
        if !self.db.replace(&WRITE, before, op, values, key).await? {
            return Ok(false);
        }
        if let Some(current) = current
            && !current.removed
            && !is_to(connection, current.source)
        {
            self.unlist(current.source, *owner, name, *version).await?;
        }
        Ok(true)
    }

    async fn unlist(&self, from: SourceId, owner: Uid, name: &str, version: Version) -> Result<()> {
        self.db.write(&UNLIST, (version.0, from.0.as_slice(), owner.0, name)).await
    }

    /// The connections to a source after `after`. Each listed one is checked.
    pub(super) async fn connections_after(
        &self,
        source: SourceId,
        after: Option<(Uid, String)>,
        limit: usize,
    ) -> Result<Vec<Connection>> {
        let (mut owner, mut name) = after.map_or((i64::MIN, String::new()), |(uid, name)| (uid.0, name));
        let mut found = Vec::new();
        while found.len() < limit {
            let page = (limit - found.len()).clamp(MIN_PAGE, MAX_PAGE);
            let count = i32::try_from(page).unwrap_or(i32::MAX);
            let key = (source.0.as_slice(), owner, &name, count);
            let listed: Vec<(i64, String)> = self.db.rows(&LISTED, key).await?;
            let is_last = listed.len() < page;
            if let Some(last) = listed.last() {
                (owner, name) = last.clone();
            }
            let checked = listed.into_iter().map(|(uid, name)| self.find_connection(Uid(uid), name));
            // A missing one is being created.
            let existing = concurrently(checked).await?.into_iter().flatten();
            let (valid, stale): (Vec<_>, Vec<_>) = existing.partition(|connection| is_to(connection, source));
            found.extend(valid);
            concurrently(
                stale.iter().map(|other| self.unlist(source, other.owner, &other.name, other.version)),
            )
            .await?;
            if is_last {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }
}

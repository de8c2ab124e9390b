//! Seen positions, a row each.

use super::SqliteStore;
use super::values::{corrupt, version};
use crate::{Result, Seen, SeenPositions};
use async_trait::async_trait;
use model::{Collection, SyncToken, Uid, Version};
use rusqlite::params;

const SEEN: &str = "SELECT ver, token FROM seen WHERE uid = ?1 AND collection = ?2";
const ADD: &str =
    "INSERT INTO seen (uid, collection, ver, token) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
const REPLACE: &str = "UPDATE seen SET ver = ?3, token = ?4 WHERE uid = ?1 AND collection = ?2 AND ver = ?5";

#[async_trait]
impl SeenPositions for SqliteStore {
    async fn seen(&self, owner: Uid, collection: Collection) -> Result<Option<Seen>> {
        self.read(|file| {
            let mut statement = file.prepare_cached(SEEN)?;
            let mut rows = statement.query(params![owner.0, collection.as_str()])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            let token = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            let sync_token = SyncToken::from_bytes(token).ok_or_else(|| corrupt("invalid sync token"))?;
            Ok(Some(Seen { owner, collection, version: version(row, 0)?, sync_token }))
        })
        .await
    }

    async fn replace_seen(&self, before: Option<Version>, seen: &Seen) -> Result<bool> {
        let Seen { owner, collection, version, sync_token } = seen.clone();
        self.writer
            .write_without_savepoint(move |file| {
                let (collection, token) = (collection.as_str(), sync_token.to_bytes());
                let written = match before {
                    None => file.prepare_cached(ADD)?.execute(params![owner.0, collection, version.0, token]),
                    Some(before) => file
                        .prepare_cached(REPLACE)?
                        .execute(params![owner.0, collection, version.0, token, before.0]),
                };
                Ok(written? > 0)
            })
            .await
    }
}

//! Seen positions. A row is only written conditionally.

use super::lwt::Lwt;
use super::{CqlStore, Query, corrupt};
use crate::{Result, Seen, SeenPositions};
use async_trait::async_trait;
use model::{Collection, SyncToken, Uid, Version};
use uuid::Uuid;

const SEEN: Query = Query::read("SELECT ver, sync_token FROM ident.seen WHERE uid = ? AND collection = ?");
const WRITE: Lwt = Lwt::new(
    "UPDATE ident.seen SET sync_token = ?, ver = ?, op = ? WHERE uid = ? AND collection = ? IF ver = ?",
    "SELECT ver, op FROM ident.seen WHERE uid = ? AND collection = ?",
);

#[async_trait]
impl SeenPositions for CqlStore {
    async fn seen(&self, owner: Uid, collection: Collection) -> Result<Option<Seen>> {
        let row: Option<(i64, Vec<u8>)> = self.db.row(&SEEN, (owner.0, collection.as_str())).await?;
        let Some((version, token)) = row else { return Ok(None) };
        let sync_token = SyncToken::from_bytes(&token).ok_or_else(|| corrupt("invalid sync token"))?;
        Ok(Some(Seen { owner, collection, version: Version(version), sync_token }))
    }

    async fn replace_seen(&self, before: Option<Version>, seen: &Seen) -> Result<bool> {
        let (op, key) = (Uuid::new_v4(), (seen.owner.0, seen.collection.as_str()));
        let token = seen.sync_token.to_bytes();
        let values = (token, seen.version.0, op, key.0, key.1, before.map(|before| before.0));
        self.db.replace(&WRITE, before, op, values, key).await
    }
}

//! Networks of accounts.

use super::SqliteStore;
use super::credentials::all;
use super::values::{count, millis};
use crate::networks::MAX_NETWORKS;
use crate::{KnownNetwork, Networks, Result};
use async_trait::async_trait;
use model::Uid;
use rusqlite::params;

const PUT: &str = "INSERT INTO network (owner, hash, expires_ms) VALUES (?1, ?2, ?3)
     ON CONFLICT (owner, hash) DO UPDATE SET expires_ms = max(expires_ms, excluded.expires_ms)";
const TRIM: &str = "DELETE FROM network WHERE owner = ?1 AND hash NOT IN
     (SELECT hash FROM network WHERE owner = ?1 ORDER BY expires_ms DESC, hash DESC LIMIT ?2)";

#[async_trait]
impl Networks for SqliteStore {
    async fn note_network(&self, owner: Uid, network: &KnownNetwork) -> Result<()> {
        let KnownNetwork { hash, expires } = *network;
        self.write(move |connection| {
            connection.prepare_cached(PUT)?.execute(params![owner.0, hash, expires.0])?;
            connection.prepare_cached(TRIM)?.execute([owner.0, count(MAX_NETWORKS)])?;
            Ok(())
        })
        .await
    }

    async fn networks_of(&self, owner: Uid) -> Result<Vec<KnownNetwork>> {
        self.read(|connection| {
            all(connection, "SELECT hash, expires_ms FROM network WHERE owner = ?1", [owner.0], |row| {
                Ok(KnownNetwork { hash: row.get(0)?, expires: millis(row, 1)? })
            })
        })
        .await
    }

    async fn forget_networks(&self, owner: Uid) -> Result<()> {
        self.write(move |connection| {
            connection.prepare_cached("DELETE FROM network WHERE owner = ?1")?.execute([owner.0])?;
            Ok(())
        })
        .await
    }
}

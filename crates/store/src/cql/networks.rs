//! Networks of accounts: a small partition per account. The latest expiry has the latest timestamp. A network is
//! deleted with its own timestamp, so a later one stays.

use super::credentials::exactly;
use super::db::Query;
use super::{CqlStore, concurrently};
use crate::networks::MAX_NETWORKS;
use crate::{KnownNetwork, Networks, Result};
use async_trait::async_trait;
use model::{Millis, Uid};

const PUT: Query =
    Query::write("INSERT INTO ident.network (owner, hash, expires_ms) VALUES (?, ?, ?) USING TIMESTAMP ?");
// More than are kept, because several processes may add some concurrently.
const ALL: Query = Query::read("SELECT hash, expires_ms FROM ident.network WHERE owner = ? LIMIT 1024");
const FORGET: Query =
    Query::write("DELETE FROM ident.network USING TIMESTAMP ? WHERE owner = ? AND hash = ?");

impl CqlStore {
    async fn delete_networks(&self, owner: Uid, networks: &[KnownNetwork]) -> Result<()> {
        let forget = |network: &KnownNetwork| {
            let (at, hash) = (network.expires.0, network.hash.to_vec());
            async move { self.db.write(&FORGET, (at, owner.0, hash)).await }
        };
        concurrently(networks.iter().map(forget)).await.map(drop)
    }
}

#[async_trait]
impl Networks for CqlStore {
    async fn note_network(&self, owner: Uid, network: &KnownNetwork) -> Result<()> {
        let KnownNetwork { hash, expires } = network;
        self.db.write(&PUT, (owner.0, hash.as_slice(), expires.0, expires.0)).await?;
        let mut all = self.networks_of(owner).await?;
        all.sort_unstable_by_key(|network| (network.expires, network.hash));
        all.truncate(all.len().saturating_sub(MAX_NETWORKS));
        self.delete_networks(owner, &all).await
    }

    async fn networks_of(&self, owner: Uid) -> Result<Vec<KnownNetwork>> {
        let rows: Vec<(Vec<u8>, Option<i64>)> = self.db.rows(&ALL, (owner.0,)).await?;
        rows.into_iter()
            .map(|(hash, expires)| {
                Ok(KnownNetwork { hash: exactly(&hash)?, expires: Millis(expires.unwrap_or_default()) })
            })
            .collect()
    }

    async fn forget_networks(&self, owner: Uid) -> Result<()> {
        let all = self.networks_of(owner).await?;
        self.delete_networks(owner, &all).await
    }
}

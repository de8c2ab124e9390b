//! Sessions, tickets and networks of accounts. Tickets are only written conditionally. The other tables use timestamps
//! like those of keys. Rows with an expiry are deleted by the database (TTL).
//!
//! The networks of an account are a small partition. The latest expiry has the latest timestamp. A network is deleted
//! with its own timestamp, so a later one stays.

use super::db::Query;
use super::lwt::Lwt;
use super::{CqlStore, concurrently};
use crate::codec::{Encoded, exactly};
use crate::{KnownNetwork, MAX_NETWORKS, Networks, Result, Sessions, Tickets};
use async_trait::async_trait;
use model::{Millis, Session, Ticket, Uid};
use uuid::Uuid;

const ADD_SESSION: Query =
    Query::write("INSERT INTO ident.session (hash, session) VALUES (?, ?) USING TIMESTAMP 1");
const SESSION: Query = Query::read("SELECT session, ended FROM ident.session WHERE hash = ?");
const END_SESSION: Query =
    Query::write("UPDATE ident.session USING TIMESTAMP 1 SET ended = true WHERE hash = ?");
const SESSIONS_OF: Query = Query::read("SELECT hash FROM ident.session_of WHERE owner = ?");
const LIST_SESSION: Query =
    Query::write("INSERT INTO ident.session_of (owner, created_ms, hash) VALUES (?, ?, ?) USING TIMESTAMP 1");
const SESSION_USE: Query = Query::read("SELECT used_ms FROM ident.session_use WHERE hash = ?");
const TOUCH_SESSION: Query =
    Query::write("UPDATE ident.session_use USING TIMESTAMP ? SET used_ms = ? WHERE hash = ?");

const ADD_TICKET: Lwt = Lwt::new(
    "INSERT INTO ident.ticket (hash, ticket, used) VALUES (?, ?, false) IF NOT EXISTS",
    "SELECT hash FROM ident.ticket WHERE hash = ?",
);
// A caller that acts on this read does so conditionally.
const TICKET: Query = Query::read("SELECT ticket, used FROM ident.ticket WHERE hash = ?");
const USE_TICKET: Lwt = Lwt::new(
    "UPDATE ident.ticket SET used = true, op = ? WHERE hash = ? IF used = false",
    "SELECT used, op FROM ident.ticket WHERE hash = ?",
);

const PUT_NETWORK: Query =
    Query::write("INSERT INTO ident.network (owner, hash, expires_ms) VALUES (?, ?, ?) USING TIMESTAMP ?");
// More than are kept, because several processes may add some concurrently.
const NETWORKS_OF: Query =
    Query::read("SELECT hash, expires_ms FROM ident.network WHERE owner = ? LIMIT 1024");
const FORGET_NETWORK: Query =
    Query::write("DELETE FROM ident.network USING TIMESTAMP ? WHERE owner = ? AND hash = ?");

#[async_trait]
impl Sessions for CqlStore {
    async fn add_session(&self, session: &Session) -> Result<()> {
        // Listed first, so that the account sees every session.
        let hash = session.hash.as_slice();
        self.db.write(&LIST_SESSION, (session.owner.0, session.created.0, hash)).await?;
        self.db.write(&ADD_SESSION, (hash, session.encoded())).await
    }

    async fn session(&self, hash: &[u8; 32]) -> Result<Option<Session>> {
        let key = (hash.as_slice(),);
        let (found, used) = futures::try_join!(
            self.db.row::<(Option<Vec<u8>>, Option<bool>)>(&SESSION, key),
            self.db.row::<(Option<i64>,)>(&SESSION_USE, key)
        )?;
        let Some((Some(session), None | Some(false))) = found else {
            return Ok(None);
        };
        let used = used.and_then(|(used,)| used).map(Millis);
        Session::decoded_beside(&session, (*hash, used)).map(Some)
    }

    async fn sessions_of(&self, owner: Uid) -> Result<Vec<Session>> {
        let listed: Vec<(Vec<u8>,)> = self.db.rows(&SESSIONS_OF, (owner.0,)).await?;
        let hashes = listed.iter().map(|(hash,)| exactly(hash)).collect::<Result<Vec<[u8; 32]>>>()?;
        let found = concurrently(hashes.iter().map(|hash| self.session(hash))).await?;
        Ok(found.into_iter().flatten().collect())
    }

    async fn touch_session(&self, hash: &[u8; 32], at: Millis) -> Result<()> {
        self.db.write(&TOUCH_SESSION, (at.0, at.0, hash.as_slice())).await
    }

    async fn end_session(&self, hash: &[u8; 32]) -> Result<()> {
        self.db.write(&END_SESSION, (hash.as_slice(),)).await
    }
}

#[async_trait]
impl Tickets for CqlStore {
    async fn add_ticket(&self, ticket: &Ticket) -> Result<()> {
        let hash = ticket.hash.as_slice();
        let is_stored = |found: Option<(Vec<u8>,)>| found.map(|_| true);
        self.db.apply_lwt(&ADD_TICKET, (hash, ticket.encoded()), (hash,), is_stored).await?;
        Ok(())
    }

    async fn ticket(&self, hash: &[u8; 32]) -> Result<Option<Ticket>> {
        let found: Option<(Option<Vec<u8>>, Option<bool>)> = self.db.row(&TICKET, (hash.as_slice(),)).await?;
        match found {
            Some((Some(ticket), Some(false))) => Ticket::decoded_beside(&ticket, *hash).map(Some),
            _ => Ok(None),
        }
    }

    async fn use_ticket(&self, hash: &[u8; 32]) -> Result<bool> {
        let (hash, op) = (hash.as_slice(), Uuid::new_v4());
        let ours = |found: Option<(Option<bool>, Option<Uuid>)>| {
            let (used, by) = found?;
            used.filter(|used| *used).map(|_| by == Some(op))
        };
        self.db.apply_lwt(&USE_TICKET, (op, hash), (hash,), ours).await
    }
}

impl CqlStore {
    async fn delete_networks(&self, owner: Uid, networks: &[KnownNetwork]) -> Result<()> {
        let forget = |network: &KnownNetwork| {
            let (at, hash) = (network.expires.0, network.hash.to_vec());
            async move { self.db.write(&FORGET_NETWORK, (at, owner.0, hash)).await }
        };
        concurrently(networks.iter().map(forget)).await.map(drop)
    }
}

#[async_trait]
impl Networks for CqlStore {
    async fn note_network(&self, owner: Uid, network: &KnownNetwork) -> Result<()> {
        let KnownNetwork { hash, expires } = network;
        self.db.write(&PUT_NETWORK, (owner.0, hash.as_slice(), expires.0, expires.0)).await?;
        let mut all = self.networks_of(owner).await?;
        all.sort_unstable_by_key(|network| (network.expires, network.hash));
        all.truncate(all.len().saturating_sub(MAX_NETWORKS));
        self.delete_networks(owner, &all).await
    }

    async fn networks_of(&self, owner: Uid) -> Result<Vec<KnownNetwork>> {
        let rows: Vec<(Vec<u8>, Option<i64>)> = self.db.rows(&NETWORKS_OF, (owner.0,)).await?;
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

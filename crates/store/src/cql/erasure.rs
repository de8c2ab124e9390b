//! Erasure of removed accounts. Rows of conditional tables are deleted conditionally. All others are deleted at a
//! timestamp that wins: the time in microseconds is later than every version and every number made from a time.
//! Compaction then removes the texts from the disks.

use super::db::{Query, uuid};
use super::log::shard;
use super::lwt::Lwt;
use super::{CqlStore, concurrently};
use crate::codec::Encoded;
use crate::jetstream::wall_clock;
use crate::message::version_key;
use crate::relations::{BLOCKED_BY, decision_number};
use crate::{Activities, Credentials, DecisionChange, Erasures, Feeds, Hooks, Networks, Result, Slice};
use async_trait::async_trait;
use model::{Account, Activity, Collection, Decision, Filter, Order, State, Uid};
use uuid::Uuid;

const QUEUE: Query = Query::write("INSERT INTO ident.erasure (part, uid) VALUES (0, ?)");
const DUE: Query = Query::read("SELECT uid FROM ident.erasure WHERE part = 0 LIMIT ?");
const FINISH: Query = Query::write("DELETE FROM ident.erasure WHERE part = 0 AND uid = ?");

/// At the version of the state: of a write and a deletion with one timestamp the deletion wins.
const ERASE_BODY: Query = Query::write("DELETE body FROM feed.activity USING TIMESTAMP ? WHERE aid = ?");
const ERASE_INTENT: Query =
    Query::write("UPDATE feed.intent SET message = null WHERE minute = ? AND shard = ? AND id = ?");
const ERASE_CLAIM: Lwt = Lwt::new(
    "DELETE FROM ident.claim WHERE actor = ? AND service = ? AND source_id = ? IF EXISTS",
    "SELECT op FROM ident.claim WHERE actor = ? AND service = ? AND source_id = ?",
);
const ERASE_FIRST_STATE: Lwt = Lwt::new(
    "UPDATE ident.username SET first = ?, op = ? WHERE name = ? IF uid = ?",
    "SELECT op FROM ident.username WHERE name = ?",
);
const ERASE_FACTOR: Lwt = Lwt::new(
    "DELETE FROM ident.second_factor WHERE owner = ? IF EXISTS",
    "SELECT op FROM ident.second_factor WHERE owner = ?",
);
const ERASE_CONNECTION: Lwt = Lwt::new(
    "DELETE FROM feed.connection WHERE uid = ? AND name = ? IF EXISTS",
    "SELECT op FROM feed.connection WHERE uid = ? AND name = ?",
);
const ERASE_HOOK: Lwt = Lwt::new(
    "DELETE FROM ident.hook WHERE uid = ? AND name = ? IF EXISTS",
    "SELECT op FROM ident.hook WHERE uid = ? AND name = ?",
);
const ERASE_SEEN: Lwt = Lwt::new(
    "DELETE FROM ident.seen WHERE uid = ? AND collection = ? IF EXISTS",
    "SELECT op FROM ident.seen WHERE uid = ? AND collection = ?",
);
const ERASE_USAGE: Lwt = Lwt::new(
    "DELETE FROM ident.usage WHERE uid = ? AND day = ? IF EXISTS",
    "SELECT op FROM ident.usage WHERE uid = ? AND day = ?",
);
const ERASE_RELATION: Query =
    Query::write("DELETE FROM feed.relation USING TIMESTAMP ? WHERE name = ? AND kind = ? AND other = ?");
const ERASE_SOURCE: Lwt =
    Lwt::new("DELETE FROM feed.source WHERE id = ? IF EXISTS", "SELECT op FROM feed.source WHERE id = ?");

const SESSIONS: Query = Query::read("SELECT hash FROM ident.session_of WHERE owner = ?");
const ERASE_SESSION: Query = Query::write("DELETE FROM ident.session USING TIMESTAMP ? WHERE hash = ?");
const ERASE_SESSION_USE: Query =
    Query::write("DELETE FROM ident.session_use USING TIMESTAMP ? WHERE hash = ?");
const ERASE_SESSIONS_OF: Query =
    Query::write("DELETE FROM ident.session_of USING TIMESTAMP ? WHERE owner = ?");
const KEYS: Query = Query::read("SELECT hash FROM ident.key_of WHERE owner = ?");
const ERASE_KEY: Query = Query::write("DELETE FROM ident.key USING TIMESTAMP ? WHERE hash = ?");
const ERASE_KEYS_OF: Query = Query::write("DELETE FROM ident.key_of USING TIMESTAMP ? WHERE owner = ?");
const TOKENS: Query = Query::read("SELECT key FROM ident.token_of WHERE owner = ?");
const ERASE_TOKEN: Query = Query::write("DELETE FROM ident.access_token USING TIMESTAMP ? WHERE key = ?");
const ERASE_TOKENS_OF: Query = Query::write("DELETE FROM ident.token_of USING TIMESTAMP ? WHERE owner = ?");
const ERASE_APPLICATION: Query =
    Query::write("DELETE FROM ident.application USING TIMESTAMP ? WHERE key = ?");
const ERASE_APPLICATIONS_OF: Query =
    Query::write("DELETE FROM ident.application_of USING TIMESTAMP ? WHERE owner = ?");
const ERASE_PICTURE: Query = Query::write("DELETE FROM ident.picture USING TIMESTAMP ? WHERE uid = ?");

/// Activities per page.
const PAGE: usize = 500;

/// A deletion was applied once its row is gone.
fn is_gone(found: Option<(Option<Uuid>,)>) -> Option<bool> {
    found.is_none().then_some(true)
}

impl CqlStore {
    /// Queues an account for erasure, before it is removed.
    pub(super) async fn queue_erasure(&self, uid: Uid) -> Result<()> {
        self.db.write(&QUEUE, (uid.0,)).await
    }

    async fn erase_activity(&self, activity: Option<Activity>, state: &State) -> Result<()> {
        if let Some(Activity { body, .. }) = activity {
            let key = (state.actor.0, state.facet.service.clone(), body.source_id);
            self.db.apply_lwt(&ERASE_CLAIM, &key, &key, is_gone).await?;
        }
        let key = version_key(state.id, state.version);
        self.db.write(&ERASE_INTENT, (key.minute, shard(&key.id), &key.id)).await?;
        self.db.write(&ERASE_BODY, (state.version.0, uuid(state.id))).await
    }

    /// Erases the bodies and external keys of an account's activities.
    async fn erase_activities(&self, uid: Uid) -> Result<u64> {
        let (filter, mut after, mut erased) = (Filter::default(), None, 0);
        loop {
            let own = self.slice(&Slice::own(uid, Order::Received, &filter, after, PAGE)).await?;
            after = own.last().map(|last| last.sort_key(Order::Received));
            let ids: Vec<_> = own.iter().map(|entry| entry.id).collect();
            let (states, activities) = futures::try_join!(self.states(&ids), self.activities(&ids))?;
            let found =
                states.iter().zip(activities).filter_map(|(state, found)| Some((state.as_ref()?, found)));
            erased += concurrently(found.map(|(state, found)| self.erase_activity(found, state))).await?.len()
                as u64;
            if own.len() < PAGE {
                return Ok(erased);
            }
        }
    }

    async fn erase_credentials(&self, uid: Uid, at: i64) -> Result<()> {
        for (hash,) in self.db.rows::<(Vec<u8>,)>(&SESSIONS, (uid.0,)).await? {
            self.db.write(&ERASE_SESSION, (at, &hash)).await?;
            self.db.write(&ERASE_SESSION_USE, (at, &hash)).await?;
        }
        for (hash,) in self.db.rows::<(Vec<u8>,)>(&KEYS, (uid.0,)).await? {
            self.db.write(&ERASE_KEY, (at, &hash)).await?;
        }
        for (key,) in self.db.rows::<(String,)>(&TOKENS, (uid.0,)).await? {
            self.db.write(&ERASE_TOKEN, (at, &key)).await?;
        }
        for application in self.applications_of(uid).await? {
            self.db.write(&ERASE_APPLICATION, (at, &application.key)).await?;
        }
        for of_account in
            [&ERASE_SESSIONS_OF, &ERASE_KEYS_OF, &ERASE_TOKENS_OF, &ERASE_APPLICATIONS_OF, &ERASE_PICTURE]
        {
            self.db.write(of_account, (at, uid.0)).await?;
        }
        self.forget_networks(uid).await?;
        let key = (uid.0,);
        self.db.apply_lwt(&ERASE_FACTOR, key, key, is_gone).await.map(drop)
    }

    /// Erases connections, and sources that no one else uses.
    async fn erase_connections(&self, uid: Uid) -> Result<()> {
        for connection in self.listed_connections(uid).await? {
            let key = (uid.0, connection.name.as_str());
            self.db.apply_lwt(&ERASE_CONNECTION, key, key, is_gone).await?;
            if self.connections_after(connection.source, None, 1).await?.is_empty() {
                let source = (connection.source.0.to_vec(),);
                self.db.apply_lwt(&ERASE_SOURCE, &source, &source, is_gone).await?;
            }
        }
        Ok(())
    }

    async fn erase_hooks(&self, uid: Uid, at: i64) -> Result<()> {
        for hook in self.listed_hooks(uid).await? {
            self.delete_hook_progress(hook.id).await?;
            self.unlist_hook(&hook, at).await?;
            let key = (uid.0, hook.name.as_str());
            self.db.apply_lwt(&ERASE_HOOK, key, key, is_gone).await?;
        }
        Ok(())
    }

    /// Erases what the account has read, used, and decided about others, with what they have of it.
    async fn erase_choices(&self, account: &Account, at: i64) -> Result<()> {
        let (uid, name) = (account.uid.0, account.name.as_str());
        for collection in Collection::ALL {
            let key = (uid, collection.as_str());
            self.db.apply_lwt(&ERASE_SEEN, key, key, is_gone).await?;
        }
        for (day, _) in self.usage_days(account.uid).await? {
            let key = (uid, day);
            self.db.apply_lwt(&ERASE_USAGE, key, key, is_gone).await?;
        }
        for DecisionChange { decision, other, .. } in self.decisions_of(account).await? {
            let other = other.as_str();
            if decision == Decision::Block {
                self.db.write(&ERASE_RELATION, (at, other, BLOCKED_BY, name)).await?;
            }
            self.db.write(&ERASE_RELATION, (at, name, decision_number(decision), other)).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Erasures for CqlStore {
    async fn due_erasures(&self, limit: usize) -> Result<Vec<Uid>> {
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let rows: Vec<(i64,)> = self.db.rows(&DUE, (limit,)).await?;
        Ok(rows.into_iter().map(|(uid,)| Uid(uid)).collect())
    }

    async fn erase_account(&self, account: &Account) -> Result<u64> {
        let uid = account.uid;
        let erased = self.erase_activities(uid).await?;
        let at = wall_clock().0.saturating_mul(1_000);
        self.erase_credentials(uid, at).await?;
        self.erase_connections(uid).await?;
        self.erase_hooks(uid, at).await?;
        self.erase_choices(account, at).await?;
        // The claim of the name has the names and the password hash of the first state.
        let nameless =
            Account { given_name: None, family_name: None, password: None, ..account.clone() }.encoded();
        let (name, op) = (account.name.as_str(), Uuid::new_v4());
        let ours = |found: Option<(Uuid,)>| found.map(|(by,)| by == op);
        self.db.apply_lwt(&ERASE_FIRST_STATE, (nameless, op, name, uid.0), (name,), ours).await?;
        Ok(erased)
    }

    async fn finish_erasure(&self, uid: Uid) -> Result<()> {
        self.db.write(&FINISH, (uid.0,)).await
    }
}

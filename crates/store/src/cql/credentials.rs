//! Pre-shared keys and applications. Rows are never deleted: revoked keys and removed applications must stay known.
//!
//! The content of a key or an application is written with the lowest timestamp, so repeating it changes nothing. Of
//! concurrent revocations the earliest wins, of concurrent uses the latest.

use super::db::Query;
use super::scan::Scan;
use super::{CqlStore, LATEST, concurrently};
use crate::codec::{Encoded, exactly};
use crate::{Credentials, Result};
use async_trait::async_trait;
use model::{Application, Key, KeyId, Millis, Uid};

const KEY: Query = Query::read("SELECT hash, key, revoked_ms, used_ms FROM ident.key WHERE hash = ?");
const KEYS_OF: Query = Query::read("SELECT id, hash FROM ident.key_of WHERE owner = ?");
const LIST_KEY: Query = Query::write(
    "INSERT INTO ident.key_of (owner, created_ms, id, hash) VALUES (?, ?, ?, ?) USING TIMESTAMP 1",
);
const ADD_KEY: Query = Query::write("INSERT INTO ident.key (hash, key) VALUES (?, ?) USING TIMESTAMP 1");
const REVOKE_KEY: Query =
    Query::write("UPDATE ident.key USING TIMESTAMP ? SET revoked_ms = ? WHERE hash = ?");
const TOUCH_KEY: Query = Query::write("UPDATE ident.key USING TIMESTAMP ? SET used_ms = ? WHERE hash = ?");

const APPLICATION: Query =
    Query::read("SELECT key, application, secret, removed_ms FROM ident.application WHERE key = ?");
const APPLICATIONS: Scan = Scan::new(
    "SELECT key, application, secret, removed_ms FROM ident.application LIMIT ?",
    "SELECT key, application, secret, removed_ms FROM ident.application WHERE token(key) > token(?) LIMIT ?",
);
const ADD_APPLICATION: Query = Query::write(
    "INSERT INTO ident.application (key, application, secret) VALUES (?, ?, ?) USING TIMESTAMP 1",
);
const APPLICATIONS_OF: Query = Query::read("SELECT key FROM ident.application_of WHERE owner = ?");
const LIST_APPLICATION: Query = Query::write(
    "INSERT INTO ident.application_of (owner, created_ms, key) VALUES (?, ?, ?) USING TIMESTAMP 1",
);
const REMOVE_APPLICATION: Query =
    Query::write("UPDATE ident.application USING TIMESTAMP ? SET removed_ms = ? WHERE key = ?");

/// Hash, key, time of revocation, time of last use. A row may have a use or a revocation without a key.
type KeyRow = (Vec<u8>, Option<Vec<u8>>, Option<i64>, Option<i64>);
/// Consumer key, application, secret, time of removal.
type ApplicationRow = (String, Option<Vec<u8>>, Option<Vec<u8>>, Option<i64>);

/// The timestamp with which the earliest time wins.
pub(super) fn earliest(at: Millis) -> i64 {
    LATEST.saturating_sub(at.0)
}

fn decoded_key((hash, key, revoked, used): KeyRow) -> Result<Option<Key>> {
    let beside = (exactly(&hash)?, revoked.map(Millis), used.map(Millis));
    key.map(|key| Key::decoded_beside(&key, beside)).transpose()
}

fn decoded_application((key, application, secret, removed): ApplicationRow) -> Result<Option<Application>> {
    let (Some(application), Some(sealed_secret)) = (application, secret) else {
        return Ok(None);
    };
    Application::decoded_beside(&application, (key, sealed_secret, removed.map(Millis))).map(Some)
}

impl CqlStore {
    async fn key(&self, hash: Vec<u8>) -> Result<Option<Key>> {
        let found: Option<KeyRow> = self.db.row(&KEY, (hash,)).await?;
        found.map_or(Ok(None), decoded_key)
    }

    async fn write_revocation(&self, hash: &[u8; 32], at: Millis) -> Result<()> {
        self.db.write(&REVOKE_KEY, (earliest(at), at.0, hash.as_slice())).await
    }

    async fn write_application_removal(&self, key: &str, at: Millis) -> Result<()> {
        self.db.write(&REMOVE_APPLICATION, (earliest(at), at.0, key)).await
    }
}

#[async_trait]
impl Credentials for CqlStore {
    async fn add_key(&self, key: &Key) -> Result<()> {
        // Listed first, so that the owner sees every key that works.
        let hash = key.hash.as_slice();
        self.db.write(&LIST_KEY, (key.owner.0, key.created.0, key.id.0.cast_signed(), hash)).await?;
        if let Some(at) = key.revoked {
            self.write_revocation(&key.hash, at).await?;
        }
        if let Some(at) = key.used {
            self.touch_key(&key.hash, at).await?;
        }
        self.db.write(&ADD_KEY, (hash, key.encoded())).await
    }

    async fn key_by_hash(&self, hash: &[u8; 32]) -> Result<Option<Key>> {
        self.key(hash.to_vec()).await
    }

    async fn keys_of(&self, owner: Uid) -> Result<Vec<Key>> {
        let listed: Vec<(i64, Vec<u8>)> = self.db.rows(&KEYS_OF, (owner.0,)).await?;
        let found = concurrently(listed.into_iter().map(|(_, hash)| self.key(hash))).await?;
        Ok(found.into_iter().flatten().collect())
    }

    async fn revoke_key(&self, owner: Uid, id: KeyId, at: Millis) -> Result<bool> {
        let listed: Vec<(i64, Vec<u8>)> = self.db.rows(&KEYS_OF, (owner.0,)).await?;
        let Some((_, hash)) = listed.into_iter().find(|(listed, _)| listed.cast_unsigned() == id.0) else {
            return Ok(false);
        };
        let Some(key) = self.key(hash).await? else {
            return Ok(false);
        };
        if key.revoked.is_none() {
            self.write_revocation(&key.hash, at).await?;
        }
        Ok(true)
    }

    async fn touch_key(&self, hash: &[u8; 32], at: Millis) -> Result<()> {
        self.db.write(&TOUCH_KEY, (at.0, at.0, hash.as_slice())).await
    }

    async fn add_application(&self, application: &Application) -> Result<()> {
        let Application { key, sealed_secret, .. } = application;
        if let Some(owner) = application.owner {
            // Listed first, like keys.
            self.db.write(&LIST_APPLICATION, (owner.0, application.created.0, key)).await?;
        }
        if let Some(at) = application.removed {
            self.write_application_removal(key, at).await?;
        }
        self.db.write(&ADD_APPLICATION, (key, application.encoded(), sealed_secret)).await
    }

    async fn application(&self, key: &str) -> Result<Option<Application>> {
        // The database does not allow an empty partition key.
        if key.is_empty() {
            return Ok(None);
        }
        let found: Option<ApplicationRow> = self.db.row(&APPLICATION, (key,)).await?;
        found.map_or(Ok(None), decoded_application)
    }

    async fn applications(&self) -> Result<Vec<Application>> {
        let read = |row: ApplicationRow| Ok((row.0.clone(), decoded_application(row)?));
        let mut all: Vec<Application> = self.db.scan(&APPLICATIONS, None, usize::MAX, read).await?;
        all.sort_by(|a, b| (a.created, &a.key).cmp(&(b.created, &b.key)));
        Ok(all)
    }

    async fn applications_of(&self, owner: Uid) -> Result<Vec<Application>> {
        let listed: Vec<(String,)> = self.db.rows(&APPLICATIONS_OF, (owner.0,)).await?;
        let found = concurrently(listed.iter().map(|(key,)| self.application(key))).await?;
        Ok(found.into_iter().flatten().collect())
    }

    async fn remove_application(&self, key: &str, at: Millis) -> Result<bool> {
        let Some(found) = self.application(key).await? else {
            return Ok(false);
        };
        if found.removed.is_none() {
            self.write_application_removal(key, at).await?;
        }
        Ok(true)
    }
}

//! Temporary credentials, access tokens and nonces. Temporary credentials and nonces are only written conditionally.
//! Tokens use timestamps like those of keys. Rows with an expiry are deleted by the database (TTL).

use super::credentials::earliest;
use super::db::Query;
use super::lwt::Lwt;
use super::scan::Scan;
use super::{CqlStore, concurrently};
use crate::codec::{Encoded, progress};
use crate::{Grants, Nonce, Result, Secret, StoreError};
use async_trait::async_trait;
use model::{AccessToken, Millis, Progress, Temporary, Uid};
use uuid::Uuid;

const ADD_TEMPORARY: Lwt = Lwt::new(
    "INSERT INTO ident.temporary (key, temporary, progress) VALUES (?, ?, ?) IF NOT EXISTS",
    "SELECT key FROM ident.temporary WHERE key = ?",
);
// A caller that acts on this read does so conditionally, so it need not wait for pending transactions. Many serial
// reads would slow each other down.
const TEMPORARY: Query = Query::read("SELECT temporary, progress, step FROM ident.temporary WHERE key = ?");
const ADVANCE: Lwt = Lwt::new(
    "UPDATE ident.temporary SET progress = ?, step = ? WHERE key = ? IF progress = ?",
    "SELECT progress, step FROM ident.temporary WHERE key = ?",
);

const TOKEN: Query = Query::read(
    "SELECT key, access_token, secret, revoked_ms, used_ms FROM ident.access_token WHERE key = ?",
);
const TOKENS: Scan = Scan::new(
    "SELECT key, access_token, secret, revoked_ms, used_ms FROM ident.access_token LIMIT ?",
    "SELECT key, access_token, secret, revoked_ms, used_ms FROM ident.access_token
     WHERE token(key) > token(?) LIMIT ?",
);
const TOKENS_OF: Query = Query::read("SELECT key FROM ident.token_of WHERE owner = ?");
const LIST_TOKEN: Query =
    Query::write("INSERT INTO ident.token_of (owner, created_ms, key) VALUES (?, ?, ?) USING TIMESTAMP 1");
const ADD_TOKEN: Query = Query::write(
    "INSERT INTO ident.access_token (key, access_token, secret) VALUES (?, ?, ?) USING TIMESTAMP 1",
);
const REVOKE_TOKEN: Query =
    Query::write("UPDATE ident.access_token USING TIMESTAMP ? SET revoked_ms = ? WHERE key = ?");
const TOUCH_TOKEN: Query =
    Query::write("UPDATE ident.access_token USING TIMESTAMP ? SET used_ms = ? WHERE key = ?");

const RESEAL_TOKEN: Lwt = Lwt::new(
    "UPDATE ident.access_token SET secret = ? WHERE key = ? IF secret = ?",
    "SELECT secret FROM ident.access_token WHERE key = ?",
);
const RESEAL_APPLICATION: Lwt = Lwt::new(
    "UPDATE ident.application SET secret = ? WHERE key = ? IF secret = ?",
    "SELECT secret FROM ident.application WHERE key = ?",
);

const CLAIM_NONCE: Lwt = Lwt::new(
    "INSERT INTO ident.nonce (hash, op) VALUES (?, ?) IF NOT EXISTS",
    "SELECT op FROM ident.nonce WHERE hash = ?",
);

/// The credentials, their progress, and the content of the last step.
type TemporaryRow = (Option<Vec<u8>>, Option<i8>, Option<Vec<u8>>);
/// Key, token, secret, time of revocation, time of last use. A row may have a use or a revocation without a token.
type TokenRow = (String, Option<Vec<u8>>, Option<Vec<u8>>, Option<i64>, Option<i64>);

fn decoded_temporary(key: &str, (temporary, progress, step): TemporaryRow) -> Result<Option<Temporary>> {
    // The last step expires later than the credentials.
    let (Some(temporary), Some(progress)) = (temporary, progress) else {
        return Ok(None);
    };
    let progress = Progress::decoded_beside(&step.unwrap_or_default(), progress)?;
    Temporary::decoded_beside(&temporary, (key.to_owned(), progress)).map(Some)
}

fn decoded_token((key, token, secret, revoked, used): TokenRow) -> Result<Option<AccessToken>> {
    let (Some(token), Some(sealed_secret)) = (token, secret) else {
        return Ok(None);
    };
    let beside = (key, sealed_secret, revoked.map(Millis), used.map(Millis));
    AccessToken::decoded_beside(&token, beside).map(Some)
}

impl CqlStore {
    /// Advances temporary credentials by one step. `true` for the caller that took it.
    async fn advance(&self, key: &str, from: i8, to: &Progress) -> Result<bool> {
        let (progress, step) = (progress::number(to), to.encoded());
        let ours = |found: Option<(Option<i8>, Option<Vec<u8>>)>| {
            let (now, by) = found?;
            let now = now.filter(|now| *now != from)?;
            Some(now == progress && by.as_ref() == Some(&step))
        };
        self.db.apply_lwt(&ADVANCE, (progress, &step, key, from), (key,), ours).await
    }

    /// Writes a token. It is listed first, so that the owner sees every token that works. Idempotent.
    pub(super) async fn write_token(&self, token: &AccessToken) -> Result<()> {
        let AccessToken { key, sealed_secret, .. } = token;
        self.db.write(&LIST_TOKEN, (token.owner.0, token.created.0, key)).await?;
        if let Some(at) = token.revoked {
            self.write_token_revocation(key, at).await?;
        }
        if let Some(at) = token.used {
            self.touch_token(key, at).await?;
        }
        self.db.write(&ADD_TOKEN, (key, token.encoded(), sealed_secret)).await
    }

    async fn find_token(&self, key: String) -> Result<Option<AccessToken>> {
        let found: Option<TokenRow> = self.db.row(&TOKEN, (key,)).await?;
        found.map_or(Ok(None), decoded_token)
    }

    async fn write_token_revocation(&self, key: &str, at: Millis) -> Result<()> {
        self.db.write(&REVOKE_TOKEN, (earliest(at), at.0, key)).await
    }
}

#[async_trait]
impl Grants for CqlStore {
    async fn add_temporary(&self, temporary: &Temporary) -> Result<()> {
        let key = temporary.key.as_str();
        let is_stored = |found: Option<(String,)>| found.map(|_| true);
        self.db
            .apply_lwt(&ADD_TEMPORARY, (key, temporary.encoded(), progress::REQUESTED), (key,), is_stored)
            .await?;
        Ok(())
    }

    async fn temporary(&self, key: &str) -> Result<Option<Temporary>> {
        // The database does not allow an empty partition key.
        if key.is_empty() {
            return Ok(None);
        }
        let found: Option<TemporaryRow> = self.db.row(&TEMPORARY, (key,)).await?;
        found.map_or(Ok(None), |row| decoded_temporary(key, row))
    }

    async fn decide(&self, key: &str, decision: &Progress) -> Result<bool> {
        match decision {
            Progress::Allowed { .. } | Progress::Refused => {
                self.advance(key, progress::REQUESTED, decision).await
            }
            Progress::Requested | Progress::Exchanged { .. } => Ok(false),
        }
    }

    async fn exchange(&self, key: &str, token: &AccessToken) -> Result<bool> {
        let exchanged = Progress::Exchanged { token: token.key.clone() };
        if !self.advance(key, progress::ALLOWED, &exchanged).await? {
            return Ok(false);
        }
        // The step is taken from here on, so an error must not mean "nothing was changed".
        let unknown = |error: StoreError| StoreError::Unknown(error.to_string());
        self.write_token(token).await.map_err(unknown)?;
        Ok(true)
    }

    async fn token(&self, key: &str) -> Result<Option<AccessToken>> {
        if key.is_empty() {
            return Ok(None);
        }
        self.find_token(key.to_owned()).await
    }

    async fn tokens_of(&self, owner: Uid) -> Result<Vec<AccessToken>> {
        let listed: Vec<(String,)> = self.db.rows(&TOKENS_OF, (owner.0,)).await?;
        let found = concurrently(listed.into_iter().map(|(key,)| self.find_token(key))).await?;
        Ok(found.into_iter().flatten().collect())
    }

    async fn list_tokens(&self, after: Option<&str>, limit: usize) -> Result<Vec<AccessToken>> {
        let read = |row: TokenRow| Ok((row.0.clone(), decoded_token(row)?));
        self.db.scan(&TOKENS, after.map(str::to_owned), limit, read).await
    }

    async fn revoke_token(&self, key: &str, at: Millis) -> Result<bool> {
        let Some(found) = self.token(key).await? else {
            return Ok(false);
        };
        if found.revoked.is_none() {
            self.write_token_revocation(key, at).await?;
        }
        Ok(true)
    }

    async fn touch_token(&self, key: &str, at: Millis) -> Result<()> {
        self.db.write(&TOUCH_TOKEN, (at.0, at.0, key)).await
    }

    async fn reseal(&self, secret: &Secret, before: &[u8], after: &[u8]) -> Result<bool> {
        let (lwt, key) = match secret {
            Secret::Application(key) => (&RESEAL_APPLICATION, key),
            Secret::Token(key) => (&RESEAL_TOKEN, key),
        };
        // Every sealing of a secret is different, so the sealed secret serves as the operation id.
        let ours = |found: Option<(Option<Vec<u8>>,)>| match found.and_then(|(secret,)| secret) {
            Some(secret) if secret == after => Some(true),
            Some(secret) if secret == before => None,
            _ => Some(false),
        };
        self.db.apply_lwt(lwt, (after, key, before), (key,), ours).await
    }

    async fn claim_nonce(&self, nonce: &Nonce) -> Result<bool> {
        let (hash, op) = (nonce.hash.as_slice(), Uuid::new_v4());
        let ours = |found: Option<(Uuid,)>| found.map(|(by,)| by == op);
        self.db.apply_lwt(&CLAIM_NONCE, (hash, op), (hash,), ours).await
    }
}

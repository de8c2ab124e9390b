//! Temporary credentials, access tokens, nonces, sessions and tickets. Temporary credentials, nonces and tickets are
//! only written conditionally. The other tables use timestamps like those of keys. Rows with an expiry are deleted by
//! the database (TTL).

use super::credentials::{earliest, exactly, scopes};
use super::db::{Query, corrupt};
use super::lwt::Lwt;
use super::scan::Scan;
use super::{CqlStore, concurrently};
use crate::bytes::{WireReader, WireWriter};
use crate::{Grants, Nonce, Result, Secret, StoreError};
use async_trait::async_trait;
use model::{AccessToken, Millis, Progress, Purpose, Session, Temporary, Ticket, Uid};
use uuid::Uuid;

const REQUESTED: i8 = 0;
const ALLOWED: i8 = 1;
const REFUSED: i8 = 2;
const EXCHANGED: i8 = 3;

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

/// The credentials, their progress, and the content of the last step.
type TemporaryRow = (Option<Vec<u8>>, Option<i8>, Option<Vec<u8>>);
/// Key, token, secret, time of revocation, time of last use. A row may have a use or a revocation without a token.
type TokenRow = (String, Option<Vec<u8>>, Option<Vec<u8>>, Option<i64>, Option<i64>);

/// The number of a progress, and its content: a repeated call has the same bytes.
fn encoded_progress(progress: &Progress) -> (i8, Vec<u8>) {
    match progress {
        Progress::Requested => (REQUESTED, Vec::new()),
        Progress::Allowed { by, epoch, verifier } => {
            (ALLOWED, WireWriter::new().signed(by.0).blob(verifier).number(u64::from(*epoch)).finish())
        }
        Progress::Refused => (REFUSED, Vec::new()),
        Progress::Exchanged { token } => (EXCHANGED, WireWriter::new().text(token).finish()),
    }
}

fn decoded_progress(progress: i8, step: &[u8]) -> Result<Progress> {
    let mut reader = WireReader::new(step);
    match progress {
        REQUESTED => Ok(Progress::Requested),
        ALLOWED => {
            let (by, verifier) = (reader.uid()?, exactly(reader.blob()?)?);
            Ok(Progress::Allowed { by, epoch: reader.epoch()?, verifier })
        }
        REFUSED => Ok(Progress::Refused),
        EXCHANGED => Ok(Progress::Exchanged { token: reader.text()?.to_owned() }),
        _ => Err(corrupt("invalid progress of temporary credentials")),
    }
}

fn encoded_temporary(temporary: &Temporary) -> Vec<u8> {
    WireWriter::new()
        .blob(&temporary.sealed_secret)
        .text(&temporary.consumer)
        .option(temporary.callback.as_deref(), WireWriter::text)
        .flag(temporary.scopes.can_write())
        .signed(temporary.expires.0)
        .finish()
}

fn decoded_temporary(key: &str, (temporary, progress, step): TemporaryRow) -> Result<Option<Temporary>> {
    // The last step expires later than the credentials.
    let (Some(temporary), Some(progress)) = (temporary, progress) else {
        return Ok(None);
    };
    let mut reader = WireReader::new(&temporary);
    Ok(Some(Temporary {
        key: key.to_owned(),
        sealed_secret: reader.blob()?.to_vec(),
        consumer: reader.text()?.to_owned(),
        callback: reader.option(|reader| reader.text().map(str::to_owned))?,
        scopes: scopes(reader.flag()?),
        expires: reader.millis()?,
        progress: decoded_progress(progress, &step.unwrap_or_default())?,
    }))
}

fn encoded_token(token: &AccessToken) -> Vec<u8> {
    WireWriter::new()
        .text(&token.consumer)
        .signed(token.owner.0)
        .flag(token.scopes.can_write())
        .signed(token.created.0)
        .option(token.expires, |writer, at| writer.signed(at.0))
        .number(u64::from(token.epoch))
        .finish()
}

fn decoded_token((key, token, secret, revoked, used): TokenRow) -> Result<Option<AccessToken>> {
    let (Some(token), Some(sealed_secret)) = (token, secret) else {
        return Ok(None);
    };
    let mut reader = WireReader::new(&token);
    Ok(Some(AccessToken {
        key,
        sealed_secret,
        consumer: reader.text()?.to_owned(),
        owner: reader.uid()?,
        scopes: scopes(reader.flag()?),
        created: reader.millis()?,
        expires: reader.option(WireReader::millis)?,
        epoch: reader.epoch()?,
        revoked: revoked.map(Millis),
        used: used.map(Millis),
    }))
}

fn encoded_session(session: &Session) -> Vec<u8> {
    WireWriter::new()
        .signed(session.owner.0)
        .blob(&session.password)
        .signed(session.created.0)
        .signed(session.expires.0)
        .text(&session.device)
        .signed(session.used.0)
        .number(u64::from(session.epoch))
        .finish()
}

fn decoded_session(hash: [u8; 32], session: &[u8], used: Option<Millis>) -> Result<Session> {
    let mut reader = WireReader::new(session);
    let owner = reader.uid()?;
    let password = exactly(reader.blob()?)?;
    let (created, expires) = (reader.millis()?, reader.millis()?);
    let device = reader.unless_ended(WireReader::text)?.unwrap_or_default().to_owned();
    let first_used = reader.unless_ended(WireReader::millis)?.unwrap_or(created);
    let epoch = reader.epoch()?;
    let used = used.map_or(first_used, |used| used.max(first_used));
    Ok(Session { hash, owner, epoch, password, created, expires, device, used })
}

fn encoded_ticket(ticket: &Ticket) -> Vec<u8> {
    let reset = match ticket.purpose {
        Purpose::Invitation => None,
        Purpose::Reset(uid) => Some(uid),
    };
    WireWriter::new()
        .option(reset, |writer, uid| writer.signed(uid.0))
        .option(ticket.by, |writer, uid| writer.signed(uid.0))
        .signed(ticket.created.0)
        .signed(ticket.expires.0)
        .finish()
}

fn decoded_ticket(hash: [u8; 32], ticket: &[u8]) -> Result<Ticket> {
    let mut reader = WireReader::new(ticket);
    Ok(Ticket {
        hash,
        purpose: reader.option(WireReader::uid)?.map_or(Purpose::Invitation, Purpose::Reset),
        by: reader.option(WireReader::uid)?,
        created: reader.millis()?,
        expires: reader.millis()?,
    })
}

impl CqlStore {
    /// Advances temporary credentials by one step. `true` for the caller that took it.
    async fn advance(&self, key: &str, from: i8, to: &Progress) -> Result<bool> {
        let (progress, step) = encoded_progress(to);
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
        self.db.write(&ADD_TOKEN, (key, encoded_token(token), sealed_secret)).await
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
            .apply_lwt(&ADD_TEMPORARY, (key, encoded_temporary(temporary), REQUESTED), (key,), is_stored)
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
            Progress::Allowed { .. } | Progress::Refused => self.advance(key, REQUESTED, decision).await,
            Progress::Requested | Progress::Exchanged { .. } => Ok(false),
        }
    }

    async fn exchange(&self, key: &str, token: &AccessToken) -> Result<bool> {
        let exchanged = Progress::Exchanged { token: token.key.clone() };
        if !self.advance(key, ALLOWED, &exchanged).await? {
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

    async fn add_session(&self, session: &Session) -> Result<()> {
        // Listed first, so that the account sees every session.
        let hash = session.hash.as_slice();
        self.db.write(&LIST_SESSION, (session.owner.0, session.created.0, hash)).await?;
        self.db.write(&ADD_SESSION, (hash, encoded_session(session))).await
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
        decoded_session(*hash, &session, used).map(Some)
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

    async fn add_ticket(&self, ticket: &Ticket) -> Result<()> {
        let hash = ticket.hash.as_slice();
        let is_stored = |found: Option<(Vec<u8>,)>| found.map(|_| true);
        self.db.apply_lwt(&ADD_TICKET, (hash, encoded_ticket(ticket)), (hash,), is_stored).await?;
        Ok(())
    }

    async fn ticket(&self, hash: &[u8; 32]) -> Result<Option<Ticket>> {
        let found: Option<(Option<Vec<u8>>, Option<bool>)> = self.db.row(&TICKET, (hash.as_slice(),)).await?;
        match found {
            Some((Some(ticket), Some(false))) => decoded_ticket(*hash, &ticket).map(Some),
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

    async fn forget_expired(&self, _now: Millis) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_encoded_by_an_earlier_version_was_used_when_it_began() {
        let (created, expires) = (Millis(5), Millis(9));
        let older = WireWriter::new().signed(7).blob(&[1; 32]).signed(created.0).signed(expires.0).finish();
        let (owner, password, device) = (Uid(7), [1; 32], String::new());
        let read =
            Session { hash: [2; 32], owner, epoch: 0, password, created, expires, device, used: created };
        assert_eq!(decoded_session([2; 32], &older, None).unwrap(), read);
        let used = decoded_session([2; 32], &older, Some(Millis(8))).unwrap().used;
        assert_eq!(used, Millis(8));
    }
}

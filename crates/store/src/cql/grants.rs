//! Temporary credentials, access tokens, nonces, sessions and tickets. Temporary credentials, nonces and tickets are only
//! ever written on a condition; the rest is plain rows, whose cells have timestamps as those of keys do. What has an end
//! is forgotten by the database itself.

use super::credentials::{earliest, exactly, scopes};
use super::db::{Query, corrupt};
use super::lwt::Lwt;
use super::scan::Scan;
use super::{CqlStore, together};
use crate::bytes::{WireReader, WireWriter};
use crate::{Grants, Nonce, Result, Secret, StoreError};
use async_trait::async_trait;
use model::{AccessToken, Millis, Progress, Purpose, Session, Temporary, Ticket, Uid};
use uuid::Uuid;

const ASKED: i8 = 0;
const ALLOWED: i8 = 1;
const REFUSED: i8 = 2;
const EXCHANGED: i8 = 3;

const ADD_TEMPORARY: Lwt = Lwt::new(
    "INSERT INTO ident.temporary (key, temporary, progress) VALUES (?, ?, ?) IF NOT EXISTS",
    "SELECT key FROM ident.temporary WHERE key = ?",
);
// Whoever acts on what is read here does so on a condition, so that it need not wait for steps that are under way;
// many who read like that would keep each other from getting on.
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
// Whoever acts on what is read here does so on a condition.
const TICKET: Query = Query::read("SELECT ticket, used FROM ident.ticket WHERE hash = ?");
const USE_TICKET: Lwt = Lwt::new(
    "UPDATE ident.ticket SET used = true, op = ? WHERE hash = ? IF used = false",
    "SELECT used, op FROM ident.ticket WHERE hash = ?",
);

/// The credentials themselves, how far they have come, and who came there how.
type TemporaryRow = (Option<Vec<u8>>, Option<i8>, Option<Vec<u8>>);
/// Key, the token itself, its secret, when it was revoked, when it was used. Of what is not there a use or an end
/// may have been stored.
type TokenRow = (String, Option<Vec<u8>>, Option<Vec<u8>>, Option<i64>, Option<i64>);

/// How far that is, and what says who came there: whoever brings the same bytes again is the same.
fn encoded_progress(progress: &Progress) -> (i8, Vec<u8>) {
    match progress {
        Progress::Requested => (ASKED, Vec::new()),
        Progress::Allowed { by, epoch, verifier } => {
            (ALLOWED, WireWriter::new().signed(by.0).blob(verifier).number(u64::from(*epoch)).finish())
        }
        Progress::Refused => (REFUSED, Vec::new()),
        Progress::Exchanged { token } => (EXCHANGED, WireWriter::new().text(token).finish()),
    }
}

fn decoded_progress(progress: i8, step: &[u8]) -> Result<Progress> {
    let mut take = WireReader::new(step);
    match progress {
        ASKED => Ok(Progress::Requested),
        ALLOWED => {
            let (by, verifier) = (take.uid()?, exactly(take.blob()?)?);
            Ok(Progress::Allowed { by, epoch: take.epoch()?, verifier })
        }
        REFUSED => Ok(Progress::Refused),
        EXCHANGED => Ok(Progress::Exchanged { token: take.text()?.to_owned() }),
        _ => Err(corrupt("not a step of temporary credentials")),
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
    // A step is forgotten later than what it was a step of.
    let (Some(temporary), Some(progress)) = (temporary, progress) else {
        return Ok(None);
    };
    let mut take = WireReader::new(&temporary);
    Ok(Some(Temporary {
        key: key.to_owned(),
        sealed_secret: take.blob()?.to_vec(),
        consumer: take.text()?.to_owned(),
        callback: take.option(|take| take.text().map(str::to_owned))?,
        scopes: scopes(take.flag()?),
        expires: take.millis()?,
        progress: decoded_progress(progress, &step.unwrap_or_default())?,
    }))
}

fn encoded_token(token: &AccessToken) -> Vec<u8> {
    WireWriter::new()
        .text(&token.consumer)
        .signed(token.owner.0)
        .flag(token.scopes.can_write())
        .signed(token.created.0)
        .option(token.expires, |put, at| put.signed(at.0))
        .number(u64::from(token.epoch))
        .finish()
}

fn decoded_token((key, token, secret, revoked, used): TokenRow) -> Result<Option<AccessToken>> {
    let (Some(token), Some(sealed_secret)) = (token, secret) else {
        return Ok(None);
    };
    let mut take = WireReader::new(&token);
    Ok(Some(AccessToken {
        key,
        sealed_secret,
        consumer: take.text()?.to_owned(),
        owner: take.uid()?,
        scopes: scopes(take.flag()?),
        created: take.millis()?,
        expires: take.option(WireReader::millis)?,
        epoch: take.epoch()?,
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
    let mut take = WireReader::new(session);
    let owner = take.uid()?;
    let password = exactly(take.blob()?)?;
    let (created, expires) = (take.millis()?, take.millis()?);
    let device = take.unless_ended(WireReader::text)?.unwrap_or_default().to_owned();
    let first_used = take.unless_ended(WireReader::millis)?.unwrap_or(created);
    let epoch = take.epoch()?;
    let used = used.map_or(first_used, |used| used.max(first_used));
    Ok(Session { hash, owner, epoch, password, created, expires, device, used })
}

fn encoded_ticket(ticket: &Ticket) -> Vec<u8> {
    let reset = match ticket.purpose {
        Purpose::Invitation => None,
        Purpose::Reset(uid) => Some(uid),
    };
    WireWriter::new()
        .option(reset, |put, uid| put.signed(uid.0))
        .option(ticket.by, |put, uid| put.signed(uid.0))
        .signed(ticket.created.0)
        .signed(ticket.expires.0)
        .finish()
}

fn decoded_ticket(hash: [u8; 32], ticket: &[u8]) -> Result<Ticket> {
    let mut take = WireReader::new(ticket);
    Ok(Ticket {
        hash,
        purpose: take.option(WireReader::uid)?.map_or(Purpose::Invitation, Purpose::Reset),
        by: take.option(WireReader::uid)?,
        created: take.millis()?,
        expires: take.millis()?,
    })
}

impl CqlStore {
    /// Temporary credentials come from one step to the next; `true` for whoever brought them there.
    async fn advance(&self, key: &str, from: i8, to: &Progress) -> Result<bool> {
        let (progress, step) = encoded_progress(to);
        let ours = |found: Option<(Option<i8>, Option<Vec<u8>>)>| {
            let (now, by) = found?;
            let now = now.filter(|now| *now != from)?;
            Some(now == progress && by.as_ref() == Some(&step))
        };
        self.db.take(&ADVANCE, (progress, &step, key, from), (key,), ours).await
    }

    /// Writes a token, listed first, so that none works that its owner can't see. Again, it changes nothing.
    pub(super) async fn write_token(&self, token: &AccessToken) -> Result<()> {
        let AccessToken { key, sealed_secret, .. } = token;
        self.db.write(&LIST_TOKEN, (token.owner.0, token.created.0, key)).await?;
        if let Some(at) = token.revoked {
            self.note_token_revocation(key, at).await?;
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

    async fn note_token_revocation(&self, key: &str, at: Millis) -> Result<()> {
        self.db.write(&REVOKE_TOKEN, (earliest(at), at.0, key)).await
    }
}

#[async_trait]
impl Grants for CqlStore {
    async fn add_temporary(&self, temporary: &Temporary) -> Result<()> {
        let key = temporary.key.as_str();
        let there = |found: Option<(String,)>| found.map(|_| true);
        self.db.take(&ADD_TEMPORARY, (key, encoded_temporary(temporary), ASKED), (key,), there).await?;
        Ok(())
    }

    async fn temporary(&self, key: &str) -> Result<Option<Temporary>> {
        // An empty key can't be asked for.
        if key.is_empty() {
            return Ok(None);
        }
        let found: Option<TemporaryRow> = self.db.row(&TEMPORARY, (key,)).await?;
        found.map_or(Ok(None), |row| decoded_temporary(key, row))
    }

    async fn decide(&self, key: &str, decision: &Progress) -> Result<bool> {
        match decision {
            Progress::Allowed { .. } | Progress::Refused => self.advance(key, ASKED, decision).await,
            Progress::Requested | Progress::Exchanged { .. } => Ok(false),
        }
    }

    async fn exchange(&self, key: &str, token: &AccessToken) -> Result<bool> {
        let exchanged = Progress::Exchanged { token: token.key.clone() };
        if !self.advance(key, ALLOWED, &exchanged).await? {
            return Ok(false);
        }
        // The step is taken from here on, so that "nothing was changed" would be wrong.
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
        let found = together(listed.into_iter().map(|(key,)| self.find_token(key))).await?;
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
            self.note_token_revocation(key, at).await?;
        }
        Ok(true)
    }

    async fn touch_token(&self, key: &str, at: Millis) -> Result<()> {
        self.db.write(&TOUCH_TOKEN, (at.0, at.0, key)).await
    }

    async fn reseal(&self, which: &Secret, before: &[u8], after: &[u8]) -> Result<bool> {
        let (step, key) = match which {
            Secret::Application(key) => (&RESEAL_APPLICATION, key),
            Secret::Token(key) => (&RESEAL_TOKEN, key),
        };
        // Every sealing of a secret is different, so the sealed secret serves as the operation id.
        let ours = |found: Option<(Option<Vec<u8>>,)>| match found.and_then(|(secret,)| secret) {
            Some(secret) if secret == after => Some(true),
            Some(secret) if secret == before => None,
            _ => Some(false),
        };
        self.db.take(step, (after, key, before), (key,), ours).await
    }

    async fn claim_nonce(&self, nonce: &Nonce) -> Result<bool> {
        let (hash, op) = (nonce.hash.as_slice(), Uuid::new_v4());
        let ours = |found: Option<(Uuid,)>| found.map(|(by,)| by == op);
        self.db.take(&CLAIM_NONCE, (hash, op), (hash,), ours).await
    }

    async fn add_session(&self, session: &Session) -> Result<()> {
        // Listed first, so that nobody is signed in where the account can't see it.
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
        let found = together(hashes.iter().map(|hash| self.session(hash))).await?;
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
        let there = |found: Option<(Vec<u8>,)>| found.map(|_| true);
        self.db.take(&ADD_TICKET, (hash, encoded_ticket(ticket)), (hash,), there).await?;
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
        self.db.take(&USE_TICKET, (op, hash), (hash,), ours).await
    }

    async fn forget_expired(&self, _now: Millis) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_of_an_older_node_was_used_when_it_began() {
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

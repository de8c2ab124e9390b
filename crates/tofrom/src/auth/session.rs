//! Sessions of browsers: whoever signed in with name and password on a page of ours. The API never takes one.
//!
//! The cookie holds 256 random bits, the store their hash. A session counts as long as it is used and not too old, the
//! account's password is the one that opened it, and the account may act and was not disabled since. Forms carry a field that only whoever has the cookie can make, for one purpose each.

use super::last_use::{LastUse, NOTED_EVERY};
use super::{AuthError, Method, Principal, password, primitives};
use crate::accounts::AccountCache;
use crate::clock::Clock;
use aws_lc_rs::hmac;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use model::{Account, Millis, Scopes, Session};
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use zeroize::Zeroizing;

/// The longest life of a session.
pub const LIVES: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// How long a session lives without use. The last use is noted coarsely, so that it may be as much
/// longer.
pub const IDLE: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// Characters of a browser's own words about itself.
const MAX_OF_DEVICE: usize = 200;
/// Bytes of a session's hash that are its public name.
const PUBLIC: usize = 8;

/// What a session is called on pages: the beginning of its hash, which opens nothing.
pub fn public_id(session: &Session) -> String {
    beginning_of(&session.hash)
}

fn beginning_of(hash: &[u8; 32]) -> String {
    hash.iter().take(PUBLIC).map(|byte| format!("{byte:02x}")).collect()
}

/// What a browser calls itself, as it is kept.
fn device(said: &str) -> String {
    said.chars().filter(|one| !one.is_control()).take(MAX_OF_DEVICE).collect()
}

/// Somebody who is signed in.
pub struct SignedIn {
    /// Who.
    pub account: Arc<Account>,
    cookie: Zeroizing<String>,
}

impl SignedIn {
    /// What a form for `purpose` carries, so that another site can't send it in this person's name.
    pub fn csrf(&self, purpose: &str) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(hmac::sign(&self.form_key(), purpose.as_bytes()))
    }

    /// Whether a form for `purpose` came from a page of this session.
    pub fn is_ours(&self, purpose: &str, field: &str) -> bool {
        let Ok(tag) = BASE64_URL_SAFE_NO_PAD.decode(field) else { return false };
        hmac::verify(&self.form_key(), purpose.as_bytes(), &tag).is_ok()
    }

    /// The same as whoever asks. Pages only: no address of a program takes a cookie.
    pub fn principal(&self) -> Principal {
        Principal {
            account: Arc::clone(&self.account),
            method: Method::Session(Arc::new(self.cookie.clone())),
            scopes: Scopes::ReadWrite,
            consumer: None,
        }
    }

    /// What [`public_id`] says of the session that this is.
    pub fn session_id(&self) -> String {
        beginning_of(&primitives::sha256(self.cookie.as_bytes()))
    }

    fn form_key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, self.cookie.as_bytes())
    }
}

/// Knows sessions by their cookie.
pub(super) struct Sessions {
    store: Arc<dyn Store>,
    accounts: AccountCache,
    clock: Clock,
    uses: LastUse<[u8; 32]>,
}

impl Sessions {
    pub(super) fn new(store: Arc<dyn Store>, accounts: AccountCache, clock: Clock) -> Sessions {
        Sessions { store, accounts, clock, uses: LastUse::new() }
    }

    /// Begins a session; gives the cookie's value. It is always a new one: what a browser had before counts for nothing.
    pub(super) async fn begin(&self, account: &Account, said: &str) -> Result<Zeroizing<String>, AuthError> {
        let cookie = primitives::random_text::<32>("")?;
        let now = self.clock.now();
        let session = Session {
            hash: primitives::sha256(cookie.as_bytes()),
            owner: account.uid,
            epoch: account.credential_epoch,
            password: password_mark(account),
            created: now,
            expires: now.later(LIVES),
            device: device(said),
            used: now,
        };
        self.store.add_session(&session).await?;
        Ok(cookie)
    }

    /// Who has that cookie.
    pub(super) async fn open(&self, cookie: &str) -> Result<Option<SignedIn>, AuthError> {
        let now = self.clock.now();
        let found = self.store.session(&primitives::sha256(cookie.as_bytes())).await?;
        let Some(session) = found.filter(|session| is_alive(session, now)) else {
            return Ok(None);
        };
        let mut account = self.accounts.get_in_epoch(session.owner, session.epoch).await?;
        if account.as_ref().is_some_and(|account| password_mark(account) != session.password) {
            // Whoever just changed the password has a session that is newer than what is remembered of the account.
            self.accounts.forget(session.owner);
            account = self.accounts.get(session.owner).await?;
        }
        let Some(account) = account.filter(|account| counts(&session, account, now)) else {
            return Ok(None);
        };
        self.note_use(&session, now);
        Ok(Some(SignedIn { account, cookie: Zeroizing::new(cookie.to_owned()) }))
    }

    /// The sessions with which somebody is signed in as that account, newest first.
    pub(super) async fn of(&self, account: &Account) -> Result<Vec<Session>, AuthError> {
        let now = self.clock.now();
        let mut sessions = self.store.sessions_of(account.uid).await?;
        sessions.retain(|session| counts(session, account, now));
        Ok(sessions)
    }

    /// Ends the account's session with that public name. `false`: it has none.
    pub(super) async fn end_of(&self, account: &Account, id: &str) -> Result<bool, AuthError> {
        let mut ended = false;
        for session in self.store.sessions_of(account.uid).await? {
            if public_id(&session) == id {
                self.store.end_session(&session.hash).await?;
                ended = true;
            }
        }
        Ok(ended)
    }

    /// Notes that the session was used, now and then and beside the request.
    fn note_use(&self, session: &Session, now: Millis) {
        if !self.uses.is_due(session.hash, Some(session.used), now) {
            return;
        }
        let (store, hash) = (Arc::clone(&self.store), session.hash);
        tokio::spawn(async move {
            if let Err(error) = store.touch_session(&hash, now).await {
                tracing::warn!(%error, "could not note that a session was used");
            }
        });
    }

    /// Ends the session with that cookie.
    pub(super) async fn end(&self, cookie: &str) -> Result<(), AuthError> {
        Ok(self.store.end_session(&primitives::sha256(cookie.as_bytes())).await?)
    }
}

/// Whether somebody is signed in with that session as the account is now.
fn counts(session: &Session, account: &Account, now: Millis) -> bool {
    is_alive(session, now)
        && account.may_act()
        && account.credential_epoch == session.epoch
        && password_mark(account) == session.password
}

/// Whether the session is neither too old nor idle for too long.
fn is_alive(session: &Session, now: Millis) -> bool {
    now < session.expires && now < session.used.later(IDLE + NOTED_EVERY)
}

/// Changes whenever the password does, and not when it is hashed anew.
fn password_mark(account: &Account) -> [u8; 32] {
    let stored = account.password.as_deref().unwrap_or_default();
    primitives::sha256(password::identity(stored).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_says_is_kept_short() {
        assert_eq!(device("Firefox/128\r\n\u{7f}\u{9b}"), "Firefox/128");
        assert_eq!(device(&"\u{1f98a}".repeat(300)).chars().count(), 200);
        assert_eq!(device(""), "");
    }
}

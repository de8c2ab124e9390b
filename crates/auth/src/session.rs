//! Browser sessions, started by a sign-in with name and password on a page. The API never accepts one.
//!
//! The cookie holds 256 random bits, the store their hash. A session is valid while it is neither idle nor too old, the
//! account's password is unchanged, and the account may act and was not disabled since. Forms carry a CSRF field, which
//! only a holder of the cookie can compute, for one purpose each.

use super::last_use::{LastUse, RECORD_INTERVAL};
use super::principal::{Method, Principal};
use super::{AuthError, Shared, password};
use aws_lc_rs::hmac;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use model::{Account, Clock, Millis, Scopes, Session};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::{Store, StoreError};
use zeroize::Zeroizing;

/// Maximum age of a session.
pub const MAX_AGE: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// How long a session is valid without use. The last use is recorded once per interval, so a session may live one
/// interval longer.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// How long after a sign-in dangerous changes need no password.
pub const FRESH: Duration = Duration::from_secs(15 * 60);

/// Maximum length of a stored `User-Agent` in characters.
const MAX_DEVICE_LEN: usize = 200;
/// Bytes of a session's hash in its public identifier.
const PUBLIC_BYTES: usize = 8;

/// The public identifier of a session on pages: the first bytes of its hash, which are not a credential.
pub fn public_id(session: &Session) -> String {
    id_of(&session.hash)
}

fn id_of(hash: &[u8; 32]) -> String {
    hash.get(..PUBLIC_BYTES).map_or_else(String::new, hex::encode)
}

/// The stored form of a `User-Agent`.
fn device(agent: &str) -> String {
    agent.chars().filter(|character| !character.is_control()).take(MAX_DEVICE_LEN).collect()
}

/// A signed-in person.
pub struct SignedIn {
    /// The account.
    pub account: Arc<Account>,
    /// When the password was given.
    signed_in: Millis,
    pub(super) cookie: Zeroizing<String>,
    /// A page has many forms.
    form_key: OnceLock<hmac::Key>,
}

impl SignedIn {
    /// The CSRF field of a form for `purpose`: proves that the form came from a page of this session.
    pub fn csrf(&self, purpose: &str) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(hmac::sign(self.form_key(), purpose.as_bytes()))
    }

    /// Checks the CSRF field of a form for `purpose`.
    pub fn is_ours(&self, purpose: &str, field: &str) -> bool {
        let Ok(tag) = BASE64_URL_SAFE_NO_PAD.decode(field) else { return false };
        hmac::verify(self.form_key(), purpose.as_bytes(), &tag).is_ok()
    }

    /// The principal of this session. For pages only: the API takes no cookie.
    pub fn principal(&self) -> Principal {
        Principal {
            account: Arc::clone(&self.account),
            method: Method::Session(Arc::new(self.cookie.clone())),
            scopes: Scopes::ReadWrite,
            consumer: None,
        }
    }

    /// Whether the password was given within the last minutes.
    pub fn is_fresh(&self, now: Millis) -> bool {
        now < self.signed_in.later(FRESH)
    }

    /// Whether this is the session.
    pub(super) fn is_session(&self, session: &Session) -> bool {
        session.hash == seal::sha256(self.cookie.as_bytes())
    }

    /// The [`public_id`] of this session.
    pub fn session_id(&self) -> String {
        id_of(&seal::sha256(self.cookie.as_bytes()))
    }

    fn form_key(&self) -> &hmac::Key {
        self.form_key.get_or_init(|| hmac::Key::new(hmac::HMAC_SHA256, self.cookie.as_bytes()))
    }
}

/// Starts, checks and ends sessions.
pub struct Sessions {
    shared: Shared,
    uses: LastUse<[u8; 32]>,
    /// The maximum number of an account's sessions.
    max: usize,
}

impl Sessions {
    pub(super) fn new(shared: Shared, max: u64) -> Sessions {
        Sessions { shared, uses: LastUse::new(), max: usize::try_from(max).unwrap_or(usize::MAX) }
    }

    /// Starts a session and returns the cookie's value. The value is always new, so a planted cookie cannot become
    /// valid.
    pub(super) async fn start(&self, account: &Account, agent: &str) -> Result<Zeroizing<String>, AuthError> {
        let cookie = seal::random_text::<32>("")?;
        let now = self.shared.clock.now();
        let session = Session {
            hash: seal::sha256(cookie.as_bytes()),
            owner: account.uid,
            epoch: account.credential_epoch,
            password: password_fingerprint(account),
            created: now,
            expires: now.later(MAX_AGE),
            device: device(agent),
            used: now,
        };
        self.shared.store.add_session(&session).await?;
        self.end_oldest(account, &session).await?;
        Ok(cookie)
    }

    /// Ends the oldest sessions of an account that has more than it may. The new one stays.
    async fn end_oldest(&self, account: &Account, new: &Session) -> Result<(), AuthError> {
        let sessions = self.of(account).await?;
        let oldest =
            sessions.iter().filter(|session| session.hash != new.hash).skip(self.max.saturating_sub(1));
        for session in oldest {
            self.shared.store.end_session(&session.hash).await?;
        }
        Ok(())
    }

    /// The person signed in with that cookie.
    pub async fn open(&self, cookie: &str) -> Result<Option<SignedIn>, AuthError> {
        let now = self.shared.clock.now();
        let found = self.shared.store.session(&seal::sha256(cookie.as_bytes())).await?;
        let Some(session) = found.filter(|session| is_alive(session, now)) else {
            return Ok(None);
        };
        let mut account = self.shared.accounts.get_in_epoch(session.owner, session.epoch).await?;
        if account.as_ref().is_some_and(|account| password_fingerprint(account) != session.password) {
            // After a password change the new session may be newer than the cached account.
            self.shared.accounts.forget(session.owner);
            account = self.shared.accounts.get(session.owner).await?;
        }
        let Some(account) = account.filter(|account| is_valid(&session, account, now)) else {
            return Ok(None);
        };
        self.record_use(&session, now);
        let signed_in = session.created;
        let cookie = Zeroizing::new(cookie.to_owned());
        Ok(Some(SignedIn { account, signed_in, cookie, form_key: OnceLock::new() }))
    }

    /// The account's valid sessions, newest first.
    pub async fn of(&self, account: &Account) -> Result<Vec<Session>, AuthError> {
        let now = self.shared.clock.now();
        let mut sessions = self.shared.store.sessions_of(account.uid).await?;
        sessions.retain(|session| is_valid(session, account, now));
        Ok(sessions)
    }

    /// Ends the account's session with that [`public_id`]. `false`: there is none.
    pub async fn end_of(&self, account: &Account, id: &str) -> Result<bool, AuthError> {
        let mut ended = false;
        for session in self.shared.store.sessions_of(account.uid).await? {
            if public_id(&session) == id {
                self.shared.store.end_session(&session.hash).await?;
                ended = true;
            }
        }
        Ok(ended)
    }

    /// Records the use of the session: in the background, at most once per interval.
    fn record_use(&self, session: &Session, now: Millis) {
        if !self.uses.is_due(session.hash, Some(session.used), now) {
            return;
        }
        let (store, hash) = (Arc::clone(&self.shared.store), session.hash);
        tokio::spawn(async move {
            if let Err(error) = store.touch_session(&hash, now).await {
                tracing::warn!(%error, "last use of session not recorded");
            }
        });
    }

    /// Ends the session with that cookie.
    pub async fn end(&self, cookie: &str) -> Result<(), AuthError> {
        Ok(self.shared.store.end_session(&seal::sha256(cookie.as_bytes())).await?)
    }
}

/// Whether the session is valid for the account's current state.
fn is_valid(session: &Session, account: &Account, now: Millis) -> bool {
    is_alive(session, now)
        && account.may_act()
        && account.credential_epoch == session.epoch
        && password_fingerprint(account) == session.password
}

/// Whether the session is neither too old nor idle too long.
fn is_alive(session: &Session, now: Millis) -> bool {
    now < session.expires && now < session.used.later(IDLE_TIMEOUT + RECORD_INTERVAL)
}

/// A fingerprint that changes with the password, but not with a rehash.
pub(super) fn password_fingerprint(account: &Account) -> [u8; 32] {
    let stored = account.password.as_deref().unwrap_or_default();
    seal::sha256(password::identity(stored).as_bytes())
}

/// Removes an account's sessions and access tokens of earlier credential epochs. They are already invalid, so a
/// failure is only logged.
pub async fn remove_ended(store: &dyn Store, clock: &Clock, account: &Account) {
    let removing = async {
        for token in store.tokens_of(account.uid).await? {
            if token.revoked.is_none() && token.epoch < account.credential_epoch {
                store.revoke_token(&token.key, clock.now()).await?;
            }
        }
        for session in store.sessions_of(account.uid).await? {
            if session.epoch < account.credential_epoch {
                store.end_session(&session.hash).await?;
            }
        }
        Ok::<(), StoreError>(())
    };
    if let Err(error) = removing.await {
        tracing::warn!(%error, account = %account.name, "removal of ended sessions and tokens failed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_agent_is_stored_short_and_without_control_characters() {
        assert_eq!(device("Firefox/128\r\n\u{7f}\u{9b}"), "Firefox/128");
        assert_eq!(device(&"\u{1f98a}".repeat(300)).chars().count(), 200);
        assert_eq!(device(""), "");
    }
}

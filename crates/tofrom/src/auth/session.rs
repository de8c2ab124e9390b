//! Sessions of browsers: whoever signed in with name and password on a page of ours. The API never takes one.
//!
//! The cookie holds 256 random bits, the store their hash. A session counts as long as the account's password is the
//! one that opened it. Forms carry a field that only whoever has the cookie can make, for one purpose each.

use super::{Denied, primitives};
use crate::accounts::AccountCache;
use crate::clock::Clock;
use aws_lc_rs::hmac;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use model::{Account, Millis, Session};
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use zeroize::Zeroizing;

/// How long somebody stays signed in.
pub const LIVES: Duration = Duration::from_secs(14 * 24 * 60 * 60);

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

    fn form_key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, self.cookie.as_bytes())
    }
}

/// Knows sessions by their cookie.
pub(super) struct Sessions {
    store: Arc<dyn Store>,
    accounts: AccountCache,
    clock: Clock,
}

impl Sessions {
    pub(super) fn new(store: Arc<dyn Store>, accounts: AccountCache, clock: Clock) -> Sessions {
        Sessions { store, accounts, clock }
    }

    /// Begins a session; gives the cookie's value. It is always a new one: what a browser had before counts for nothing.
    pub(super) async fn begin(&self, account: &Account) -> Result<Zeroizing<String>, Denied> {
        let cookie = primitives::random_text::<32>("")?;
        let now = self.clock.now();
        let session = Session {
            hash: primitives::sha256(cookie.as_bytes()),
            owner: account.uid,
            password: password_mark(account),
            created: now,
            expires: Millis(now.0.saturating_add(i64::try_from(LIVES.as_millis()).unwrap_or(i64::MAX))),
        };
        self.store.add_session(&session).await?;
        Ok(cookie)
    }

    /// Who has that cookie.
    pub(super) async fn open(&self, cookie: &str) -> Result<Option<SignedIn>, Denied> {
        let found = self.store.session(&primitives::sha256(cookie.as_bytes())).await?;
        let Some(session) = found.filter(|session| self.clock.now() < session.expires) else {
            return Ok(None);
        };
        let account = self.accounts.get(session.owner).await?;
        let still = |account: &Arc<Account>| !account.removed && password_mark(account) == session.password;
        let signed_in = |account| SignedIn { account, cookie: Zeroizing::new(cookie.to_owned()) };
        Ok(account.filter(still).map(signed_in))
    }

    /// Ends the session with that cookie.
    pub(super) async fn end(&self, cookie: &str) -> Result<(), Denied> {
        Ok(self.store.end_session(&primitives::sha256(cookie.as_bytes())).await?)
    }
}

/// Changes whenever the password does: each stored hash has a salt of its own.
fn password_mark(account: &Account) -> [u8; 32] {
    primitives::sha256(account.password.as_deref().unwrap_or_default().as_bytes())
}

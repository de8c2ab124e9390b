//! What a person grants to an application, step by step (OAuth 1.0a), the sessions in which they do so, and tickets that
//! let somebody in once.

use crate::{Account, Millis, Scopes, Uid};
use std::fmt;

/// Temporary credentials: an application asks for access, a person decides, the application fetches a token.
#[derive(Clone, PartialEq, Eq)]
pub struct Temporary {
    /// Its public key, the `oauth_token` of the first two steps.
    pub key: String,
    /// Its secret, sealed.
    pub sealed_secret: Vec<u8>,
    /// The consumer key of the application that asks.
    pub consumer: String,
    /// Where the person is sent back to; `None` if they carry the verifier over themselves (`oob`).
    pub callback: Option<String>,
    /// What is asked for.
    pub scopes: Scopes,
    /// From when on it opens nothing.
    pub expires: Millis,
    /// How far it has come.
    pub progress: Progress,
}

impl fmt::Debug for Temporary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Temporary({} {:?})", self.key, self.progress)
    }
}

/// How far temporary credentials have come. Each step is taken once and never back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nobody has decided.
    Requested,
    /// This account allowed it; SHA-256 of the verifier that the application has to bring.
    Allowed {
        /// Who.
        by: Uid,
        /// The account's credential epoch then.
        epoch: u32,
        /// SHA-256 of the verifier.
        verifier: [u8; 32],
    },
    /// Somebody refused it.
    Refused,
    /// It became the access token with this key.
    Exchanged {
        /// The access token's key.
        token: String,
    },
}

/// An access token: an application acts for an account.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken {
    /// Its public key, the `oauth_token` of signed requests.
    pub key: String,
    /// Its secret, sealed: signatures need it back, so it can't be a hash.
    pub sealed_secret: Vec<u8>,
    /// The consumer key of the application.
    pub consumer: String,
    /// The account.
    pub owner: Uid,
    /// The account's credential epoch when it allowed the token.
    pub epoch: u32,
    /// What it may be used for.
    pub scopes: Scopes,
    /// When it was made.
    pub created: Millis,
    /// From when on it opens nothing.
    pub expires: Option<Millis>,
    /// When it was revoked.
    pub revoked: Option<Millis>,
    /// About when it was last used.
    pub used: Option<Millis>,
}

impl AccessToken {
    /// Whether it opens anything at `now`.
    pub fn is_live(&self, now: Millis) -> bool {
        self.revoked.is_none() && self.expires.is_none_or(|end| now < end)
    }

    /// Whether it was ended: revoked, or together with all others of its account.
    pub fn is_ended(&self, owner: &Account) -> bool {
        self.revoked.is_some() || self.epoch != owner.credential_epoch
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccessToken({} {})", self.key, self.owner.0)
    }
}

/// Somebody signed in with a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// SHA-256 of the cookie's value, which has 256 random bits.
    pub hash: [u8; 32],
    /// Who.
    pub owner: Uid,
    /// The account's credential epoch when they signed in.
    pub epoch: u32,
    /// SHA-256 of the stored password hash that was opened: a changed password ends the session.
    pub password: [u8; 32],
    /// When they signed in.
    pub created: Millis,
    /// When it ends at the latest.
    pub expires: Millis,
    /// What the browser called itself: at most 200 characters, none of them a control character.
    pub device: String,
    /// About when it was last used.
    pub used: Millis,
}

/// What somebody is given as a link, to be used once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// SHA-256 of the ticket itself, which has 256 random bits.
    pub hash: [u8; 32],
    /// What it is good for.
    pub purpose: Purpose,
    /// Who made it; `None`: an operator, by the command line.
    pub by: Option<Uid>,
    /// When it was made.
    pub created: Millis,
    /// From when on it opens nothing.
    pub expires: Millis,
}

/// What a ticket is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Making an account.
    Invitation,
    /// Giving this account a new password.
    Reset(Uid),
}

//! OAuth 1.0a grants, browser sessions, and tickets.

use crate::{Account, Millis, Scopes, Uid};
use std::fmt;

/// Temporary credentials: an application requests access, a person decides, the application fetches a token.
#[derive(Clone, PartialEq, Eq)]
pub struct Temporary {
    /// The public key, the `oauth_token` of the first two steps.
    pub key: String,
    /// The sealed secret.
    pub sealed_secret: Vec<u8>,
    /// The consumer key of the application.
    pub consumer: String,
    /// The URL to which the person is redirected; `None` if they enter the verifier themselves (`oob`).
    pub callback: Option<String>,
    /// The requested permissions.
    pub scopes: Scopes,
    /// When it expires.
    pub expires: Millis,
    /// The progress of the authorisation.
    pub progress: Progress,
}

impl fmt::Debug for Temporary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Temporary({} {:?})", self.key, self.progress)
    }
}

/// The progress of temporary credentials. Each step is taken once and never reverted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Not decided yet.
    Requested,
    /// An account allowed it.
    Allowed {
        /// The account.
        by: Uid,
        /// The account's credential epoch at that time.
        epoch: u32,
        /// SHA-256 of the verifier that the application must present.
        verifier: [u8; 32],
    },
    /// An account refused it.
    Refused,
    /// Exchanged for an access token.
    Exchanged {
        /// The key of the access token.
        token: String,
    },
}

/// An access token: an application acts for an account.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken {
    /// The public key, the `oauth_token` of signed requests.
    pub key: String,
    /// The sealed secret. Verifying a signature needs it, so it cannot be a hash.
    pub sealed_secret: Vec<u8>,
    /// The consumer key of the application.
    pub consumer: String,
    /// The account.
    pub owner: Uid,
    /// The account's credential epoch when it allowed the token.
    pub epoch: u32,
    /// The permissions.
    pub scopes: Scopes,
    /// When it was created.
    pub created: Millis,
    /// When it expires.
    pub expires: Option<Millis>,
    /// When it was revoked.
    pub revoked: Option<Millis>,
    /// About when it was used last.
    pub used: Option<Millis>,
}

impl AccessToken {
    /// Whether it is valid at `now`.
    pub fn is_live(&self, now: Millis) -> bool {
        self.revoked.is_none() && self.expires.is_none_or(|end| now < end)
    }

    /// Whether it was revoked, alone or with all others of its account.
    pub fn is_ended(&self, owner: &Account) -> bool {
        self.revoked.is_some() || self.epoch != owner.credential_epoch
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccessToken({} {})", self.key, self.owner.0)
    }
}

/// A browser session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// SHA-256 of the cookie's value, which has 256 random bits.
    pub hash: [u8; 32],
    /// The account.
    pub owner: Uid,
    /// The account's credential epoch when they signed in.
    pub epoch: u32,
    /// SHA-256 of the account's password hash at sign-in. A changed password ends the session.
    pub password: [u8; 32],
    /// When it was created.
    pub created: Millis,
    /// When it expires.
    pub expires: Millis,
    /// The `User-Agent` of the browser: at most 200 characters, without control characters.
    pub device: String,
    /// About when it was used last.
    pub used: Millis,
}

/// A ticket: a link that works once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// SHA-256 of the ticket itself, which has 256 random bits.
    pub hash: [u8; 32],
    /// The purpose.
    pub purpose: Purpose,
    /// The account that created it. `None`: an operator, on the command line.
    pub by: Option<Uid>,
    /// When it was created.
    pub created: Millis,
    /// When it expires.
    pub expires: Millis,
}

/// The purpose of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Creates an account.
    Invitation,
    /// Sets a new password for this account.
    Reset(Uid),
}

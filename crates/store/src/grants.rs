//! What people grant to applications, and everything that may happen only once on the way there.
//!
//! Of many who try to take the same step at the same time, on whatever nodes, exactly one does. Each such step reads
//! and writes one row, so that a conditional write of one row (a lightweight transaction) can fulfil it, and whoever
//! took a step is told so again on repeating the very same call: an engine whose answer got lost may ask again.

use crate::Result;
use async_trait::async_trait;
use model::{AccessToken, Millis, Progress, Session, Temporary, Ticket, Uid};

/// A nonce that may be used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonce {
    /// A hash of whose it is, its time and its text.
    pub hash: [u8; 16],
    /// From when on nobody can use it any more, so that it can be forgotten.
    pub until: Millis,
}

/// A sealed secret that can be sealed anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// Of the application with this consumer key.
    Application(String),
    /// Of the access token with this key.
    Token(String),
}

/// Temporary credentials, access tokens, nonces, sessions and tickets.
#[async_trait]
pub trait Grants: Send + Sync {
    /// Keeps temporary credentials. Their key is random, so it is new.
    async fn add_temporary(&self, temporary: &Temporary) -> Result<()>;

    /// The temporary credentials with that key, expired or not.
    async fn temporary(&self, key: &str) -> Result<Option<Temporary>>;

    /// A person decided: `Allowed` or `Refused`. The first decision counts; `true` for whoever made it.
    async fn decide(&self, key: &str, decision: &Progress) -> Result<bool>;

    /// Turns temporary credentials that were allowed into this access token. Exactly one call gives `true`; the others
    /// leave no token behind.
    async fn exchange(&self, key: &str, token: &AccessToken) -> Result<bool>;

    /// The access token with that key, whether it is live or not.
    async fn token(&self, key: &str) -> Result<Option<AccessToken>>;

    /// All access tokens of an account, oldest first.
    async fn tokens_of(&self, owner: Uid) -> Result<Vec<AccessToken>>;

    /// A page of all access tokens in an order of the store's own: those after the one with the key `after`.
    async fn list_tokens(&self, after: Option<&str>, limit: usize) -> Result<Vec<AccessToken>>;

    /// Revokes an access token for good; the first revocation's time stays. `false`: there is none.
    async fn revoke_token(&self, key: &str, at: Millis) -> Result<bool>;

    /// Notes that an access token was used; the latest time wins.
    async fn touch_token(&self, key: &str, at: Millis) -> Result<()>;

    /// Puts a secret that was sealed anew in the place of the one that was read. `false`: another stands there.
    async fn reseal(&self, which: &Secret, before: &[u8], after: &[u8]) -> Result<bool>;

    /// `true` for the first who claims this nonce, `false` for all others.
    async fn claim_nonce(&self, nonce: &Nonce) -> Result<bool>;

    /// Keeps a session.
    async fn add_session(&self, session: &Session) -> Result<()>;

    /// The session with that hash, expired or not.
    async fn session(&self, hash: &[u8; 32]) -> Result<Option<Session>>;

    /// The sessions of an account, newest first. Those that were ended are not among them; those whose time is over may
    /// be.
    async fn sessions_of(&self, owner: Uid) -> Result<Vec<Session>>;

    /// Notes that a session was used; the latest time wins.
    async fn touch_session(&self, hash: &[u8; 32], at: Millis) -> Result<()>;

    /// Ends a session.
    async fn end_session(&self, hash: &[u8; 32]) -> Result<()>;

    /// Keeps a ticket. Its hash is random, so it is new.
    async fn add_ticket(&self, ticket: &Ticket) -> Result<()>;

    /// The ticket with that hash, expired or not, as long as nobody has used it.
    async fn ticket(&self, hash: &[u8; 32]) -> Result<Option<Ticket>>;

    /// Uses a ticket up. Exactly one call ever gives `true`; so whoever does not learn the answer has to do without it.
    async fn use_ticket(&self, hash: &[u8; 32]) -> Result<bool>;

    /// Forgets temporary credentials, nonces, sessions, tickets and networks that ended before `now`. An engine that forgets by itself has
    /// nothing to do here; whoever reads looks at the end all the same.
    async fn forget_expired(&self, now: Millis) -> Result<()>;
}

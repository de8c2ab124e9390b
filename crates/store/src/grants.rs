//! OAuth grants, sessions, tickets, and their steps that may happen only once.
//!
//! Of concurrent calls that take the same step, on any nodes, exactly one succeeds. A step reads and writes one row,
//! so a conditional write of one row (a lightweight transaction) implements it. Repeating a call that has succeeded
//! reports success again, so an engine may retry after a lost response.

use crate::Result;
use async_trait::async_trait;
use model::{AccessToken, Millis, Progress, Session, Temporary, Ticket, Uid};

/// A nonce: a value that may be used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonce {
    /// A hash of its credential, its timestamp and its text.
    pub hash: [u8; 16],
    /// When it expires. From then on its timestamp is refused, and it can be forgotten.
    pub until: Millis,
}

/// Identifies a sealed secret that can be sealed with another key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// The secret of the application with this consumer key.
    Application(String),
    /// The secret of the access token with this key.
    Token(String),
}

/// Temporary credentials, access tokens, nonces, sessions and tickets.
#[async_trait]
pub trait Grants: Send + Sync {
    /// Stores temporary credentials. Their key is random and therefore new.
    async fn add_temporary(&self, temporary: &Temporary) -> Result<()>;

    /// The temporary credentials with this key, including expired ones.
    async fn temporary(&self, key: &str) -> Result<Option<Temporary>>;

    /// Records the decision of a person: `Allowed` or `Refused`. `true` for the first decision, which counts.
    async fn decide(&self, key: &str, decision: &Progress) -> Result<bool>;

    /// Exchanges allowed temporary credentials for this access token. Exactly one call returns `true`; the others
    /// leave no token behind.
    async fn exchange(&self, key: &str, token: &AccessToken) -> Result<bool>;

    /// The access token with this key, including an expired or revoked one.
    async fn token(&self, key: &str) -> Result<Option<AccessToken>>;

    /// All access tokens of an account, oldest first.
    async fn tokens_of(&self, owner: Uid) -> Result<Vec<AccessToken>>;

    /// A page of all access tokens after the one with the key `after`, in an order that the engine chooses.
    async fn list_tokens(&self, after: Option<&str>, limit: usize) -> Result<Vec<AccessToken>>;

    /// Revokes an access token permanently. The time of the first revocation stays. `false`: there is no such token.
    async fn revoke_token(&self, key: &str, at: Millis) -> Result<bool>;

    /// Records the use of an access token. The latest time wins.
    async fn touch_token(&self, key: &str, at: Millis) -> Result<()>;

    /// Replaces a sealed secret if the stored one is `before`. `false`: another one is stored.
    async fn reseal(&self, secret: &Secret, before: &[u8], after: &[u8]) -> Result<bool>;

    /// `true` for the first call with this nonce, `false` for all others.
    async fn claim_nonce(&self, nonce: &Nonce) -> Result<bool>;

    /// Stores a session.
    async fn add_session(&self, session: &Session) -> Result<()>;

    /// The session with this hash, including an expired one.
    async fn session(&self, hash: &[u8; 32]) -> Result<Option<Session>>;

    /// The sessions of an account, newest first, without ended ones. Expired sessions may be included.
    async fn sessions_of(&self, owner: Uid) -> Result<Vec<Session>>;

    /// Records the use of a session. The latest time wins.
    async fn touch_session(&self, hash: &[u8; 32], at: Millis) -> Result<()>;

    /// Ends a session.
    async fn end_session(&self, hash: &[u8; 32]) -> Result<()>;

    /// Stores a ticket. Its hash is random and therefore new.
    async fn add_ticket(&self, ticket: &Ticket) -> Result<()>;

    /// The unused ticket with this hash, including an expired one.
    async fn ticket(&self, hash: &[u8; 32]) -> Result<Option<Ticket>>;

    /// Uses a ticket. Exactly one call ever returns `true`, so a caller that does not receive the result has lost the
    /// ticket.
    async fn use_ticket(&self, hash: &[u8; 32]) -> Result<bool>;

    /// Deletes temporary credentials, nonces, sessions, tickets and networks that expired before `now`. An engine
    /// that expires rows itself does nothing. Readers check the expiry in any case.
    async fn forget_expired(&self, now: Millis) -> Result<()>;
}

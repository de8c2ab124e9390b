//! Credentials of programs: keys, applications, and OAuth grants with their steps that may happen only once.
//!
//! Of concurrent calls that take the same step, on any nodes, exactly one succeeds. A step reads and writes one row,
//! so a conditional write of one row (a lightweight transaction) implements it. Repeating a call that has succeeded
//! reports success again, so an engine may retry after a lost response.

use crate::Result;
use async_trait::async_trait;
use model::{AccessToken, Application, Key, KeyId, Millis, Progress, Temporary, Uid};

/// Pre-shared keys and applications.
#[async_trait]
pub trait Credentials: Send + Sync {
    /// Stores a key.
    async fn add_key(&self, key: &Key) -> Result<()>;

    /// The key with this hash, including an expired or revoked one.
    async fn key_by_hash(&self, hash: &[u8; 32]) -> Result<Option<Key>>;

    /// All keys of an account, oldest first.
    async fn keys_of(&self, owner: Uid) -> Result<Vec<Key>>;

    /// Revokes a key permanently. The time of the first revocation stays. `false`: the account has no such key.
    async fn revoke_key(&self, owner: Uid, id: KeyId, at: Millis) -> Result<bool>;

    /// Records the use of a key. The latest time wins.
    async fn touch_key(&self, hash: &[u8; 32], at: Millis) -> Result<()>;

    /// Stores an application. Its key is random and therefore new.
    async fn add_application(&self, application: &Application) -> Result<()>;

    /// The application with this consumer key, including a removed one.
    async fn application(&self, key: &str) -> Result<Option<Application>>;

    /// All applications, oldest first.
    async fn applications(&self) -> Result<Vec<Application>>;

    /// The applications that an account registered, oldest first, including removed ones.
    async fn applications_of(&self, owner: Uid) -> Result<Vec<Application>>;

    /// Removes an application permanently. The time of the first removal stays. `false`: there is no such
    /// application.
    async fn remove_application(&self, key: &str, at: Millis) -> Result<bool>;
}

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

/// Temporary credentials, access tokens and nonces.
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
}

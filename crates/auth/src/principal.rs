//! The authenticated caller.

use super::AuthError;
use model::{AccessToken, Account, Application, Key, Scopes};
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// An authenticated caller. A value exists only after its credential was checked.
#[derive(Clone, Debug)]
pub struct Principal {
    /// The account.
    pub account: Arc<Account>,
    /// The kind of credential.
    pub method: Method,
    /// The scopes of the credential.
    pub scopes: Scopes,
    /// The application, if the request named one.
    pub consumer: Option<Arc<Application>>,
}

impl Principal {
    /// Whether the caller may act for all accounts. Only the account's own credentials carry this right, not tokens
    /// that were granted to an application.
    pub fn is_operator(&self) -> bool {
        match self.method {
            Method::Basic | Method::Psk(_) | Method::Session(_) => self.account.operator,
            Method::OAuth(_) => false,
        }
    }

    /// Rejects a read-only credential.
    pub fn must_write(&self) -> Result<(), AuthError> {
        if self.scopes.can_write() { Ok(()) } else { Err(AuthError::Scope("write")) }
    }
}

/// The kind of credential that a caller used.
#[derive(Clone, PartialEq, Eq)]
pub enum Method {
    /// Name and password.
    Basic,
    /// A pre-shared key.
    Psk(Arc<Key>),
    /// An OAuth access token.
    OAuth(Arc<AccessToken>),
    /// The cookie of a browser session, on pages only.
    Session(Arc<Zeroizing<String>>),
}

impl fmt::Debug for Method {
    /// Shows the kind alone: some credentials are secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Method {
    /// Its name in responses.
    pub fn as_str(&self) -> &'static str {
        match self {
            Method::Basic => "basic",
            Method::Psk(_) => "psk",
            Method::OAuth(_) => "oauth",
            Method::Session(_) => "session",
        }
    }
}

//! Who asks, once they have proved it.

use model::{AccessToken, Account, Application, Key, Scopes};
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// An authenticated caller. There is none without a credential that held, so whoever is handed one need not ask.
#[derive(Clone, Debug)]
pub struct Principal {
    /// Who they are.
    pub account: Arc<Account>,
    /// What they proved it with.
    pub method: Method,
    /// What that credential may be used for.
    pub scopes: Scopes,
    /// The application through which they ask, if it was named.
    pub consumer: Option<Arc<Application>>,
}

impl Principal {
    /// Whether the caller acts on behalf of any account. The right comes with a credential that is the account's own;
    /// one that was lent to an application does not carry it.
    pub fn is_operator(&self) -> bool {
        match self.method {
            Method::Basic | Method::Psk(_) | Method::Session(_) => self.account.operator,
            Method::OAuth(_) => false,
        }
    }
}

/// How a caller proved who they are.
#[derive(Clone, PartialEq, Eq)]
pub enum Method {
    /// Name and password.
    Basic,
    /// This pre-shared key.
    Psk(Arc<Key>),
    /// A request that an application signed with this token.
    OAuth(Arc<AccessToken>),
    /// A session of a browser, on pages only: its cookie.
    Session(Arc<Zeroizing<String>>),
}

impl fmt::Debug for Method {
    /// The word alone: some hold what is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Method {
    /// The word for it in answers.
    pub fn as_str(&self) -> &'static str {
        match self {
            Method::Basic => "basic",
            Method::Psk(_) => "psk",
            Method::OAuth(_) => "oauth",
            Method::Session(_) => "session",
        }
    }
}

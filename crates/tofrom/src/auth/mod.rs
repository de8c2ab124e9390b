//! Who asks. A request comes in with exactly one credential ([`credentials_of`] reads it) and goes on with a
//! [`Principal`], or not at all ([`Denied`]).
//!
//! `basic` and `key` each know one kind of credential, `throttle` stands before guesses at any of them, and
//! `application` knows the programs that people use. What a caller may then see or do is not decided here.
//!
//! Nothing in this room is remembered longer than it may count after a change: accounts, keys and applications for
//! seconds, and a remembered password only together with the account as it is. Only what was found is remembered, so
//! a new account or key works at once.

pub mod application;
mod basic;
mod denied;
mod hashing;
pub mod key;
mod key_file;
pub mod password;
mod presented;
mod primitives;
mod principal;
mod seal;
mod throttle;

pub use denied::Denied;
pub use key_file::KeyFileError;
pub use presented::{Credential, Presented, credentials_of};
pub use primitives::NoRandomness;
pub use principal::{Method, Principal};
pub use seal::{SealError, SecretKeys};

use crate::accounts::AccountCache;
use crate::clock::Clock;
use application::Applications;
use basic::Passwords;
use http::HeaderMap;
use key::Keys;
use model::{Application, Scopes};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use throttle::Throttle;

/// How long a revoked key or a removed application may still count on a node that did not change it.
const CHANGES_COUNT_AFTER: Duration = Duration::from_secs(3);

/// What an installation decides about authentication.
#[derive(Clone, Copy, Debug, Default)]
pub struct AuthSettings {
    /// Whether every request must name its application.
    pub require_consumer_key: bool,
}

/// Finds out who asks.
pub struct Authenticator {
    passwords: Passwords,
    keys: Keys,
    applications: Applications,
    settings: AuthSettings,
}

impl Authenticator {
    /// One that knows the store's accounts, keys and applications.
    pub fn new(
        store: Arc<dyn Store>,
        accounts: AccountCache,
        clock: Clock,
        settings: AuthSettings,
    ) -> Authenticator {
        let throttle = Arc::new(Throttle::new(clock.clone()));
        Authenticator {
            passwords: Passwords::new(Arc::clone(&store), accounts.clone(), Arc::clone(&throttle)),
            keys: Keys::new(Arc::clone(&store), accounts, throttle, clock),
            applications: Applications::new(store),
            settings,
        }
    }

    /// Who sends a request with these headers from that address. The credential is looked at before the application:
    /// who has no right one learns nothing about consumer keys.
    pub async fn authenticate(&self, headers: &HeaderMap, remote: IpAddr) -> Result<Principal, Denied> {
        let presented = credentials_of(headers)?;
        let (account, method, scopes) = match presented.credential {
            Credential::Basic { name, password } => {
                let account = self.passwords.open(&name, &password, remote).await?;
                (account, Method::Basic, Scopes::ReadWrite)
            }
            Credential::Psk(text) => {
                let (account, scopes) = self.keys.open(&text, remote).await?;
                (account, Method::Psk, scopes)
            }
        };
        let consumer = self.consumer(presented.consumer.as_deref()).await?;
        Ok(Principal { account, method, scopes, consumer })
    }

    /// How many passwords were hashed since the start.
    pub fn hashes_computed(&self) -> u64 {
        self.passwords.hashes_computed()
    }

    async fn consumer(&self, key: Option<&str>) -> Result<Option<Arc<Application>>, Denied> {
        match key {
            Some(key) => self.applications.live(key).await.map(Some),
            None if self.settings.require_consumer_key => Err(Denied::ConsumerMissing),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests;

//! Authentication: turns a request with exactly one credential into a [`Principal`], or rejects it with an
//! [`AuthError`]. Authorisation is not decided here. [`Auth`] builds the parts, which callers use directly:
//!
//! | part | task | checks and helpers behind it |
//! |---|---|---|
//! | [`Authenticator`] | one credential becomes a [`Principal`]; [`credentials_of`] reads it | `presented_credential`, `basic`, `key`, `oauth` |
//! | [`SignIn`], [`session::Sessions`] | keep browsers signed in on pages | `familiar` recognises browsers and networks of earlier sign-ins |
//! | [`oauth::OAuth`] | the three steps to an access token | [`application::Applications`] |
//! | [`SignUp`], [`PasswordChange`], [`ticket::Tickets`] | give people accounts and new passwords | `password`, `hashing`, `queue` |
//! | [`second_factor::SecondFactors`] | codes after the password, on pages | |
//! | [`audit::AuditLog`] | records security events | |
//! | [`Throttle`] | limits guesses at all kinds of credentials | |
//!
//! No cache outlives a change by more than seconds: accounts, keys and applications have a short TTL, and a cached
//! password check counts only for the account's present password. Misses are not cached, so a new account or key works
//! immediately.

pub mod application;
pub mod audit;
mod authenticator;
mod basic;
mod error;
mod familiar;
mod hashing;
pub mod key;
mod last_use;
pub mod oauth;
pub mod password;
mod password_change;
mod presented_credential;
mod principal;
mod queue;
mod refusal;
pub mod reseal;
pub mod second_factor;
pub mod session;
mod sign_in;
mod sign_up;
mod throttle;
pub mod ticket;

pub use authenticator::{Authenticated, Authenticator};
pub use basic::Passwords;
pub use error::AuthError;
pub use familiar::FAMILIAR_TTL;
pub use password_change::{PasswordChange, PasswordChangeError, PasswordResetError};
pub use presented_credential::{
    AuthRequest, Browser, Credential, PresentedCredential, credentials_of, is_secret_in_headers,
};
pub use principal::{Method, Principal};
pub use session::remove_ended;
pub use sign_in::{Cookies, SignIn, SignInStep};
pub use sign_up::{SignUp, SignUpError};
pub use throttle::Throttle;

use application::Applications;
use audit::AuditLog;
use familiar::Familiar;
use key::Keys;
use model::{Clock, Quotas};
use oauth::OAuth;
use seal::SecretKeys;
use second_factor::SecondFactors;
use session::Sessions;
use std::sync::Arc;
use std::time::Duration;
use store::{AccountCache, Store};
use ticket::Tickets;

/// TTL of cached keys, tokens and applications: how long a revoked one may still work on another server.
const CREDENTIAL_CACHE_TTL: Duration = Duration::from_secs(3);

/// Settings of authentication.
#[derive(Clone, Copy, Debug, Default)]
pub struct AuthSettings {
    /// Whether every request must send a consumer key.
    pub require_consumer_key: bool,
    /// Whether people may sign up without an invitation.
    pub open_registration: bool,
    /// Whether operator pages require a second factor.
    pub operators_need_second_factor: bool,
    /// Settings of OAuth.
    pub oauth: OAuthSettings,
    /// How much an account may have.
    pub quotas: Quotas,
}

/// Settings of OAuth.
#[derive(Clone, Copy, Debug, Default)]
pub struct OAuthSettings {
    /// Lifetime of access tokens. `None`: forever.
    pub token_lifetime: Option<Duration>,
}

/// The parts that all checks use.
#[derive(Clone)]
struct Shared {
    store: Arc<dyn Store>,
    accounts: AccountCache,
    clock: Clock,
    throttle: Arc<Throttle>,
    audit: Arc<AuditLog>,
}

/// The parts of authentication.
pub struct Auth {
    /// Authenticates requests.
    pub authenticator: Authenticator,
    /// Checks passwords.
    pub passwords: Arc<Passwords>,
    /// Signs people in on pages.
    pub sign_in: Arc<SignIn>,
    /// Checks and ends sessions.
    pub sessions: Arc<Sessions>,
    /// Checks and changes second factors.
    pub second_factors: Arc<SecondFactors>,
    /// Whether operator pages require a second factor.
    pub operators_need_second_factor: bool,
    /// Records security events.
    pub audit: Arc<AuditLog>,
    /// Creates accounts for people.
    pub sign_up: SignUp,
    /// Gives people new passwords.
    pub password_change: PasswordChange,
    /// Creates and finds invitations and reset links.
    pub tickets: Arc<Tickets>,
    /// Grants applications access.
    pub oauth: Arc<OAuth>,
    /// Finds applications.
    pub applications: Arc<Applications>,
    /// Counts wrong credentials.
    pub throttle: Arc<Throttle>,
    /// Seal the secrets of applications and tokens.
    pub secret_keys: Arc<SecretKeys>,
}

impl Auth {
    /// Authentication for the store's accounts, keys, applications, tokens and sessions.
    pub fn new(
        store: Arc<dyn Store>,
        accounts: AccountCache,
        clock: Clock,
        secret_keys: Arc<SecretKeys>,
        audit: Arc<AuditLog>,
        settings: AuthSettings,
    ) -> Auth {
        let throttle = Arc::new(Throttle::new(clock.clone()));
        let familiar = Arc::new(Familiar::new(Arc::clone(&store), clock.clone(), &secret_keys));
        let applications = Arc::new(Applications::new(Arc::clone(&store)));
        let shared =
            Shared { store, accounts, clock, throttle: Arc::clone(&throttle), audit: Arc::clone(&audit) };
        let second_factors = Arc::new(SecondFactors::new(shared.clone(), Arc::clone(&secret_keys)));

        let passwords = Arc::new(Passwords::new(shared.clone(), Arc::clone(&familiar)));
        let keys = Arc::new(Keys::new(shared.clone()));
        let sessions = Arc::new(Sessions::new(shared.clone(), settings.quotas.sessions));
        let tickets = Arc::new(Tickets { shared: shared.clone() });
        let oauth = Arc::new(OAuth::new(
            shared.clone(),
            Arc::clone(&applications),
            Arc::clone(&secret_keys),
            settings.oauth,
        ));
        let sign_in = Arc::new(SignIn {
            passwords: Arc::clone(&passwords),
            sessions: Arc::clone(&sessions),
            second_factors: Arc::clone(&second_factors),
            audit: Arc::clone(&audit),
            familiar,
        });
        Auth {
            authenticator: Authenticator {
                passwords: Arc::clone(&passwords),
                second_factors: Arc::clone(&second_factors),
                keys: Arc::clone(&keys),
                sessions: Arc::clone(&sessions),
                oauth: Arc::clone(&oauth),
                applications: Arc::clone(&applications),
                require_consumer_key: settings.require_consumer_key,
            },
            sign_up: SignUp {
                shared: shared.clone(),
                passwords: Arc::clone(&passwords),
                tickets: Arc::clone(&tickets),
                sign_in: Arc::clone(&sign_in),
                is_open: settings.open_registration,
            },
            password_change: PasswordChange {
                shared,
                passwords: Arc::clone(&passwords),
                keys,
                tickets: Arc::clone(&tickets),
                sign_in: Arc::clone(&sign_in),
            },
            passwords,
            sign_in,
            sessions,
            second_factors,
            operators_need_second_factor: settings.operators_need_second_factor,
            audit,
            tickets,
            oauth,
            applications,
            throttle,
            secret_keys,
        }
    }
}

#[cfg(test)]
mod tests;

//! Sign-up: people create their account with an invitation, or without one where registration is open.

use super::Browser;
use super::audit::Event;
use super::basic::Passwords;
use super::password::{self, PasswordError};
use super::sign_in::{Cookies, SignIn};
use super::ticket::Tickets;
use super::{AuthError, Shared};
use model::{Account, AccountName, BadPersonName, InvalidName, Millis, Purpose, Version, person_name};
use std::sync::Arc;
use store::NewAccount;

/// Why a sign-up failed.
#[derive(Debug)]
pub enum SignUpError {
    /// Registration requires an invitation.
    Closed,
    /// The ticket is unknown, used, expired or not an invitation.
    NoTicket,
    /// The account name is invalid.
    BadName(InvalidName),
    /// The name is or was taken.
    NameTaken,
    /// The given or family name is invalid.
    BadPersonName(BadPersonName),
    /// The password is not acceptable.
    Weak(PasswordError),
    /// Another failure, including too many new accounts from one address.
    AuthError(AuthError),
}

/// Validates the names and builds an account without a password. Does not access the store.
fn new_account(name: &str, given: &str, family: &str, now: Millis) -> Result<NewAccount, SignUpError> {
    Ok(NewAccount {
        name: AccountName::parse(name).map_err(SignUpError::BadName)?,
        version: Version::next(now, None),
        given_name: person_name(given).map_err(SignUpError::BadPersonName)?,
        family_name: person_name(family).map_err(SignUpError::BadPersonName)?,
        public: false,
        operator: false,
        password: None,
        created: now,
    })
}

fn names(new: &NewAccount) -> Vec<&str> {
    password::names(&new.name, new.given_name.as_deref(), new.family_name.as_deref())
}

/// Creates accounts for people.
pub struct SignUp {
    pub(super) shared: Shared,
    pub(super) passwords: Arc<Passwords>,
    pub(super) tickets: Arc<Tickets>,
    pub(super) sign_in: Arc<SignIn>,
    /// Whether people may sign up without an invitation.
    pub is_open: bool,
}

impl SignUp {
    /// Creates an account with an invitation, and starts its first session. An empty given or family name counts as
    /// absent. After any error but [`SignUpError::NoTicket`] the ticket stays valid.
    pub async fn accept_invitation(
        &self,
        text: &str,
        name: &str,
        given: &str,
        family: &str,
        password: &str,
        browser: &Browser<'_>,
    ) -> Result<Cookies, SignUpError> {
        let invitation = self.tickets.get(text).await?.filter(|ticket| ticket.purpose == Purpose::Invitation);
        let ticket = invitation.ok_or(SignUpError::NoTicket)?;
        let new = new_account(name, given, family, self.shared.clock.now())?;
        password::check_shape(password)?;
        self.check_name_free(&new.name).await?;
        let hash = self.passwords.hash_new(password, &names(&new), browser.remote).await??;
        // The account is created before the ticket is used, so that a name taken meanwhile does not cost the ticket. It
        // has no password yet, so that it cannot be used before the ticket is. If requests race for one ticket, one
        // account gets a password; the others are removed, and would be unusable even if the removal failed.
        let account = self.create(new).await?;
        if !self.shared.store.use_ticket(&ticket.hash).await.map_err(AuthError::from)? {
            let removed = self
                .shared
                .accounts
                .change(&self.shared.clock, account.uid, |account| account.removed = true)
                .await;
            removed.map_err(AuthError::from)?;
            return Err(SignUpError::NoTicket);
        }
        let account = self.passwords.set(account.uid, hash, |_| true).await?.ok_or(SignUpError::NoTicket)?;
        self.shared.audit.record(Event::own("account-added", &account).about("invitation")).await;
        Ok(self.sign_in.start_session(&account, browser).await?)
    }

    /// Creates an account without an invitation, and starts its first session.
    pub async fn register(
        &self,
        name: &str,
        given: &str,
        family: &str,
        password: &str,
        browser: &Browser<'_>,
    ) -> Result<Cookies, SignUpError> {
        if !self.is_open {
            return Err(SignUpError::Closed);
        }
        let new = new_account(name, given, family, self.shared.clock.now())?;
        password::check_shape(password)?;
        self.shared.throttle.registration(browser.remote).map_err(AuthError::from)?;
        self.check_name_free(&new.name).await?;
        let hash = self.passwords.hash_new(password, &names(&new), browser.remote).await??;
        let account = self.create(NewAccount { password: Some(hash), ..new }).await?;
        self.shared.audit.record(Event::own("account-added", &account).about("open registration")).await;
        Ok(self.sign_in.start_session(&account, browser).await?)
    }

    /// Fails if the name is taken, before a password is hashed in vain.
    async fn check_name_free(&self, name: &AccountName) -> Result<(), SignUpError> {
        match self.shared.store.account_by_name(name).await.map_err(AuthError::from)? {
            Some(_) => Err(SignUpError::NameTaken),
            None => Ok(()),
        }
    }

    async fn create(&self, new: NewAccount) -> Result<Account, SignUpError> {
        self.shared.store.create_account(new).await.map_err(AuthError::from)?.ok_or(SignUpError::NameTaken)
    }
}

impl From<PasswordError> for SignUpError {
    fn from(error: PasswordError) -> SignUpError {
        SignUpError::Weak(error)
    }
}

impl From<AuthError> for SignUpError {
    fn from(error: AuthError) -> SignUpError {
        SignUpError::AuthError(error)
    }
}

//! New passwords: a signed-in person changes theirs, or a reset link sets one.

use super::Browser;
use super::audit::Event;
use super::basic::{Origin, Passwords};
use super::key::Keys;
use super::password::{self, PasswordError};
use super::session::{SignedIn, remove_ended};
use super::sign_in::{Cookies, SignIn, SignInStep};
use super::ticket::Tickets;
use super::{AuthError, Shared};
use model::{Account, Purpose, Uid};
use std::sync::Arc;

/// Why a password change failed.
#[derive(Debug)]
pub enum PasswordChangeError {
    /// The old password is wrong.
    Wrong,
    /// The new password is not acceptable.
    Weak(PasswordError),
    /// Another failure, including too many wrong passwords.
    AuthError(AuthError),
}

/// Why a password reset failed.
#[derive(Debug)]
pub enum PasswordResetError {
    /// The ticket is unknown, used, expired or for another purpose; or the account is removed or disabled.
    NoTicket,
    /// The new password is not acceptable. The ticket stays valid.
    Weak(PasswordError),
    /// Another failure.
    AuthError(AuthError),
}

fn names(account: &Account) -> Vec<&str> {
    password::names(&account.name, account.given_name.as_deref(), account.family_name.as_deref())
}

/// Gives people new passwords.
pub struct PasswordChange {
    pub(super) shared: Shared,
    pub(super) passwords: Arc<Passwords>,
    pub(super) keys: Arc<Keys>,
    pub(super) tickets: Arc<Tickets>,
    pub(super) sign_in: Arc<SignIn>,
}

impl PasswordChange {
    /// Changes the password of a signed-in account. Ends all its sessions and starts a new one. With `revoke`, also
    /// revokes all its keys and access tokens.
    pub async fn change(
        &self,
        person: &SignedIn,
        old: &str,
        new: &str,
        revoke: bool,
        browser: &Browser<'_>,
    ) -> Result<Cookies, PasswordChangeError> {
        // This check comes first, because it costs neither a guess nor a hash.
        password::check_shape(new)?;
        let checked =
            self.passwords.open(person.account.name.as_str(), old, Origin::session(browser.remote)).await;
        let checked = checked.map_err(|error| match error {
            AuthError::BadCredentials => PasswordChangeError::Wrong,
            other => PasswordChangeError::AuthError(other),
        })?;
        let hash = self.passwords.hash_new(new, &names(&checked), browser.remote).await??;
        // The old password must still be current: otherwise a stolen password could undo a concurrent reset.
        let condition = |account: &Account| account.password == checked.password;
        let changed = self.passwords.set(person.account.uid, hash, condition).await?;
        let mut changed = changed.ok_or(PasswordChangeError::Wrong)?;
        self.shared.audit.record(Event::own("password-changed", &changed)).await;
        if revoke {
            changed = self.revoke_all(&changed).await?;
        }
        Ok(self.sign_in.start_session(&changed, browser).await?)
    }

    /// Sets a new password with a reset ticket, and signs in, unless a code must follow.
    pub async fn reset(
        &self,
        text: &str,
        new: &str,
        browser: &Browser<'_>,
    ) -> Result<SignInStep, PasswordResetError> {
        let Some((ticket, Purpose::Reset(uid))) =
            self.tickets.get(text).await?.map(|ticket| (ticket.hash, ticket.purpose))
        else {
            return Err(PasswordResetError::NoTicket);
        };
        let account = self.acting(uid).await?.ok_or(PasswordResetError::NoTicket)?;
        let hash = self.passwords.hash_new(new, &names(&account), browser.remote).await??;
        // The ticket is used before it has an effect, so one ticket never sets two passwords. If the next step fails,
        // an operator can create another ticket.
        if !self.shared.store.use_ticket(&ticket).await.map_err(AuthError::from)? {
            return Err(PasswordResetError::NoTicket);
        }
        let changed = self.passwords.set(uid, hash, |_| true).await?.ok_or(PasswordResetError::NoTicket)?;
        self.shared.audit.record(Event::own("password-changed", &changed).about("reset link")).await;
        Ok(self.sign_in.after_password(&Arc::new(changed), browser).await?)
    }

    /// Revokes all keys of an account and ends its sessions and access tokens, also pending grants. Returns the changed
    /// account.
    async fn revoke_all(&self, account: &Account) -> Result<Account, AuthError> {
        let uid = account.uid;
        let changed = self.shared.accounts.change(&self.shared.clock, uid, Account::end_epoch).await?;
        let changed = changed.ok_or(AuthError::BadCredentials)?;
        for key in self.shared.store.keys_of(uid).await? {
            if key.revoked.is_none() {
                self.shared.store.revoke_key(uid, key.id, self.shared.clock.now()).await?;
                self.keys.forget(&key.hash);
            }
        }
        remove_ended(self.shared.store.as_ref(), &self.shared.clock, &changed).await;
        Ok(changed)
    }

    /// The account in the store, if it may act.
    async fn acting(&self, uid: Uid) -> Result<Option<Account>, AuthError> {
        let found = self.shared.store.accounts(&[uid]).await?.into_iter().flatten().next();
        Ok(found.filter(Account::may_act))
    }
}

impl From<PasswordError> for PasswordChangeError {
    fn from(error: PasswordError) -> PasswordChangeError {
        PasswordChangeError::Weak(error)
    }
}

impl From<AuthError> for PasswordChangeError {
    fn from(error: AuthError) -> PasswordChangeError {
        PasswordChangeError::AuthError(error)
    }
}

impl From<PasswordError> for PasswordResetError {
    fn from(error: PasswordError) -> PasswordResetError {
        PasswordResetError::Weak(error)
    }
}

impl From<AuthError> for PasswordResetError {
    fn from(error: AuthError) -> PasswordResetError {
        PasswordResetError::AuthError(error)
    }
}

//! New passwords: a signed-in person changes theirs, or a reset link sets one.

use super::basic::Origin;
use super::password::{self, PasswordError};
use super::session::SignedIn;
use super::{AuthError, Authenticator, Browser, Cookies};
use model::{Account, Purpose, Uid};

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

impl Authenticator {
    /// Changes the password of a signed-in account. Ends all its sessions and starts a new one. With `revoke`, also
    /// revokes all its keys and access tokens.
    pub async fn change_password(
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
        let changed = self.set_password(person.account.uid, hash, condition).await?;
        let mut changed = changed.ok_or(PasswordChangeError::Wrong)?;
        if revoke {
            changed = self.revoke_all(&changed).await?;
        }
        Ok(self.start_session(&changed, browser).await?)
    }

    /// Sets a new password with a reset ticket, and starts a session.
    pub async fn reset_password(
        &self,
        text: &str,
        new: &str,
        browser: &Browser<'_>,
    ) -> Result<Cookies, PasswordResetError> {
        let Some((ticket, Purpose::Reset(uid))) =
            self.ticket(text).await?.map(|ticket| (ticket.hash, ticket.purpose))
        else {
            return Err(PasswordResetError::NoTicket);
        };
        let account = self.acting(uid).await?.ok_or(PasswordResetError::NoTicket)?;
        let hash = self.passwords.hash_new(new, &names(&account), browser.remote).await??;
        // The ticket is used before it has an effect, so one ticket never sets two passwords. If the next step fails,
        // an operator can create another ticket.
        if !self.store.use_ticket(&ticket).await.map_err(AuthError::from)? {
            return Err(PasswordResetError::NoTicket);
        }
        let changed = self.set_password(uid, hash, |_| true).await?.ok_or(PasswordResetError::NoTicket)?;
        Ok(self.start_session(&changed, browser).await?)
    }

    /// Sets the password hash if the stored account may act and satisfies `condition`; otherwise returns `None`.
    pub(super) async fn set_password(
        &self,
        uid: Uid,
        hash: String,
        condition: impl Fn(&Account) -> bool + Send,
    ) -> Result<Option<Account>, AuthError> {
        let set = |account: &mut Account| {
            if account.may_act() && condition(account) {
                account.password = Some(hash.clone());
            }
        };
        let changed = self.accounts.change(&self.clock, uid, set).await?;
        Ok(changed.filter(|account| account.password.as_ref() == Some(&hash)))
    }

    /// The account in the store, if it may act.
    async fn acting(&self, uid: Uid) -> Result<Option<Account>, AuthError> {
        let found = self.store.accounts(&[uid]).await?.into_iter().flatten().next();
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

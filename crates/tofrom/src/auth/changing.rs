//! New passwords: somebody who is signed in changes theirs, or a ticket lets them set one.

use super::basic::Origin;
use super::password::{self, PasswordError};
use super::session::SignedIn;
use super::{AuthError, Authenticator, Browser, Cookies};
use model::{Account, Purpose, Uid};

/// Why a password was not changed.
#[derive(Debug)]
pub enum PasswordChange {
    /// The old password is not the one.
    Wrong,
    /// The new one cannot be set.
    Weak(PasswordError),
    /// Something else; also too many wrong ones.
    AuthError(AuthError),
}

/// Why a link did not set a new password.
#[derive(Debug)]
pub enum PasswordReset {
    /// The ticket is unknown, used, expired or not for this; or its account can't act any more.
    NoTicket,
    /// The new one cannot be set. The ticket is still good.
    Weak(PasswordError),
    /// Something else.
    AuthError(AuthError),
}

fn names(account: &Account) -> Vec<&str> {
    password::names(&account.name, account.given_name.as_deref(), account.family_name.as_deref())
}

impl Authenticator {
    /// Changes the password of a signed-in account. All its sessions end, and a new one begins.
    /// With `revoke` all its keys and access tokens end too.
    pub async fn change_password(
        &self,
        person: &SignedIn,
        old: &str,
        new: &str,
        revoke: bool,
        browser: &Browser<'_>,
    ) -> Result<Cookies, PasswordChange> {
        // Before anything costs a guess or a hash.
        password::check_shape(new)?;
        let opened =
            self.passwords.open(person.account.name.as_str(), old, Origin::session(browser.remote)).await;
        let opened = opened.map_err(|denied| match denied {
            AuthError::BadCredentials => PasswordChange::Wrong,
            other => PasswordChange::AuthError(other),
        })?;
        let hash = self.passwords.hash_new(new, &names(&opened), browser.remote).await??;
        // The old password must still be the password: otherwise a stolen one could undo the reset that is to end it.
        let is_right = |account: &Account| account.password == opened.password;
        let changed = self.set_password(person.account.uid, hash, is_right).await?;
        let mut changed = changed.ok_or(PasswordChange::Wrong)?;
        if revoke {
            changed = self.revoke_all(&changed).await?;
        }
        Ok(self.enter(&changed, browser).await?)
    }

    /// Sets a new password by a ticket for that, and begins a session.
    pub async fn reset_password(
        &self,
        text: &str,
        new: &str,
        browser: &Browser<'_>,
    ) -> Result<Cookies, PasswordReset> {
        let Some((ticket, Purpose::Reset(uid))) =
            self.ticket(text).await?.map(|ticket| (ticket.hash, ticket.purpose))
        else {
            return Err(PasswordReset::NoTicket);
        };
        let account = self.acting(uid).await?.ok_or(PasswordReset::NoTicket)?;
        let hash = self.passwords.hash_new(new, &names(&account), browser.remote).await??;
        // Used up before it has any effect: one ticket never sets two passwords. If what follows fails, another ticket
        // can be made.
        if !self.store.use_ticket(&ticket).await.map_err(AuthError::from)? {
            return Err(PasswordReset::NoTicket);
        }
        let changed = self.set_password(uid, hash, |_| true).await?.ok_or(PasswordReset::NoTicket)?;
        Ok(self.enter(&changed, browser).await?)
    }

    /// Sets the password's hash if the stored account may act and `is_right` agrees; `None` otherwise.
    pub(super) async fn set_password(
        &self,
        uid: Uid,
        hash: String,
        is_right: impl Fn(&Account) -> bool + Send,
    ) -> Result<Option<Account>, AuthError> {
        let set = |account: &mut Account| {
            if account.may_act() && is_right(account) {
                account.password = Some(hash.clone());
            }
        };
        let changed = self.accounts.change(&self.clock, uid, set).await?;
        Ok(changed.filter(|account| account.password.as_ref() == Some(&hash)))
    }

    /// The account as the store has it, if it may act.
    async fn acting(&self, uid: Uid) -> Result<Option<Account>, AuthError> {
        let found = self.store.accounts(&[uid]).await?.into_iter().flatten().next();
        Ok(found.filter(Account::may_act))
    }
}

impl From<PasswordError> for PasswordChange {
    fn from(error: PasswordError) -> PasswordChange {
        PasswordChange::Weak(error)
    }
}

impl From<AuthError> for PasswordChange {
    fn from(denied: AuthError) -> PasswordChange {
        PasswordChange::AuthError(denied)
    }
}

impl From<PasswordError> for PasswordReset {
    fn from(error: PasswordError) -> PasswordReset {
        PasswordReset::Weak(error)
    }
}

impl From<AuthError> for PasswordReset {
    fn from(denied: AuthError) -> PasswordReset {
        PasswordReset::AuthError(denied)
    }
}

//! Signing in on pages: the password, then the code of a second factor if the account has one.

use super::audit::{AuditLog, Event};
use super::basic::{Origin, Passwords};
use super::familiar::Familiar;
use super::second_factor::SecondFactors;
use super::session::{Sessions, SignedIn};
use super::{AuthError, Browser};
use model::Account;
use std::net::IpAddr;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The result of a right password.
pub enum SignInStep {
    /// The browser is signed in.
    Done(Arc<Account>, Cookies),
    /// A code must follow, together with this text.
    Code(String),
}

/// The cookies of a browser after a sign-in.
pub struct Cookies {
    /// The session cookie.
    pub session: Zeroizing<String>,
    /// The cookie that makes the browser familiar.
    pub familiar: String,
}

/// Signs people in on pages.
pub struct SignIn {
    pub(super) passwords: Arc<Passwords>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) second_factors: Arc<SecondFactors>,
    pub(super) audit: Arc<AuditLog>,
    pub(super) familiar: Arc<Familiar>,
}

impl SignIn {
    /// Signs a browser in with name and password, unless a code must follow.
    pub async fn with_password(
        &self,
        name: &str,
        password: &str,
        browser: &Browser<'_>,
    ) -> Result<SignInStep, AuthError> {
        let account = self.passwords.open(name, password, Origin::browser(browser)).await?;
        if let Some(hash) = self.passwords.rehash(&account, password, browser.remote).await {
            // The new hash replaces only the hash that was checked. If that fails, the next sign-in tries again.
            let is_unchanged = |stored: &Account| stored.password == account.password;
            if let Err(error) = self.passwords.set(account.uid, hash, is_unchanged).await {
                tracing::warn!(reason = error.reason(), "password rehash not stored");
            }
        }
        self.after_password(&account, browser).await
    }

    /// Replaces a session by a new one if the password is right: the sign-in is fresh again.
    pub async fn again(
        &self,
        person: &SignedIn,
        password: &str,
        browser: &Browser<'_>,
    ) -> Result<Cookies, AuthError> {
        self.check_password(person, password, browser.remote).await?;
        let cookies = self.start_session(&person.account, browser).await?;
        self.sessions.end(&person.cookie).await?;
        Ok(cookies)
    }

    /// Checks the password of the signed-in account.
    pub async fn check_password(
        &self,
        person: &SignedIn,
        password: &str,
        remote: IpAddr,
    ) -> Result<(), AuthError> {
        let name = person.account.name.as_str();
        self.passwords.open(name, password, Origin::session(remote)).await.map(drop)
    }

    /// Continues after a right password: signs in, or asks for the code of the second factor.
    pub(super) async fn after_password(
        &self,
        account: &Arc<Account>,
        browser: &Browser<'_>,
    ) -> Result<SignInStep, AuthError> {
        if self.second_factors.of(account.uid).await?.is_some() {
            return self.second_factors.pending(account).map(SignInStep::Code);
        }
        let cookies = self.start_session(account, browser).await?;
        Ok(SignInStep::Done(Arc::clone(account), cookies))
    }

    /// Signs a browser in with the code of the second factor, or a recovery code. `None`: the password was given too
    /// long ago, or has changed since.
    pub async fn with_code(
        &self,
        pending: &str,
        code: &str,
        browser: &Browser<'_>,
    ) -> Result<Option<(Arc<Account>, Cookies)>, AuthError> {
        let Some(account) = self.second_factors.opened(pending).await? else { return Ok(None) };
        if !self.second_factors.check(account.uid, code).await? {
            self.audit.refused(&account, browser.remote);
            return Err(AuthError::BadCredentials);
        }
        let cookies = self.start_session(&account, browser).await?;
        Ok(Some((account, cookies)))
    }

    /// Starts a session, and makes the browser and its network familiar to the account.
    pub(super) async fn start_session(
        &self,
        account: &Account,
        browser: &Browser<'_>,
    ) -> Result<Cookies, AuthError> {
        let session = self.sessions.start(account, browser.agent).await?;
        self.familiar.record(account.uid, browser.remote);
        self.audit.record(Event::own("sign-in", account)).await;
        Ok(Cookies { session, familiar: self.familiar.cookie(account.uid, browser.familiar) })
    }
}

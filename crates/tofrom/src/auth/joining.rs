//! New accounts that people make themselves: by an invitation, or, where the installation allows it, without one.

use super::password::{self, PasswordError};
use super::{AuthError, Authenticator, Browser, Cookies};
use crate::accounts::{self, BadPersonName, person_name};
use model::{Account, AccountName, InvalidName, Millis, Purpose, Version};
use store::NewAccount;

/// Why somebody did not get an account.
#[derive(Debug)]
pub enum Joining {
    /// This installation takes invitations only.
    Closed,
    /// The ticket is unknown, used, expired or not an invitation.
    NoTicket,
    /// No account can have that name.
    BadName(InvalidName),
    /// The name is taken, or was once.
    NameTaken,
    /// That can't be a given or family name.
    BadPersonName(BadPersonName),
    /// The password cannot be set.
    Weak(PasswordError),
    /// Something else; also too many new accounts from one address.
    AuthError(AuthError),
}

/// An account without a password, of names that are right: what can be judged without looking anywhere.
fn judged(name: &str, given: &str, family: &str, now: Millis) -> Result<NewAccount, Joining> {
    Ok(NewAccount {
        name: AccountName::parse(name).map_err(Joining::BadName)?,
        version: Version::next(now, None),
        given_name: person_name(given).map_err(Joining::BadPersonName)?,
        family_name: person_name(family).map_err(Joining::BadPersonName)?,
        public: false,
        operator: false,
        password: None,
        created: now,
    })
}

fn names(new: &NewAccount) -> Vec<&str> {
    password::names(&new.name, new.given_name.as_deref(), new.family_name.as_deref())
}

impl Authenticator {
    /// Whether people may make accounts without an invitation.
    pub fn is_registration_open(&self) -> bool {
        self.settings.open_registration
    }

    /// Makes an account by an invitation (an empty given or family name is none); begins its first session. Whatever is told as wrong, the ticket is
    /// still good, unless it was the ticket.
    pub async fn accept_invitation(
        &self,
        text: &str,
        name: &str,
        given: &str,
        family: &str,
        password: &str,
        browser: &Browser<'_>,
    ) -> Result<Cookies, Joining> {
        let invitation = self.ticket(text).await?.filter(|ticket| ticket.purpose == Purpose::Invitation);
        let ticket = invitation.ok_or(Joining::NoTicket)?;
        let new = judged(name, given, family, self.clock.now())?;
        password::check_shape(password)?;
        self.demand_free(&new.name).await?;
        let hash = self.passwords.hash_new(password, &names(&new), browser.remote).await??;
        // The name first, so that a name that somebody else takes meanwhile does not cost the ticket; without a password,
        // so that nothing opens the account before the ticket is used up for it. Of many who bring one ticket at once one
        // gets a password, and the accounts of the others are removed: were they not, nobody could use them either.
        let account = self.create(new).await?;
        if !self.store.use_ticket(&ticket.hash).await.map_err(AuthError::from)? {
            let removed = accounts::remove(self.store.as_ref(), &self.clock, account.uid).await;
            removed.map_err(AuthError::from)?;
            return Err(Joining::NoTicket);
        }
        let account = self.set_password(account.uid, hash, |_| true).await?.ok_or(Joining::NoTicket)?;
        Ok(self.enter(&account, browser).await?)
    }

    /// Makes an account where no invitation is asked for; begins its first session.
    pub async fn register(
        &self,
        name: &str,
        given: &str,
        family: &str,
        password: &str,
        browser: &Browser<'_>,
    ) -> Result<Cookies, Joining> {
        if !self.is_registration_open() {
            return Err(Joining::Closed);
        }
        let new = judged(name, given, family, self.clock.now())?;
        password::check_shape(password)?;
        self.throttle.registration(browser.remote).map_err(AuthError::from)?;
        self.demand_free(&new.name).await?;
        let hash = self.passwords.hash_new(password, &names(&new), browser.remote).await??;
        let account = self.create(NewAccount { password: Some(hash), ..new }).await?;
        Ok(self.enter(&account, browser).await?)
    }

    /// Before a password is hashed for nothing.
    async fn demand_free(&self, name: &AccountName) -> Result<(), Joining> {
        match self.store.account_by_name(name).await.map_err(AuthError::from)? {
            Some(_) => Err(Joining::NameTaken),
            None => Ok(()),
        }
    }

    async fn create(&self, new: NewAccount) -> Result<Account, Joining> {
        self.store.create_account(new).await.map_err(AuthError::from)?.ok_or(Joining::NameTaken)
    }
}

impl From<PasswordError> for Joining {
    fn from(error: PasswordError) -> Joining {
        Joining::Weak(error)
    }
}

impl From<AuthError> for Joining {
    fn from(denied: AuthError) -> Joining {
        Joining::AuthError(denied)
    }
}

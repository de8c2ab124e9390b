//! Name and password.
//!
//! Checking a password costs 17 ms of a core, so one that was right is remembered for some minutes: not itself but a
//! keyed MAC of it, with a key that dies with the process. What is remembered is which password of the account it is. A
//! request compares that with the account as it is now, so a changed password or a removed account is noticed as soon
//! as the account is read anew.
//!
//! Known and unknown names take the same way: throttle, familiar? (while the account is guessed at from everywhere),
//! remembered?, the store, one hash.

use super::familiar::Familiar;
use super::hashing::{Busy, Hashing};
use super::password::{self, PasswordError};
use super::primitives;
use super::throttle::{Exhausted, Guesses, Throttle};
use super::{AuthError, Browser};
use crate::accounts::AccountCache;
use aws_lc_rs::hmac;
use model::{Account, AccountName, Uid};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use store::Store;

/// How long a right password is remembered.
const REMEMBERED: Duration = Duration::from_secs(5 * 60);

type Mac = [u8; 32];

/// Lets accounts in by name and password.
pub(super) struct Passwords {
    store: Arc<dyn Store>,
    accounts: AccountCache,
    throttle: Arc<Throttle>,
    familiar: Arc<Familiar>,
    hashing: Hashing,
    /// There is always one: AWS-LC ends the process where there are no random bytes. If it ever did not, passwords
    /// would not be checked at all.
    mac_key: Option<hmac::Key>,
    remembered: moka::future::Cache<Mac, Arc<Opened>>,
}

/// Where a password comes from.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    remote: IpAddr,
    /// A cookie by which a browser may be familiar.
    cookie: Option<&'a str>,
    signed_in: bool,
}

impl<'a> Origin<'a> {
    /// A program. The API takes no cookie.
    pub(super) fn program(remote: IpAddr) -> Origin<'a> {
        Origin { remote, cookie: None, signed_in: false }
    }

    /// A browser at the sign-in form.
    pub(super) fn browser(browser: &Browser<'a>) -> Origin<'a> {
        Origin { remote: browser.remote, cookie: browser.familiar, signed_in: false }
    }

    /// A session of the account.
    pub(super) fn session(remote: IpAddr) -> Origin<'a> {
        Origin { remote, cookie: None, signed_in: true }
    }
}

/// What a right password opened.
struct Opened {
    uid: Uid,
    /// What stays of the stored hash until a password is set again.
    identity: String,
}

impl Opened {
    fn opens(&self, account: &Account) -> bool {
        self.uid == account.uid && stored_hash(account).map(password::identity) == Some(&self.identity)
    }
}

/// Why a password was not found to be right, as all who wait for the same check are told.
enum Unproved {
    Wrong,
    Throttled(Exhausted),
    Busy,
}

impl Passwords {
    pub(super) fn new(
        store: Arc<dyn Store>,
        accounts: AccountCache,
        throttle: Arc<Throttle>,
        familiar: Arc<Familiar>,
    ) -> Passwords {
        let random = primitives::random::<32>().ok();
        Passwords {
            store,
            accounts,
            throttle,
            familiar,
            hashing: Hashing::new(),
            mac_key: random.map(|bytes| hmac::Key::new(hmac::HMAC_SHA256, bytes.as_ref())),
            remembered: moka::future::Cache::builder().max_capacity(10_000).time_to_live(REMEMBERED).build(),
        }
    }

    /// The account that name and password open.
    pub(super) async fn open(
        &self,
        name: &str,
        password: &str,
        from: Origin<'_>,
    ) -> Result<Arc<Account>, AuthError> {
        let opened = self.open_within_limits(name, password, from).await;
        if let Ok(account) = &opened {
            self.familiar.note(account.uid, from.remote);
        }
        opened
    }

    async fn open_within_limits(
        &self,
        name: &str,
        password: &str,
        from: Origin<'_>,
    ) -> Result<Arc<Account>, AuthError> {
        let known = AccountName::parse(name).ok();
        let password = password::normalized(password);
        let mut guesses = self.throttle.guesses(known.clone(), from.remote);
        // Before what is remembered: else a guesser who is held up would still learn of a right guess, as often as they
        // like, while the owner uses the password.
        guesses.check()?;
        if let Err(exhausted) = guesses.check_everywhere() {
            self.demand_familiar(known.as_ref(), from, exhausted).await?;
            guesses.are_familiar();
        }
        let mac = self.mac(name, &password).ok_or(AuthError::Busy)?;
        if let Some(opened) = self.remembered.get(&mac).await {
            if let Some(account) =
                self.accounts.get(opened.uid).await?.filter(|account| opened.opens(account))
            {
                return Ok(account);
            }
            self.remembered.invalidate(&mac).await;
        }
        let mut proved = self.prove(known.clone(), &password, mac, &guesses, from.remote).await;
        if let (Err(AuthError::Throttled { .. }), Err(exhausted)) = (&proved, guesses.check_everywhere()) {
            // PulledActors took the last guess meanwhile.
            self.demand_familiar(known.as_ref(), from, exhausted).await?;
            guesses.are_familiar();
            proved = self.prove(known.clone(), &password, mac, &guesses, from.remote).await;
        }
        if matches!(proved, Err(AuthError::BadCredentials)) {
            self.throttle.tell_of_password(known.as_ref(), from.remote);
        }
        proved
    }

    /// The account as the store has it; `None` for a name that no account can have.
    async fn named(&self, name: Option<&AccountName>) -> Result<Option<Account>, AuthError> {
        match name {
            Some(name) => Ok(self.store.account_by_name(name).await?),
            None => Ok(None),
        }
    }

    /// Refuses a password from a browser and network without an earlier sign-in to the account.
    async fn demand_familiar(
        &self,
        name: Option<&AccountName>,
        from: Origin<'_>,
        exhausted: Exhausted,
    ) -> Result<(), AuthError> {
        let uid = self.named(name).await?.map(|account| account.uid);
        if from.signed_in || self.familiar.knows(uid, from.remote, from.cookie).await? {
            return Ok(());
        }
        Err(exhausted.into())
    }

    /// Checks a password that is not remembered. Who presents the same one at the same time waits for the one check:
    /// a client that starts with many requests at once costs one hash and one guess.
    async fn prove(
        &self,
        name: Option<AccountName>,
        password: &str,
        mac: Mac,
        guesses: &Guesses<'_>,
        remote: IpAddr,
    ) -> Result<Arc<Account>, AuthError> {
        let account = self.named(name.as_ref()).await?;
        let stored = account.as_ref().and_then(stored_hash);

        let check = async || {
            let guess = guesses.take().map_err(Unproved::Throttled)?;
            let Ok(right) = self.hashing.is_right(password, stored, remote).await else {
                guess.was_not_looked_at();
                return Err(Unproved::Busy);
            };
            let (true, Some(account), Some(hash)) = (right, &account, stored) else {
                return Err(Unproved::Wrong);
            };
            guess.give_back();
            Ok(Arc::new(Opened { uid: account.uid, identity: password::identity(hash).to_owned() }))
        };
        let (proved, ours) = loop {
            let mut ours = false;
            let checking = async {
                ours = true;
                check().await
            };
            let proved = self.remembered.try_get_with(mac, checking).await;
            // Another's check that did not come to an end says nothing of this one, which may come from elsewhere.
            let ended = proved.as_ref().map_or_else(|error| matches!(**error, Unproved::Wrong), |_| true);
            if ours || ended {
                break (proved, ours);
            }
        };

        match (proved.as_deref(), account) {
            (Ok(opened), Some(account)) if opened.opens(&account) => Ok(self.accounts.remember(account)),
            (Err(error), _) if matches!(**error, Unproved::Busy) => Err(AuthError::Busy),
            (Err(error), _) if let Unproved::Throttled(exhausted) = **error => Err(exhausted.into()),
            _ => {
                // Who waited for another's check made a wrong guess all the same.
                if !ours {
                    guesses.take()?;
                }
                Err(AuthError::BadCredentials)
            }
        }
    }

    /// The account as it is now, if the password that opened it then still would.
    pub(super) async fn still(&self, then: &Account) -> Result<Option<Arc<Account>>, AuthError> {
        let identity =
            |account: &Account| stored_hash(account).map(|hash| password::identity(hash).to_owned());
        let before = identity(then);
        let same = |now: &Arc<Account>| before.is_some() && identity(now) == before;
        Ok(self.accounts.get(then.uid).await?.filter(same))
    }

    /// The hash with the present parameters of a password that opened the account; `None` if its hash has them.
    pub(super) async fn rehash(&self, account: &Account, password: &str, remote: IpAddr) -> Option<String> {
        let stored = stored_hash(account).filter(|stored| password::is_outdated(stored))?;
        match self.hashing.rehash(password, stored, remote).await {
            Ok(Ok(hash)) => Some(hash),
            Ok(Err(error)) => {
                tracing::warn!(%error, "password rehash failed");
                None
            }
            // The next sign-in will do.
            Err(Busy) => None,
        }
    }

    /// The hash of a new password for an account with these names, or why it cannot be set. Both are found out where
    /// passwords are checked and in the same queue.
    pub(super) async fn hash_new(
        &self,
        password: &str,
        names: &[&str],
        remote: IpAddr,
    ) -> Result<Result<String, PasswordError>, AuthError> {
        if let Err(wrong) = password::check_shape(password) {
            return Ok(Err(wrong));
        }
        self.hashing.hash_checked(password, names, remote).await.map_err(|Busy| AuthError::Busy)
    }

    /// How many passwords were hashed.
    pub(super) fn hashes_computed(&self) -> u64 {
        self.hashing.computed()
    }

    fn mac(&self, name: &str, password: &str) -> Option<Mac> {
        let mut context = hmac::Context::with_key(self.mac_key.as_ref()?);
        // A name has no colon, so no two pairs make one text.
        context.update(name.to_ascii_lowercase().as_bytes());
        context.update(b":");
        context.update(password.as_bytes());
        let mut mac = [0; 32];
        mac.copy_from_slice(context.sign().as_ref());
        Some(mac)
    }
}

/// The hash that a password must open; for a removed or disabled account there is none.
fn stored_hash(account: &Account) -> Option<&str> {
    account.password.as_deref().filter(|_| account.may_act())
}

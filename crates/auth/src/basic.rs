//! Authentication by name and password.
//!
//! Checking a password costs 17 ms of a core, so a successful check is cached for some minutes. The cache key is a
//! MAC of name and password, with a key that lives only in this process. The cached value identifies the account's
//! password. Each request compares it with the account's current password, so a changed password or a removed account
//! counts as soon as the account is read again.
//!
//! Existing and unknown names take the same steps, so that timing does not reveal which exist: throttle, familiar
//! browser or network (only while the account is guessed at from everywhere), cache, store, one hash.

use super::familiar::Familiar;
use super::hashing::{Busy, Hashing};
use super::password::{self, PasswordError};
use super::throttle::{Exhausted, Guesses};
use super::{AuthError, Browser, Shared};
use aws_lc_rs::hmac;
use model::{Account, AccountName, Uid};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// TTL of a cached successful check.
const CHECK_TTL: Duration = Duration::from_secs(5 * 60);

type Mac = [u8; 32];

/// Authenticates accounts by name and password.
pub struct Passwords {
    shared: Shared,
    familiar: Arc<Familiar>,
    hashing: Hashing,
    /// Always present: AWS-LC aborts the process without random bytes. With `None`, every password check would fail.
    mac_key: Option<hmac::Key>,
    checked: moka::future::Cache<Mac, Arc<CheckedPassword>>,
}

/// The origin of a password.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    remote: IpAddr,
    /// The browser's cookie from earlier sign-ins.
    cookie: Option<&'a str>,
    signed_in: bool,
}

impl<'a> Origin<'a> {
    /// An API client. The API takes no cookie.
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

/// A password that was checked successfully.
struct CheckedPassword {
    uid: Uid,
    /// The part of the stored hash that stays until a new password is set.
    identity: String,
}

impl CheckedPassword {
    fn is_password_of(&self, account: &Account) -> bool {
        self.uid == account.uid && stored_hash(account).map(password::identity) == Some(&self.identity)
    }
}

/// Why a check failed, shared by all requests that wait for the same check.
enum CheckFailure {
    Wrong,
    Throttled(Exhausted),
    Busy,
}

impl Passwords {
    pub(super) fn new(shared: Shared, familiar: Arc<Familiar>) -> Passwords {
        let random = seal::random::<32>().ok();
        Passwords {
            shared,
            familiar,
            hashing: Hashing::new(),
            mac_key: random.map(|bytes| hmac::Key::new(hmac::HMAC_SHA256, bytes.as_ref())),
            checked: moka::future::Cache::builder().max_capacity(10_000).time_to_live(CHECK_TTL).build(),
        }
    }

    /// The account with that name and password.
    pub(super) async fn open(
        &self,
        name: &str,
        password: &str,
        from: Origin<'_>,
    ) -> Result<Arc<Account>, AuthError> {
        let result = self.open_within_limits(name, password, from).await;
        if let Ok(account) = &result {
            self.familiar.record(account.uid, from.remote);
        }
        result
    }

    async fn open_within_limits(
        &self,
        name: &str,
        password: &str,
        from: Origin<'_>,
    ) -> Result<Arc<Account>, AuthError> {
        let known = AccountName::parse(name).ok();
        let password = password::normalized(password);
        let mut guesses = self.shared.throttle.guesses(known.clone(), from.remote);
        // The throttle comes before the cache: otherwise a throttled guesser could still recognise a right guess while
        // the owner's check is cached.
        guesses.check()?;
        if let Err(exhausted) = guesses.check_everywhere() {
            self.require_familiar(known.as_ref(), from, exhausted).await?;
            guesses.set_familiar();
        }
        let mac = self.mac(name, &password).ok_or(AuthError::Busy)?;
        if let Some(checked) = self.checked.get(&mac).await {
            if let Some(account) =
                self.shared.accounts.get(checked.uid).await?.filter(|account| checked.is_password_of(account))
            {
                return Ok(account);
            }
            self.checked.invalidate(&mac).await;
        }
        let mut outcome = self.check_uncached(known.clone(), &password, mac, &guesses, from.remote).await;
        if let (Err(AuthError::Throttled { .. }), Err(exhausted)) = (&outcome, guesses.check_everywhere()) {
            // Concurrent requests took the last guess.
            self.require_familiar(known.as_ref(), from, exhausted).await?;
            guesses.set_familiar();
            outcome = self.check_uncached(known.clone(), &password, mac, &guesses, from.remote).await;
        }
        if matches!(outcome, Err(AuthError::BadCredentials)) {
            self.shared.throttle.share_wrong_password(known.as_ref(), from.remote);
            if let Some(account) = self.find(known.as_ref()).await? {
                self.shared.audit.refused(&Arc::new(account), from.remote);
            }
        }
        outcome
    }

    /// The account in the store. `None` also for an invalid name.
    async fn find(&self, name: Option<&AccountName>) -> Result<Option<Account>, AuthError> {
        match name {
            Some(name) => Ok(self.shared.store.account_by_name(name).await?),
            None => Ok(None),
        }
    }

    /// Rejects a password unless the session, browser or network has an earlier sign-in to the account.
    async fn require_familiar(
        &self,
        name: Option<&AccountName>,
        from: Origin<'_>,
        exhausted: Exhausted,
    ) -> Result<(), AuthError> {
        let uid = self.find(name).await?.map(|account| account.uid);
        if from.signed_in || self.familiar.knows(uid, from.remote, from.cookie).await? {
            return Ok(());
        }
        Err(exhausted.into())
    }

    /// Checks a password that is not cached. Concurrent requests with the same password share one check: a client that
    /// starts with many concurrent requests costs one hash and one guess.
    async fn check_uncached(
        &self,
        name: Option<AccountName>,
        password: &str,
        mac: Mac,
        guesses: &Guesses<'_>,
        remote: IpAddr,
    ) -> Result<Arc<Account>, AuthError> {
        let account = self.find(name.as_ref()).await?;
        let stored = account.as_ref().and_then(stored_hash);

        let check = async || {
            let guess = guesses.take().map_err(CheckFailure::Throttled)?;
            let Ok(right) = self.hashing.matches(password, stored, remote).await else {
                guess.refund_unchecked();
                return Err(CheckFailure::Busy);
            };
            let (true, Some(account), Some(hash)) = (right, &account, stored) else {
                return Err(CheckFailure::Wrong);
            };
            guess.refund();
            Ok(Arc::new(CheckedPassword { uid: account.uid, identity: password::identity(hash).to_owned() }))
        };
        let (outcome, ours) = loop {
            let mut ours = false;
            let checking = async {
                ours = true;
                check().await
            };
            let outcome = self.checked.try_get_with(mac, checking).await;
            // A shared check that was throttled or busy does not decide this request, which may have another origin.
            let ended =
                outcome.as_ref().map_or_else(|error| matches!(**error, CheckFailure::Wrong), |_| true);
            if ours || ended {
                break (outcome, ours);
            }
        };

        match (outcome.as_deref(), account) {
            (Ok(checked), Some(account)) if checked.is_password_of(&account) => {
                Ok(self.shared.accounts.remember(account))
            }
            (Err(error), _) if matches!(**error, CheckFailure::Busy) => Err(AuthError::Busy),
            (Err(error), _) if let CheckFailure::Throttled(exhausted) = **error => Err(exhausted.into()),
            _ => {
                // A request that shared the check also made a wrong guess.
                if !ours {
                    guesses.take()?;
                }
                Err(AuthError::BadCredentials)
            }
        }
    }

    /// The account's current state, if its password is still that of `then`.
    pub(super) async fn revalidate(&self, then: &Account) -> Result<Option<Arc<Account>>, AuthError> {
        let identity =
            |account: &Account| stored_hash(account).map(|hash| password::identity(hash).to_owned());
        let before = identity(then);
        let same = |now: &Arc<Account>| before.is_some() && identity(now) == before;
        Ok(self.shared.accounts.get(then.uid).await?.filter(same))
    }

    /// A new hash of a checked password with the current parameters. `None` if the stored hash already has them.
    pub(super) async fn rehash(&self, account: &Account, password: &str, remote: IpAddr) -> Option<String> {
        let stored = stored_hash(account).filter(|stored| password::is_outdated(stored))?;
        match self.hashing.rehash(password, stored, remote).await {
            Ok(Ok(hash)) => Some(hash),
            Ok(Err(error)) => {
                tracing::warn!(%error, "password rehash failed");
                None
            }
            // The next sign-in tries again.
            Err(Busy) => None,
        }
    }

    /// The hash of a new password for an account with these names, or why it cannot be set. Runs in the same queue as
    /// password checks.
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

    /// Sets the password hash if the stored account may act and satisfies `condition`; otherwise returns `None`.
    pub(super) async fn set(
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
        let changed = self.shared.accounts.change(&self.shared.clock, uid, set).await?;
        Ok(changed.filter(|account| account.password.as_ref() == Some(&hash)))
    }

    /// Number of passwords hashed since the start.
    pub fn hashes_computed(&self) -> u64 {
        self.hashing.computed()
    }

    fn mac(&self, name: &str, password: &str) -> Option<Mac> {
        let mut context = hmac::Context::with_key(self.mac_key.as_ref()?);
        // A name has no colon, so the encoding is unambiguous.
        context.update(name.to_ascii_lowercase().as_bytes());
        context.update(b":");
        context.update(password.as_bytes());
        let mut mac = [0; 32];
        mac.copy_from_slice(context.sign().as_ref());
        Some(mac)
    }
}

/// The hash to check a password against. A removed or disabled account has none.
fn stored_hash(account: &Account) -> Option<&str> {
    account.password.as_deref().filter(|_| account.may_act())
}

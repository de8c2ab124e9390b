//! Name and password.
//!
//! Checking a password costs 17 ms of a core, so one that was right is remembered for some minutes: not itself but a
//! keyed MAC of it, with a key that dies with the process. What is remembered is which stored hash it opened. A
//! request compares that with the account as it is now, so a changed password or a removed account is noticed as soon
//! as the account is read anew.
//!
//! Known and unknown names take the same way: throttle, remembered?, the store, one hash.

use super::Denied;
use super::hashing::{Busy, Hashing};
use super::password::{self, PasswordError};
use super::primitives;
use super::throttle::{Exhausted, Guesses, Throttle};
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
    hashing: Hashing,
    /// There is always one: AWS-LC ends the process where there are no random bytes. If it ever did not, passwords
    /// would not be checked at all.
    mac_key: Option<hmac::Key>,
    remembered: moka::future::Cache<Mac, Arc<Opened>>,
}

/// What a right password opened.
struct Opened {
    uid: Uid,
    hash: String,
}

impl Opened {
    fn opens(&self, account: &Account) -> bool {
        self.uid == account.uid && stored_hash(account) == Some(self.hash.as_str())
    }
}

/// Why a password was not found to be right, as all who wait for the same check are told.
enum Unproved {
    Wrong,
    Throttled(Exhausted),
    Busy,
}

impl Passwords {
    pub(super) fn new(store: Arc<dyn Store>, accounts: AccountCache, throttle: Arc<Throttle>) -> Passwords {
        let random = primitives::random::<32>().ok();
        Passwords {
            store,
            accounts,
            throttle,
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
        remote: IpAddr,
    ) -> Result<Arc<Account>, Denied> {
        let known = AccountName::parse(name).ok();
        let guesses = self.throttle.guesses(known.clone(), remote);
        // Before what is remembered: else a guesser who is held up would still learn of a right guess, as often as they
        // like, while the owner uses the password.
        guesses.check()?;
        let mac = self.mac(name, password).ok_or(Denied::Busy)?;
        if let Some(opened) = self.remembered.get(&mac).await {
            if let Some(account) =
                self.accounts.get(opened.uid).await?.filter(|account| opened.opens(account))
            {
                return Ok(account);
            }
            self.remembered.invalidate(&mac).await;
        }
        let proved = self.prove(known.clone(), password, mac, &guesses).await;
        if matches!(proved, Err(Denied::BadCredentials)) {
            self.throttle.tell(known.as_ref(), remote);
        }
        proved
    }

    /// Checks a password that is not remembered. Who presents the same one at the same time waits for the one check:
    /// a client that starts with many requests at once costs one hash and one guess.
    async fn prove(
        &self,
        name: Option<AccountName>,
        password: &str,
        mac: Mac,
        guesses: &Guesses<'_>,
    ) -> Result<Arc<Account>, Denied> {
        let account = match &name {
            Some(name) => self.store.account_by_name(name).await?,
            None => None,
        };
        let stored = account.as_ref().and_then(stored_hash);

        let mut counted = false;
        let check = async {
            guesses.take().map_err(Unproved::Throttled)?;
            counted = true;
            let right = self.hashing.is_right(password, stored).await.map_err(|Busy| {
                guesses.give_back();
                Unproved::Busy
            })?;
            let (true, Some(account), Some(hash)) = (right, &account, stored) else {
                return Err(Unproved::Wrong);
            };
            guesses.give_back();
            Ok(Arc::new(Opened { uid: account.uid, hash: hash.to_owned() }))
        };
        let proved = self.remembered.try_get_with(mac, check).await;

        match (proved.as_deref(), account) {
            (Ok(opened), Some(account)) if opened.opens(&account) => Ok(self.accounts.remember(account)),
            (Err(error), _) if matches!(**error, Unproved::Busy) => Err(Denied::Busy),
            (Err(error), _) if let Unproved::Throttled(exhausted) = **error => Err(exhausted.into()),
            _ => {
                // Who waited for another's check made a wrong guess all the same.
                if !counted {
                    guesses.take()?;
                }
                Err(Denied::BadCredentials)
            }
        }
    }

    /// The account as it is now, if the password that opened it then still would.
    pub(super) async fn still(&self, then: &Account) -> Result<Option<Arc<Account>>, Denied> {
        let same = |now: &Arc<Account>| stored_hash(now).is_some() && now.password == then.password;
        Ok(self.accounts.get(then.uid).await?.filter(same))
    }

    /// The hash of a new password, made where passwords are checked and in the same queue; or what is wrong with it.
    pub(super) async fn hash_new(&self, password: &str) -> Result<Result<String, PasswordError>, Denied> {
        if let Err(wrong) = password::check(password) {
            return Ok(Err(wrong));
        }
        self.hashing.hash(password).await.map_err(|Busy| Denied::Busy)
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

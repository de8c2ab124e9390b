//! The second factor: one-time passwords by time (TOTP, RFC 6238), and recovery codes for when the device is lost. It is
//! asked for after the password, on pages only: the API has keys.
//!
//! A code counts once. Accepted time steps, used recovery codes and wrong codes are part of one versioned state, so that
//! all processes of a cluster agree.

use super::session::{SignedIn, password_fingerprint};
use super::{AuthError, Shared};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use model::{Account, Millis, SecondFactor, Uid};
use seal::SecretKeys;
use std::sync::Arc;
use std::time::Duration;
use store::{StoreError, update};
use totp_rs::{Algorithm, Secret, TOTP};
use zeroize::Zeroizing;

/// Seconds of a time step.
const STEP_SECONDS: u64 = 30;
/// Codes of this many steps before and after the present one are accepted, because clocks differ.
const SKEW: u64 = 1;
const DIGITS: usize = 6;
const SECRET_BYTES: usize = 20;

/// Recovery codes, and random bytes of each.
const RECOVERY_CODES: usize = 10;
const RECOVERY_BYTES: usize = 15;

/// Wrong codes in an hour, beyond which codes are refused. The caller knows the password by then.
const MAX_WRONG: u32 = 10;
const WRONG_WINDOW: Duration = Duration::from_secs(60 * 60);

/// How long a sign-in may wait for the code.
const PENDING_TTL: Duration = Duration::from_secs(5 * 60);
/// How long another process may still accept a password on the API that the account refuses.
const REFUSAL_TTL: Duration = Duration::from_secs(3);

/// A second factor that is not confirmed yet.
pub struct Setup {
    /// The sealed secret, to be sent back with the first code.
    pub sealed: String,
    /// The secret in base32, for typing.
    pub secret: Zeroizing<String>,
    /// The `otpauth` address, for a QR code.
    pub address: Zeroizing<String>,
}

/// Checks and changes second factors.
pub struct SecondFactors {
    shared: Shared,
    secret_keys: Arc<SecretKeys>,
    /// Whether accounts refuse their password on the API.
    refusals: moka::future::Cache<Uid, bool>,
}

impl SecondFactors {
    pub(super) fn new(shared: Shared, secret_keys: Arc<SecretKeys>) -> SecondFactors {
        let refusals = moka::future::Cache::builder().max_capacity(100_000).time_to_live(REFUSAL_TTL).build();
        SecondFactors { shared, secret_keys, refusals }
    }

    /// The account's second factor, unless it was removed.
    pub async fn of(&self, uid: Uid) -> Result<Option<SecondFactor>, AuthError> {
        let found = self.shared.store.second_factor(uid).await?;
        Ok(found.filter(|factor| factor.sealed_secret.is_some()))
    }

    /// Whether the account refuses its password on the API.
    pub(super) async fn refuses_basic(&self, uid: Uid) -> Result<bool, AuthError> {
        if let Some(known) = self.refusals.get(&uid).await {
            return Ok(known);
        }
        let refuses = self.of(uid).await?.is_some_and(|factor| factor.refuses_basic);
        self.refusals.insert(uid, refuses).await;
        Ok(refuses)
    }

    /// A new secret for the account. Nothing is stored before [`confirm`](SecondFactors::confirm).
    pub fn begin(&self, account: &Account, issuer: &str) -> Result<Setup, AuthError> {
        let secret = seal::random::<SECRET_BYTES>()?;
        let sealed = self.secret_keys.seal(secret.as_slice(), &setup_context(account.uid))?;
        let totp = totp(secret.as_slice(), issuer, account.name.as_str())?;
        Ok(Setup {
            sealed: BASE64_URL_SAFE_NO_PAD.encode(sealed),
            secret: Zeroizing::new(totp.get_secret_base32()),
            address: Zeroizing::new(totp.get_url()),
        })
    }

    /// The secret of a setup as it was shown, after a wrong first code.
    pub fn resume(&self, account: &Account, issuer: &str, sealed: &str) -> Result<Option<Setup>, AuthError> {
        let Some(secret) = self.setup_secret(account.uid, sealed) else { return Ok(None) };
        let totp = totp(&secret, issuer, account.name.as_str())?;
        Ok(Some(Setup {
            sealed: sealed.to_owned(),
            secret: Zeroizing::new(totp.get_secret_base32()),
            address: Zeroizing::new(totp.get_url()),
        }))
    }

    fn setup_secret(&self, uid: Uid, sealed: &str) -> Option<Zeroizing<Vec<u8>>> {
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(sealed).ok()?;
        self.secret_keys.open(&sealed, &setup_context(uid)).ok()
    }

    /// Adds the second factor if the code shows that the device has its secret, and ends all other sessions. Returns the
    /// recovery codes, which are shown once. `None`: the code is wrong, or there is a second factor already.
    pub async fn confirm(
        &self,
        person: &SignedIn,
        sealed: &str,
        code: &str,
    ) -> Result<Option<Vec<Zeroizing<String>>>, AuthError> {
        let (uid, now) = (person.account.uid, self.shared.clock.now());
        let Some(secret) = self.setup_secret(uid, sealed) else { return Ok(None) };
        let Some(step) = step_of(&secret, code, 0, now)? else { return Ok(None) };
        let sealed_secret = self.secret_keys.seal(&secret, &context(uid))?;
        let (codes, hashes) = recovery_codes()?;
        let add = |stored: Option<&SecondFactor>| -> Result<_, StoreError> {
            if stored.is_some_and(|factor| factor.sealed_secret.is_some()) {
                return Ok(None);
            }
            Ok(Some(SecondFactor {
                sealed_secret: Some(sealed_secret.clone()),
                last_step: step,
                recovery_codes: hashes.clone(),
                ..SecondFactor::none(uid)
            }))
        };
        let stored = update(self.shared.store.as_ref(), &uid, now, add).await?;
        if stored.is_none_or(|factor| factor.sealed_secret.as_ref() != Some(&sealed_secret)) {
            return Ok(None);
        }
        // Other sessions began without a code.
        for session in self.shared.store.sessions_of(uid).await? {
            if !person.is_session(&session) {
                self.shared.store.end_session(&session.hash).await?;
            }
        }
        Ok(Some(codes))
    }

    /// New recovery codes; the old ones become invalid. `None`: there is no second factor.
    pub async fn renew_codes(&self, uid: Uid) -> Result<Option<Vec<Zeroizing<String>>>, AuthError> {
        let (codes, hashes) = recovery_codes()?;
        let changed = self.change(uid, |factor| factor.recovery_codes.clone_from(&hashes)).await?;
        Ok(changed.then_some(codes))
    }

    /// Sets whether the API refuses the account's password. `false`: there is no second factor.
    pub async fn set_refuses_basic(&self, uid: Uid, refuses: bool) -> Result<bool, AuthError> {
        let changed = self.change(uid, |factor| factor.refuses_basic = refuses).await?;
        self.refusals.invalidate(&uid).await;
        Ok(changed)
    }

    /// Removes the second factor. `false`: there is none.
    pub async fn remove(&self, uid: Uid) -> Result<bool, AuthError> {
        let removed = self.change(uid, |factor| {
            *factor = SecondFactor { version: factor.version, ..SecondFactor::none(uid) };
        });
        let removed = removed.await?;
        self.refusals.invalidate(&uid).await;
        Ok(removed)
    }

    async fn change(&self, uid: Uid, change: impl Fn(&mut SecondFactor)) -> Result<bool, AuthError> {
        let mut exists = false;
        let next = |stored: Option<&SecondFactor>| -> Result<_, StoreError> {
            let mut factor = stored.filter(|factor| factor.sealed_secret.is_some()).cloned();
            exists = factor.is_some();
            factor.as_mut().map(&change);
            Ok(factor)
        };
        update(self.shared.store.as_ref(), &uid, self.shared.clock.now(), next).await?;
        Ok(exists)
    }

    /// Checks a code and uses it up. `false`: it is wrong, or was used before.
    pub(super) async fn check(&self, uid: Uid, code: &str) -> Result<bool, AuthError> {
        let now = self.shared.clock.now();
        let mut is_right = false;
        let next = |stored: Option<&SecondFactor>| {
            is_right = false;
            let Some(factor) = stored else { return Ok(None) };
            let mut factor = factor.clone();
            let Some(sealed) = &factor.sealed_secret else { return Ok(None) };
            let secret = self.secret_keys.open(sealed, &context(uid))?;
            if now >= factor.wrong_since.later(WRONG_WINDOW) {
                (factor.wrong, factor.wrong_since) = (0, now);
            }
            if factor.wrong >= MAX_WRONG {
                let millis = factor.wrong_since.later(WRONG_WINDOW).0 - now.0;
                let seconds = u64::try_from(millis).unwrap_or(0).div_ceil(1_000);
                return Err(AuthError::Throttled { retry_after_seconds: seconds.max(1) });
            }
            let recovery = seal::sha256(plain(code).as_bytes());
            if let Some(step) = step_of(&secret, code, factor.last_step, now)? {
                (factor.last_step, is_right) = (step, true);
            } else if let Some(at) = factor.recovery_codes.iter().position(|hash| *hash == recovery) {
                factor.recovery_codes.swap_remove(at);
                is_right = true;
            }
            factor.wrong = if is_right { 0 } else { factor.wrong + 1 };
            Ok(Some(factor))
        };
        update::<SecondFactor, AuthError>(self.shared.store.as_ref(), &uid, now, next).await?;
        Ok(is_right)
    }

    /// The text that a sign-in form with the code sends back: the password of this account was right.
    pub(super) fn pending(&self, account: &Account) -> Result<String, AuthError> {
        let expires = self.shared.clock.now().later(PENDING_TTL);
        let content =
            [&account.uid.0.to_be_bytes()[..], &expires.0.to_be_bytes(), &password_fingerprint(account)]
                .concat();
        Ok(BASE64_URL_SAFE_NO_PAD.encode(self.secret_keys.seal(&content, PENDING)?))
    }

    /// The account whose password was right within the last minutes, and is still the same.
    pub(super) async fn opened(&self, pending: &str) -> Result<Option<Arc<Account>>, AuthError> {
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(pending).unwrap_or_default();
        let Ok(content) = self.secret_keys.open(&sealed, PENDING) else { return Ok(None) };
        let parts = content.split_first_chunk::<8>().and_then(|(uid, rest)| {
            let (expires, fingerprint) = rest.split_first_chunk::<8>()?;
            Some((Uid(i64::from_be_bytes(*uid)), Millis(i64::from_be_bytes(*expires)), fingerprint))
        });
        let Some((uid, expires, fingerprint)) = parts else { return Ok(None) };
        if self.shared.clock.now() >= expires {
            return Ok(None);
        }
        let account = self.shared.accounts.get(uid).await?;
        Ok(account.filter(|account| account.may_act() && password_fingerprint(account) == fingerprint))
    }
}

/// The seal of a sign-in that waits for its code.
const PENDING: &str = "pending sign-in";

/// The context in which the secret of an account is sealed.
pub(super) fn context(uid: Uid) -> String {
    format!("second factor {}", uid.0)
}

fn setup_context(uid: Uid) -> String {
    format!("second factor setup {}", uid.0)
}

fn totp(secret: &[u8], issuer: &str, account: &str) -> Result<TOTP, AuthError> {
    // The issuer must not have a colon, and neither has an account name.
    let issuer = issuer.replace(':', " ");
    TOTP::new(Algorithm::SHA1, DIGITS, 1, STEP_SECONDS, secret.to_vec(), Some(issuer), account.to_owned())
        .map_err(|_| AuthError::Sealing(seal::SealError::Failed))
}

/// The time step after `last` of which this is the code.
fn step_of(secret: &[u8], code: &str, last: u64, now: Millis) -> Result<Option<u64>, AuthError> {
    let code = plain(code);
    let totp = totp(secret, "", "")?;
    let present = u64::try_from(now.0).unwrap_or(0) / 1_000 / STEP_SECONDS;
    let steps = present.saturating_sub(SKEW)..=present + SKEW;
    let is_code = |step: &u64| {
        let expected = Zeroizing::new(totp.generate(step * STEP_SECONDS));
        aws_lc_rs::constant_time::verify_slices_are_equal(expected.as_bytes(), code.as_bytes()).is_ok()
    };
    Ok(steps.filter(|step| *step > last).find(is_code))
}

/// A code without the spaces and dashes that make it readable.
fn plain(code: &str) -> Zeroizing<String> {
    let kept = code.chars().filter(|character| !character.is_whitespace() && *character != '-').take(64);
    Zeroizing::new(kept.collect::<String>().to_ascii_lowercase())
}

type Codes = (Vec<Zeroizing<String>>, Vec<[u8; 32]>);

/// New recovery codes and their hashes.
fn recovery_codes() -> Result<Codes, AuthError> {
    let mut codes = Codes::default();
    for _ in 0..RECOVERY_CODES {
        let secret = Secret::Raw(seal::random::<RECOVERY_BYTES>()?.to_vec());
        let text = Zeroizing::new(secret.to_encoded().to_string().to_ascii_lowercase());
        codes.1.push(seal::sha256(text.as_bytes()));
        let groups: Vec<&str> = (0..text.len()).step_by(4).filter_map(|at| text.get(at..at + 4)).collect();
        codes.0.push(Zeroizing::new(groups.join("-")));
    }
    Ok(codes)
}

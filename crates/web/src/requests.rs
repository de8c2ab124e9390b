//! The limit of requests per account.
//!
//! A token bucket per account, by the generic cell rate algorithm: the only state is the time at which the bucket will be
//! full. On a cluster the processes tell each other twice a second how many requests they have accepted, so all count
//! together up to that delay.

use crate::problem::Problem;
use http::{HeaderMap, HeaderName, HeaderValue};
use model::{Account, Clock, Uid};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The maximum number of buckets. The least recently used are evicted first.
const MAX_TRACKED: u64 = 100_000;
/// The maximum number of accounts in one message to the other processes.
const MAX_UNSENT: usize = 10_000;
const MICROS_PER_SECOND: i64 = 1_000_000;

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STATE: HeaderName = HeaderName::from_static("ratelimit");

/// A number of requests per second, and how many may come at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Requests per second in the long run.
    pub per_second: u32,
    /// Requests at once.
    pub burst: u32,
}

impl Rate {
    /// Microseconds until one more request is allowed.
    fn refill(self) -> i64 {
        (MICROS_PER_SECOND / i64::from(self.per_second)).max(1)
    }

    /// Microseconds until an empty bucket is full.
    fn full_refill(self) -> i64 {
        self.refill() * i64::from(self.burst)
    }
}

/// The limits of requests. `None`: no limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestLimits {
    /// For an account.
    pub account: Option<Rate>,
    /// For an operator account, through which a back end acts.
    pub operator: Option<Rate>,
}

/// What is left of an account's limit after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Remaining {
    rate: Rate,
    /// Requests that may come at once now.
    requests: i64,
    /// Microseconds until the bucket is full.
    full_in: i64,
}

impl Remaining {
    /// Adds the headers of the IETF draft `httpapi-ratelimit-headers`.
    pub(crate) fn add_to(self, headers: &mut HeaderMap) {
        let window = seconds(self.rate.full_refill());
        let policy = format!("\"account\";q={};w={window}", self.rate.burst);
        let state = format!("\"account\";r={};t={}", self.requests, seconds(self.full_in));
        for (name, text) in [(POLICY, policy), (STATE, state)] {
            headers.extend(HeaderValue::from_str(&text).ok().map(|value| (name, value)));
        }
    }
}

/// Whole seconds, rounded up.
fn seconds(micros: i64) -> i64 {
    micros.max(0).unsigned_abs().div_ceil(MICROS_PER_SECOND.unsigned_abs()).cast_signed()
}

/// The account has no request left.
pub(crate) struct Exhausted {
    remaining: Remaining,
    retry_after: u64,
}

impl From<Exhausted> for Problem {
    fn from(exhausted: Exhausted) -> Problem {
        let mut headers = HeaderMap::new();
        exhausted.remaining.add_to(&mut headers);
        Problem::too_many_requests(exhausted.retry_after, headers)
    }
}

/// Counts requests.
pub(crate) struct RequestLimiter {
    limits: RequestLimits,
    clock: Clock,
    /// The time at which each bucket will be full, in microseconds.
    buckets: Cache<Uid, Arc<AtomicI64>>,
    /// Whether other processes count too.
    shared: AtomicBool,
    /// Requests that the other processes do not know of.
    unsent: Mutex<HashMap<Uid, u32>>,
}

impl RequestLimiter {
    pub(crate) fn new(limits: RequestLimits, clock: Clock) -> RequestLimiter {
        let rates = [limits.account, limits.operator].into_iter().flatten();
        let idle = rates.map(Rate::full_refill).max().unwrap_or(0).unsigned_abs();
        // A bucket that was idle for a full refill is as good as new.
        let buckets = Cache::builder()
            .max_capacity(MAX_TRACKED)
            .eviction_policy(EvictionPolicy::lru())
            .time_to_idle(Duration::from_micros(idle.max(1)))
            .build();
        RequestLimiter { limits, clock, buckets, shared: AtomicBool::new(false), unsent: Mutex::default() }
    }

    /// Counts a request of the account. `None`: there is no limit.
    pub(crate) fn take(&self, account: &Account) -> Result<Option<Remaining>, Exhausted> {
        let limit = if account.operator { self.limits.operator } else { self.limits.account };
        let Some(rate) = limit else { return Ok(None) };
        let now = self.now();
        let bucket = self.buckets.get_with(account.uid, Arc::default);
        let empty_at = now + rate.full_refill();
        let remaining = |full_at: i64| {
            let full_in = full_at.clamp(now, empty_at) - now;
            Remaining { rate, requests: (rate.full_refill() - full_in) / rate.refill(), full_in }
        };
        // A later time than that of an empty bucket means that the clock was set back.
        let next = |full_at: i64| full_at.clamp(now, empty_at) + rate.refill();
        let taken = |full_at: i64| Some(next(full_at)).filter(|next| *next <= empty_at);
        match bucket.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken) {
            Ok(before) => {
                self.share(account.uid);
                Ok(Some(remaining(next(before))))
            }
            Err(before) => {
                let retry_after = u64::try_from(seconds(next(before) - empty_at)).unwrap_or(1).max(1);
                Err(Exhausted { remaining: remaining(before), retry_after })
            }
        }
    }

    fn share(&self, uid: Uid) {
        if self.shared.load(Ordering::Relaxed) {
            let mut unsent = self.unsent.lock().unwrap_or_else(PoisonError::into_inner);
            if unsent.len() < MAX_UNSENT || unsent.contains_key(&uid) {
                *unsent.entry(uid).or_default() += 1;
            }
        }
    }

    /// The accepted requests since the last call, for the other processes. Turns sharing on.
    pub(crate) fn unsent(&self) -> Vec<(Uid, u32)> {
        self.shared.store(true, Ordering::Relaxed);
        std::mem::take(&mut *self.unsent.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().collect()
    }

    /// Counts requests that another process has accepted. Only accounts with a limit are sent, mostly ordinary ones: an
    /// operator's limit may be counted at the ordinary rate here, until its next request.
    pub(crate) fn count_remote(&self, counts: &[(Uid, u32)]) {
        let Some(rate) = self.limits.account.or(self.limits.operator) else { return };
        let now = self.now();
        for (uid, count) in counts {
            let bucket = self.buckets.get_with(*uid, Arc::default);
            let next = |full_at: i64| {
                let later = full_at.max(now).saturating_add(rate.refill().saturating_mul(i64::from(*count)));
                Some(later.min(now + rate.full_refill()))
            };
            // The update always succeeds.
            let _ = bucket.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        }
    }

    fn now(&self) -> i64 {
        self.clock.now().0.saturating_mul(1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{AccountName, AddressableBy, Millis, Version};

    fn account(uid: i64, operator: bool) -> Account {
        Account {
            uid: Uid(uid),
            name: AccountName::parse("ada").unwrap(),
            version: Version(1),
            given_name: None,
            family_name: None,
            public: false,
            operator,
            password: None,
            created: Millis(0),
            removed: false,
            disabled: false,
            credential_epoch: 0,
            addressable_by: AddressableBy::Everyone,
        }
    }

    fn limiter() -> (Arc<AtomicI64>, RequestLimiter) {
        let now = Arc::new(AtomicI64::new(1_700_000_000_000));
        let current = Arc::clone(&now);
        let limits = RequestLimits { account: Some(Rate { per_second: 50, burst: 500 }), operator: None };
        (now, RequestLimiter::new(limits, Clock::from(move || Millis(current.load(Ordering::Relaxed)))))
    }

    fn until_refused(limiter: &RequestLimiter, account: &Account) -> usize {
        (0..2_000).take_while(|_| limiter.take(account).is_ok()).count()
    }

    #[test]
    fn a_burst_then_the_rate() {
        let (now, limiter) = limiter();
        let ada = account(1, false);
        let first = limiter.take(&ada).ok().flatten().unwrap();
        let mut headers = HeaderMap::new();
        first.add_to(&mut headers);
        assert_eq!(headers["ratelimit-policy"], "\"account\";q=500;w=10");
        assert_eq!(headers["ratelimit"], "\"account\";r=499;t=1");
        assert_eq!(until_refused(&limiter, &ada), 499);
        assert_eq!(limiter.take(&ada).err().unwrap().retry_after, 1);
        now.fetch_add(1_000, Ordering::Relaxed);
        assert_eq!(until_refused(&limiter, &ada), 50);
        assert_eq!(until_refused(&limiter, &account(2, false)), 500, "another account");
        assert_eq!(until_refused(&limiter, &account(3, true)), 2_000, "an operator");
        now.fetch_sub(86_400_000, Ordering::Relaxed);
        now.fetch_add(10_000, Ordering::Relaxed);
        assert!(
            limiter.take(&ada).is_err() || until_refused(&limiter, &ada) <= 500,
            "a clock that was set back"
        );
    }

    #[test]
    fn requests_at_other_processes_are_counted() {
        let ((_, here), (_, there)) = (limiter(), limiter());
        let ada = account(1, false);
        assert!(here.unsent().is_empty());
        assert_eq!(until_refused(&here, &ada), 500);
        there.count_remote(&here.unsent());
        assert!(there.take(&ada).is_err());
        assert!(here.unsent().is_empty());
    }
}

//! Rate limits against guessing: wrong passwords per account and address and per account over all addresses, wrong
//! credentials of any kind per address. Also limits open registration per address.
//!
//! Each limit is a token bucket (the generic cell rate algorithm: the only state is the time at which the bucket will
//! be full). The limit over all addresses does not apply to familiar browsers and networks (`familiar`), so that
//! guessers cannot lock out an account's owner.

use model::network::{as_ipv6, subscriber_of};
use model::{AccountName, Clock, Millis};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Maximum number of unsent messages to other servers.
const MAX_UNSENT: usize = 1_000;
/// Maximum number of buckets per limit. The least recently used are evicted first.
const MAX_TRACKED: u64 = 100_000;

/// Wrong passwords for one account from one address: a burst of 30, then one every 3 seconds.
const PASSWORDS: Rate = Rate { refill_millis: 3_000, burst: 30 };
/// Wrong passwords for one account from all addresses: a burst of 100, then 100 an hour.
const EVERYWHERE: Rate = Rate { refill_millis: 36_000, burst: 100 };
/// Wrong credentials from one address: ten times as many as passwords for one account.
const ADDRESSES: Rate = Rate { refill_millis: 300, burst: 300 };

/// New accounts from one address: a burst of 20 attempts, then one every 2 minutes.
const REGISTRATIONS: Rate = Rate { refill_millis: 120_000, burst: 20 };

/// The bucket is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exhausted {
    /// Seconds until the next attempt is allowed, at least 1.
    pub(super) seconds: u64,
}

/// Counts wrong credentials.
pub struct Throttle {
    clock: Clock,
    /// `None` stands for all invalid names.
    passwords: Cache<(Option<AccountName>, IpAddr), Arc<Bucket>>,
    everywhere: Cache<Option<AccountName>, Arc<Bucket>>,
    addresses: Cache<IpAddr, Arc<Bucket>>,
    registrations: Cache<IpAddr, Arc<Bucket>>,
    /// The channel to the other servers, if there are any.
    outgoing: OnceLock<Sender<Vec<u8>>>,
}

impl Throttle {
    pub(super) fn new(clock: Clock) -> Throttle {
        Throttle {
            clock,
            passwords: buckets(PASSWORDS),
            everywhere: buckets(EVERYWHERE),
            addresses: buckets(ADDRESSES),
            registrations: buckets(REGISTRATIONS),
            outgoing: OnceLock::new(),
        }
    }

    /// Messages about wrong credentials, to broadcast to the other servers, so that all count guesses together.
    pub fn outgoing(&self) -> Receiver<Vec<u8>> {
        let (sender, receiver) = channel(MAX_UNSENT);
        // Only the first receiver gets messages.
        let _ = self.outgoing.set(sender);
        receiver
    }

    /// Shares a wrong password for that account from that address. `None` stands for an invalid name.
    pub(super) fn share_wrong_password(&self, name: Option<&AccountName>, remote: IpAddr) {
        self.share(name.map_or(INVALID_NAME, AccountName::as_str), remote);
    }

    fn share(&self, name: &str, remote: IpAddr) {
        if let Some(outgoing) = self.outgoing.get() {
            // A lost message only makes the limit slightly less strict.
            let _ = outgoing.try_send(message(name, remote));
        }
    }

    /// Counts a wrong credential that another server broadcast.
    pub fn count_remote(&self, message: &[u8]) {
        let Some((address, name)) = message.split_first_chunk::<16>() else { return };
        let network = subscriber_of(Ipv6Addr::from(*address).to_canonical());
        let now = self.clock.now();
        let name = std::str::from_utf8(name).ok().filter(|name| !name.is_empty());
        if let Some(name) = name {
            let name = AccountName::parse(name).ok();
            let _ = self.everywhere.get_with(name.clone(), Arc::default).take(EVERYWHERE, now);
            let _ = self.passwords.get_with((name, network), Arc::default).take(PASSWORDS, now);
        }
        let _ = self.addresses.get_with(network, Arc::default).take(ADDRESSES, now);
    }

    /// The buckets for a password of that account from that address.
    pub(super) fn guesses(&self, name: Option<AccountName>, remote: IpAddr) -> Guesses<'_> {
        let network = subscriber_of(remote);
        Guesses {
            clock: &self.clock,
            everywhere: self.everywhere.get_with(name.clone(), Arc::default),
            account: self.passwords.get_with((name, network), Arc::default),
            address: self.addresses.get_with(network, Arc::default),
            familiar: false,
        }
    }

    /// Counts a wrong credential that is too long to guess, such as a key: for its address only.
    pub(super) fn wrong_key(&self, remote: IpAddr) -> Result<(), Exhausted> {
        self.share(NO_NAME, remote);
        self.addresses.get_with(subscriber_of(remote), Arc::default).take(ADDRESSES, self.clock.now())
    }

    /// Counts an attempt to sign up without an invitation, successful or not.
    pub(super) fn registration(&self, remote: IpAddr) -> Result<(), Exhausted> {
        self.registrations.get_with(subscriber_of(remote), Arc::default).take(REGISTRATIONS, self.clock.now())
    }
}

/// Stands for all invalid names in a message.
const INVALID_NAME: &str = "?";
/// Stands for a credential without an account name in a message.
const NO_NAME: &str = "";

/// Encodes a message: the address, then the name.
fn message(name: &str, remote: IpAddr) -> Vec<u8> {
    [&as_ipv6(remote).octets()[..], name.as_bytes()].concat()
}

/// The buckets that one wrong password is counted in.
pub(super) struct Guesses<'a> {
    clock: &'a Clock,
    everywhere: Arc<Bucket>,
    account: Arc<Bucket>,
    address: Arc<Bucket>,
    /// Whether the limit over all addresses does not apply.
    familiar: bool,
}

impl Guesses<'_> {
    /// Checks the limits of the address, without taking a guess.
    pub(super) fn check(&self) -> Result<(), Exhausted> {
        let now = self.clock.now();
        // All buckets are adjusted, in case the clock was set back.
        self.everywhere.adjust_to_clock(EVERYWHERE, now);
        let (account, address) = (self.account.check(PASSWORDS, now), self.address.check(ADDRESSES, now));
        account.and(address)
    }

    /// Checks the limit over all addresses, without taking a guess. Always passes for familiar origins.
    pub(super) fn check_everywhere(&self) -> Result<(), Exhausted> {
        if self.familiar { Ok(()) } else { self.everywhere.check(EVERYWHERE, self.clock.now()) }
    }

    /// Marks the origin as familiar: the limit over all addresses does not apply.
    pub(super) fn set_familiar(&mut self) {
        self.familiar = true;
    }

    /// Takes one guess. The caller takes it before it checks the password, so that concurrent guesses are counted.
    pub(super) fn take(&self) -> Result<Guess<'_>, Exhausted> {
        let now = self.clock.now();
        self.account.take(PASSWORDS, now)?;
        self.address.take(ADDRESSES, now).inspect_err(|_| self.account.refund(PASSWORDS))?;
        let counted = self.everywhere.take(EVERYWHERE, now);
        let guess = Guess { guesses: self, everywhere: counted.is_ok() };
        match counted {
            Err(exhausted) if !self.familiar => {
                guess.refund();
                Err(exhausted)
            }
            _ => Ok(guess),
        }
    }
}

/// A guess that was taken from the buckets.
pub(super) struct Guess<'a> {
    guesses: &'a Guesses<'a>,
    everywhere: bool,
}

impl Guess<'_> {
    /// Refunds the guess, because the password was right.
    pub(super) fn refund(self) {
        self.guesses.address.refund(ADDRESSES);
        self.refund_unchecked();
    }

    /// Refunds the guess of an unchecked password, because the queue was full. The address still pays for it: otherwise
    /// it could keep the queue full forever.
    pub(super) fn refund_unchecked(self) {
        self.guesses.account.refund(PASSWORDS);
        if self.everywhere {
            self.guesses.everywhere.refund(EVERYWHERE);
        }
    }
}

#[derive(Clone, Copy)]
struct Rate {
    refill_millis: i64,
    burst: i64,
}

impl Rate {
    /// Milliseconds until an empty bucket is full.
    const fn full_refill(self) -> i64 {
        self.refill_millis * self.burst
    }

    /// The time at which the bucket will be full after one is taken now, or the milliseconds until that is possible.
    fn after_taking(self, full_at: i64, now: Millis) -> Result<i64, i64> {
        let empty = now.0 + self.full_refill();
        let next = full_at.max(now.0) + self.refill_millis;
        if next <= empty { Ok(next) } else { Err(next - empty) }
    }

    fn exhausted(missing_millis: i64) -> Exhausted {
        let seconds = u64::try_from(missing_millis).unwrap_or(0).div_ceil(1_000);
        Exhausted { seconds: seconds.max(1) }
    }
}

/// A token bucket: the time at which it will be full.
#[derive(Default)]
struct Bucket(AtomicI64);

impl Bucket {
    fn check(&self, rate: Rate, now: Millis) -> Result<(), Exhausted> {
        self.adjust_to_clock(rate, now);
        rate.after_taking(self.0.load(Ordering::Relaxed), now).map(drop).map_err(Rate::exhausted)
    }

    fn take(&self, rate: Rate, now: Millis) -> Result<(), Exhausted> {
        self.adjust_to_clock(rate, now);
        let taken = |full_at| rate.after_taking(full_at, now).ok();
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken) {
            Ok(_) => Ok(()),
            Err(full_at) => Err(Rate::exhausted(rate.after_taking(full_at, now).err().unwrap_or(0))),
        }
    }

    fn refund(&self, rate: Rate) {
        self.0.fetch_sub(rate.refill_millis, Ordering::Relaxed);
    }

    /// Limits the fill time to that of an empty bucket. A later time means that the clock was set back, and clients
    /// must not wait until it has caught up.
    fn adjust_to_clock(&self, rate: Rate, now: Millis) {
        self.0.fetch_min(now.0 + rate.full_refill(), Ordering::Relaxed);
    }
}

/// Evicts the least recently used bucket, not the least frequently used one: otherwise a full cache would not admit a
/// new client's bucket, and the client could guess without limit. A bucket that was idle for a full refill is as good
/// as new.
fn buckets<K: Hash + Eq + Send + Sync + 'static>(rate: Rate) -> Cache<K, Arc<Bucket>> {
    let idle = Duration::from_millis(rate.full_refill().unsigned_abs());
    Cache::builder()
        .max_capacity(MAX_TRACKED)
        .eviction_policy(EvictionPolicy::lru())
        .time_to_idle(idle)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const ELSEWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    fn at(start: i64) -> (Arc<AtomicI64>, Throttle) {
        let now = Arc::new(AtomicI64::new(start));
        let current = Arc::clone(&now);
        (now, Throttle::new(Clock::from(move || Millis(current.load(Ordering::Relaxed)))))
    }

    fn alice() -> Option<AccountName> {
        AccountName::parse("alice").ok()
    }

    /// Number of wrong passwords before the first one is refused.
    fn until_refused(throttle: &Throttle, name: &Option<AccountName>, from: IpAddr) -> usize {
        (0..1_000).take_while(|_| throttle.guesses(name.clone(), from).take().is_ok()).count()
    }

    #[test]
    fn a_burst_then_one_every_three_seconds() {
        let (now, throttle) = at(1_700_000_000_000);
        assert_eq!(until_refused(&throttle, &alice(), HERE), 30);
        assert_eq!(throttle.guesses(alice(), HERE).check(), Err(Exhausted { seconds: 3 }));
        now.fetch_add(2_500, Ordering::Relaxed);
        assert_eq!(throttle.guesses(alice(), HERE).take().map(drop), Err(Exhausted { seconds: 1 }));
        now.fetch_add(500, Ordering::Relaxed);
        assert_eq!(until_refused(&throttle, &alice(), HERE), 1);
        now.fetch_add(3_600_000, Ordering::Relaxed);
        assert_eq!(until_refused(&throttle, &alice(), HERE), 30, "a bucket never holds more than the burst");
    }

    #[test]
    fn a_minute_of_trying_stays_under_a_hundred() {
        let (now, throttle) = at(1_700_000_000_000);
        let through = (0..6_000).filter(|_| {
            now.fetch_add(10, Ordering::Relaxed);
            throttle.guesses(alice(), HERE).take().is_ok()
        });
        assert_eq!(through.count(), 30 + 19);
    }

    #[test]
    fn other_addresses_and_accounts_are_not_throttled() {
        let (_, throttle) = at(1_700_000_000_000);
        until_refused(&throttle, &alice(), HERE);
        assert_eq!(until_refused(&throttle, &alice(), ELSEWHERE), 30, "the account is not locked");
        assert_eq!(until_refused(&throttle, &AccountName::parse("bob").ok(), HERE), 30);
        assert_eq!(until_refused(&throttle, &None, HERE), 30, "invalid names share a bucket");
    }

    #[test]
    fn an_address_has_ten_times_the_limit_of_an_account() {
        let (now, throttle) = at(1_700_000_000_000);
        for n in 0..300 {
            let name = AccountName::parse(&format!("account{n}")).ok();
            assert!(throttle.guesses(name, HERE).take().is_ok(), "{n}");
        }
        assert_eq!(throttle.guesses(alice(), HERE).check(), Err(Exhausted { seconds: 1 }));
        assert_eq!(throttle.wrong_key(HERE), Err(Exhausted { seconds: 1 }));
        assert!(throttle.guesses(alice(), HERE).take().is_err());
        now.fetch_add(9_000, Ordering::Relaxed);
        assert_eq!(
            until_refused(&throttle, &alice(), HERE),
            30,
            "a refused attempt is not counted for alice"
        );
        assert_eq!(throttle.wrong_key(ELSEWHERE), Ok(()));
    }

    fn elsewhere(number: u8) -> IpAddr {
        IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, number))
    }

    #[test]
    fn an_account_has_a_hundred_guesses_from_all_addresses() {
        let (now, throttle) = at(1_700_000_000_000);
        for name in [alice(), None] {
            let through = (0..200).filter(|n| throttle.guesses(name.clone(), elsewhere(*n)).take().is_ok());
            assert_eq!(through.count(), 100, "invalid names share a bucket");
            let mut guesses = throttle.guesses(name.clone(), HERE);
            assert_eq!(guesses.check(), Ok(()), "the address made no guess");
            assert_eq!(guesses.check_everywhere(), Err(Exhausted { seconds: 36 }));
            assert!(guesses.take().is_err());
            guesses.set_familiar();
            assert_eq!(guesses.check_everywhere(), Ok(()));
            // A guess that was not taken is not refunded.
            guesses.take().unwrap().refund();
            assert_eq!(until_refused(&throttle, &name, elsewhere(201)), 0);
            let familiar = (0..1_000).take_while(|_| guesses.take().is_ok()).count();
            assert_eq!(familiar, 30, "the limit of the address still applies");
        }
        assert_eq!(until_refused(&throttle, &AccountName::parse("bob").ok(), elsewhere(202)), 30);
        now.fetch_add(36_000, Ordering::Relaxed);
        assert_eq!(until_refused(&throttle, &alice(), elsewhere(203)), 1);
    }

    #[test]
    fn an_unchecked_password_is_counted_for_the_address() {
        let (_, throttle) = at(1_700_000_000_000);
        for _ in 0..300 {
            throttle.guesses(alice(), HERE).take().unwrap().refund_unchecked();
        }
        assert!(throttle.guesses(alice(), HERE).check().is_err());
        assert_eq!(until_refused(&throttle, &alice(), ELSEWHERE), 30);
    }

    #[test]
    fn a_refunded_guess_is_not_counted() {
        let (_, throttle) = at(1_700_000_000_000);
        for _ in 0..1_000 {
            throttle.guesses(alice(), HERE).take().unwrap().refund();
        }
    }

    #[test]
    fn a_clock_set_back_does_not_lock_out() {
        let (now, throttle) = at(1_700_000_000_000);
        until_refused(&throttle, &alice(), HERE);
        now.fetch_sub(86_400_000, Ordering::Relaxed);
        assert_eq!(throttle.guesses(alice(), HERE).check(), Err(Exhausted { seconds: 3 }));
        now.fetch_add(9_000, Ordering::Relaxed);
        assert_eq!(throttle.guesses(alice(), HERE).check(), Ok(()));
        assert_eq!(throttle.guesses(alice(), HERE).check_everywhere(), Err(Exhausted { seconds: 27 }));
        now.fetch_add(27_000, Ordering::Relaxed);
        assert_eq!(until_refused(&throttle, &alice(), HERE), 1);
    }

    #[test]
    fn wrong_passwords_on_other_servers_are_counted() {
        let (_, here) = at(1_000_000);
        let (_, there) = at(1_000_000);
        let mut messages = here.outgoing();
        for _ in 0..30 {
            assert!(here.guesses(alice(), HERE).take().is_ok());
            here.share_wrong_password(alice().as_ref(), HERE);
        }
        while let Ok(message) = messages.try_recv() {
            there.count_remote(&message);
        }
        assert!(there.guesses(alice(), HERE).check().is_err());
        assert!(there.guesses(alice(), ELSEWHERE).check().is_ok());
        there.count_remote(b"short");
        for n in 0..70 {
            here.share_wrong_password(alice().as_ref(), elsewhere(n));
            here.share_wrong_password(None, elsewhere(n));
        }
        (0..30).for_each(|n| here.share_wrong_password(None, elsewhere(n)));
        while let Ok(message) = messages.try_recv() {
            there.count_remote(&message);
        }
        for name in [alice(), None] {
            assert!(there.guesses(name, ELSEWHERE).check_everywhere().is_err());
        }
        assert!(there.guesses(AccountName::parse("bob").ok(), ELSEWHERE).check_everywhere().is_ok());
    }
}

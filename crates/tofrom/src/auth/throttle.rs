//! Against guessing: wrong passwords are limited per account and address and per account over all addresses, wrong
//! credentials of any kind per address. So are new accounts where everybody may make one.
//!
//! Each limit is a bucket that refills steadily (the generic cell rate algorithm: all that is kept is the time at
//! which the bucket will be full again). The limit over all addresses does not count for familiar browsers and networks
//! (`familiar`), so that guessers cannot lock an account's owner out.

use crate::clock::Clock;
use crate::network::{as_ipv6, subscriber_of};
use model::{AccountName, Millis};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// How many wrong credentials may wait to be told of.
const MAX_UNTOLD: usize = 1_000;
/// How many buckets of a kind are kept; the least recently used go first.
const MAX_TRACKED: u64 = 100_000;

/// Wrong passwords for one account from one address: 30 at once, then one every 3 seconds.
const PASSWORDS: Rate = Rate { refill_millis: 3_000, burst: 30 };
/// Wrong passwords for one account from all addresses: 100 at once, then 100 an hour.
const EVERYWHERE: Rate = Rate { refill_millis: 36_000, burst: 100 };
/// Wrong credentials from one address: ten times as many as passwords for one account.
const ADDRESSES: Rate = Rate { refill_millis: 300, burst: 300 };

/// New accounts from one address: 20 tries at once, then one every 2 minutes.
const REGISTRATIONS: Rate = Rate { refill_millis: 120_000, burst: 20 };

/// The bucket is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exhausted {
    /// In how many seconds there is something in it again, at least 1.
    pub(super) seconds: u64,
}

/// Counts wrong credentials.
pub(super) struct Throttle {
    clock: Clock,
    /// `None` is every name that no account can have.
    passwords: Cache<(Option<AccountName>, IpAddr), Arc<Bucket>>,
    everywhere: Cache<Option<AccountName>, Arc<Bucket>>,
    addresses: Cache<IpAddr, Arc<Bucket>>,
    registrations: Cache<IpAddr, Arc<Bucket>>,
    /// Where other processes are told of wrong credentials, if there are any.
    others: OnceLock<Sender<Vec<u8>>>,
}

impl Throttle {
    pub(super) fn new(clock: Clock) -> Throttle {
        Throttle {
            clock,
            passwords: buckets(PASSWORDS),
            everywhere: buckets(EVERYWHERE),
            addresses: buckets(ADDRESSES),
            registrations: buckets(REGISTRATIONS),
            others: OnceLock::new(),
        }
    }

    /// From now on other processes are told of wrong credentials, through what comes out here.
    pub(super) fn tell_others(&self) -> Receiver<Vec<u8>> {
        let (sender, receiver) = channel(MAX_UNTOLD);
        // Whoever asks twice gets something that nothing comes out of.
        let _ = self.others.set(sender);
        receiver
    }

    /// Tells that a password for that account (`None`: for a name that no account can have) from that address was wrong.
    pub(super) fn tell_of_password(&self, name: Option<&AccountName>, remote: IpAddr) {
        self.tell(name.map_or(IMPOSSIBLE, AccountName::as_str), remote);
    }

    fn tell(&self, name: &str, remote: IpAddr) {
        if let Some(others) = self.others.get() {
            // One too few costs a guesser nothing that they would notice.
            let _ = others.try_send(told(name, remote));
        }
    }

    /// Another process told of a wrong credential: it counts here as well.
    pub(super) fn heard(&self, told: &[u8]) {
        let Some((address, name)) = told.split_first_chunk::<16>() else { return };
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

    /// The buckets that a password for that account from that address is taken from.
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

    /// Counts a wrong credential that is too long to be guessed: only its address counts.
    pub(super) fn wrong_key(&self, remote: IpAddr) -> Result<(), Exhausted> {
        self.tell(NO_NAME, remote);
        self.addresses.get_with(subscriber_of(remote), Arc::default).take(ADDRESSES, self.clock.now())
    }

    /// Counts somebody who wants an account without an invitation, whether they get one or not.
    pub(super) fn registration(&self, remote: IpAddr) -> Result<(), Exhausted> {
        self.registrations.get_with(subscriber_of(remote), Arc::default).take(REGISTRATIONS, self.clock.now())
    }
}

/// Stands in a message for every name that no account can have.
const IMPOSSIBLE: &str = "?";
/// Stands in a message for a credential that names no account.
const NO_NAME: &str = "";

/// An address, and the name behind it.
fn told(name: &str, remote: IpAddr) -> Vec<u8> {
    [&as_ipv6(remote).octets()[..], name.as_bytes()].concat()
}

/// What one password costs if it is wrong.
pub(super) struct Guesses<'a> {
    clock: &'a Clock,
    everywhere: Arc<Bucket>,
    account: Arc<Bucket>,
    address: Arc<Bucket>,
    /// Whether the limit over all addresses counts for others only.
    familiar: bool,
}

impl Guesses<'_> {
    /// Whether there is anything left for that address, without taking it.
    pub(super) fn check(&self) -> Result<(), Exhausted> {
        let now = self.clock.now();
        // All are looked at, so that all notice a clock that was set back.
        self.everywhere.notice_the_clock(EVERYWHERE, now);
        let (account, address) = (self.account.check(PASSWORDS, now), self.address.check(ADDRESSES, now));
        account.and(address)
    }

    /// Whether there is anything left for all addresses together, without taking it. Nothing is where it counts for
    /// others only.
    pub(super) fn check_everywhere(&self) -> Result<(), Exhausted> {
        if self.familiar { Ok(()) } else { self.everywhere.check(EVERYWHERE, self.clock.now()) }
    }

    /// The guesses come from where somebody signed in before.
    pub(super) fn are_familiar(&mut self) {
        self.familiar = true;
    }

    /// Takes one guess. It is taken before the password is checked, so that many at once don't slip through.
    pub(super) fn take(&self) -> Result<Guess<'_>, Exhausted> {
        let now = self.clock.now();
        self.account.take(PASSWORDS, now)?;
        self.address.take(ADDRESSES, now).inspect_err(|_| self.account.give_back(PASSWORDS))?;
        let counted = self.everywhere.take(EVERYWHERE, now);
        let guess = Guess { guesses: self, everywhere: counted.is_ok() };
        match counted {
            Err(exhausted) if !self.familiar => {
                guess.give_back();
                Err(exhausted)
            }
            _ => Ok(guess),
        }
    }
}

/// A guess that was taken.
pub(super) struct Guess<'a> {
    guesses: &'a Guesses<'a>,
    everywhere: bool,
}

impl Guess<'_> {
    /// Gives it back: the password was right.
    pub(super) fn give_back(self) {
        self.guesses.address.give_back(ADDRESSES);
        self.was_not_looked_at();
    }

    /// The password was not looked at, because too many wait. That is no guess at the account, but the address asked
    /// all the same: else it could keep the queue full for ever.
    pub(super) fn was_not_looked_at(self) {
        self.guesses.account.give_back(PASSWORDS);
        if self.everywhere {
            self.guesses.everywhere.give_back(EVERYWHERE);
        }
    }
}

#[derive(Clone, Copy)]
struct Rate {
    refill_millis: i64,
    burst: i64,
}

impl Rate {
    /// How long an empty bucket takes to be full.
    const fn whole(self) -> i64 {
        self.refill_millis * self.burst
    }

    /// When the bucket will be full if one is taken out of it now, or how many milliseconds are missing for that.
    fn after_taking(self, full_at: i64, now: Millis) -> Result<i64, i64> {
        let empty = now.0 + self.whole();
        let next = full_at.max(now.0) + self.refill_millis;
        if next <= empty { Ok(next) } else { Err(next - empty) }
    }

    fn exhausted(missing_millis: i64) -> Exhausted {
        let seconds = u64::try_from(missing_millis).unwrap_or(0).div_ceil(1_000);
        Exhausted { seconds: seconds.max(1) }
    }
}

/// When the bucket will be full again.
#[derive(Default)]
struct Bucket(AtomicI64);

impl Bucket {
    fn check(&self, rate: Rate, now: Millis) -> Result<(), Exhausted> {
        self.notice_the_clock(rate, now);
        rate.after_taking(self.0.load(Ordering::Relaxed), now).map(drop).map_err(Rate::exhausted)
    }

    fn take(&self, rate: Rate, now: Millis) -> Result<(), Exhausted> {
        self.notice_the_clock(rate, now);
        let taken = |full_at| rate.after_taking(full_at, now).ok();
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken) {
            Ok(_) => Ok(()),
            Err(full_at) => Err(Rate::exhausted(rate.after_taking(full_at, now).err().unwrap_or(0))),
        }
    }

    fn give_back(&self, rate: Rate) {
        self.0.fetch_sub(rate.refill_millis, Ordering::Relaxed);
    }

    /// No bucket is emptier than empty: if it seems so, the clock was set back, and who came then must not wait until
    /// it has caught up.
    fn notice_the_clock(&self, rate: Rate, now: Millis) {
        self.0.fetch_min(now.0 + rate.whole(), Ordering::Relaxed);
    }
}

/// Least recently used, not least frequently: otherwise a full cache would not take a newcomer's bucket in, and the
/// newcomer could guess without limit. A bucket that nobody asked for as long as it takes to fill is as good as none.
fn buckets<K: Hash + Eq + Send + Sync + 'static>(rate: Rate) -> Cache<K, Arc<Bucket>> {
    let idle = Duration::from_millis(rate.whole().unsigned_abs());
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
        let told = Arc::clone(&now);
        (now, Throttle::new(Clock::from(move || Millis(told.load(Ordering::Relaxed)))))
    }

    fn alice() -> Option<AccountName> {
        AccountName::parse("alice").ok()
    }

    /// How many wrong passwords get through before the first one is refused.
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
        assert_eq!(until_refused(&throttle, &alice(), HERE), 30, "it never holds more than the burst");
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
    fn others_are_not_held_up() {
        let (_, throttle) = at(1_700_000_000_000);
        until_refused(&throttle, &alice(), HERE);
        assert_eq!(until_refused(&throttle, &alice(), ELSEWHERE), 30, "the account is not locked");
        assert_eq!(until_refused(&throttle, &AccountName::parse("bob").ok(), HERE), 30);
        assert_eq!(until_refused(&throttle, &None, HERE), 30, "impossible names share a bucket");
    }

    #[test]
    fn an_address_has_ten_times_as_many() {
        let (now, throttle) = at(1_700_000_000_000);
        for n in 0..300 {
            let name = AccountName::parse(&format!("account{n}")).ok();
            assert!(throttle.guesses(name, HERE).take().is_ok(), "{n}");
        }
        assert_eq!(throttle.guesses(alice(), HERE).check(), Err(Exhausted { seconds: 1 }));
        assert_eq!(throttle.wrong_key(HERE), Err(Exhausted { seconds: 1 }));
        assert!(throttle.guesses(alice(), HERE).take().is_err());
        now.fetch_add(9_000, Ordering::Relaxed);
        assert_eq!(until_refused(&throttle, &alice(), HERE), 30, "a refused try cost alice's bucket nothing");
        assert_eq!(throttle.wrong_key(ELSEWHERE), Ok(()));
    }

    fn elsewhere(number: u8) -> IpAddr {
        IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, number))
    }

    #[test]
    fn an_account_has_a_hundred_from_everywhere() {
        let (now, throttle) = at(1_700_000_000_000);
        for name in [alice(), None] {
            let through = (0..200).filter(|n| throttle.guesses(name.clone(), elsewhere(*n)).take().is_ok());
            assert_eq!(through.count(), 100, "names that no account can have share one");
            let mut guesses = throttle.guesses(name.clone(), HERE);
            assert_eq!(guesses.check(), Ok(()), "the address did nothing");
            assert_eq!(guesses.check_everywhere(), Err(Exhausted { seconds: 36 }));
            assert!(guesses.take().is_err());
            guesses.are_familiar();
            assert_eq!(guesses.check_everywhere(), Ok(()));
            // What was not taken is not given back.
            guesses.take().unwrap().give_back();
            assert_eq!(until_refused(&throttle, &name, elsewhere(201)), 0);
            let familiar = (0..1_000).take_while(|_| guesses.take().is_ok()).count();
            assert_eq!(familiar, 30, "the limit of the address stays");
        }
        assert_eq!(until_refused(&throttle, &AccountName::parse("bob").ok(), elsewhere(202)), 30);
        now.fetch_add(36_000, Ordering::Relaxed);
        assert_eq!(until_refused(&throttle, &alice(), elsewhere(203)), 1);
    }

    #[test]
    fn a_busy_answer_costs_the_address_its_guess() {
        let (_, throttle) = at(1_700_000_000_000);
        for _ in 0..300 {
            throttle.guesses(alice(), HERE).take().unwrap().was_not_looked_at();
        }
        assert!(throttle.guesses(alice(), HERE).check().is_err());
        assert_eq!(until_refused(&throttle, &alice(), ELSEWHERE), 30);
    }

    #[test]
    fn what_is_given_back_was_not_taken() {
        let (_, throttle) = at(1_700_000_000_000);
        for _ in 0..1_000 {
            throttle.guesses(alice(), HERE).take().unwrap().give_back();
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
    fn what_others_count_counts_here_too() {
        let (_, here) = at(1_000_000);
        let (_, there) = at(1_000_000);
        let mut heard = here.tell_others();
        for _ in 0..30 {
            assert!(here.guesses(alice(), HERE).take().is_ok());
            here.tell_of_password(alice().as_ref(), HERE);
        }
        while let Ok(told) = heard.try_recv() {
            there.heard(&told);
        }
        assert!(there.guesses(alice(), HERE).check().is_err());
        assert!(there.guesses(alice(), ELSEWHERE).check().is_ok());
        there.heard(b"short");
        for n in 0..70 {
            here.tell_of_password(alice().as_ref(), elsewhere(n));
            here.tell_of_password(None, elsewhere(n));
        }
        (0..30).for_each(|n| here.tell_of_password(None, elsewhere(n)));
        while let Ok(told) = heard.try_recv() {
            there.heard(&told);
        }
        for name in [alice(), None] {
            assert!(there.guesses(name, ELSEWHERE).check_everywhere().is_err());
        }
        assert!(there.guesses(AccountName::parse("bob").ok(), ELSEWHERE).check_everywhere().is_ok());
    }
}

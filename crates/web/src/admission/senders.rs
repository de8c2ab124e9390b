//! The rates at which addresses send requests, and the choice of those to refuse.
//!
//! Everything is refused from above: the rate that an address may reach is the same for all, so that of those who send
//! the most, the most is refused, and the others are not affected (max-min fairness). The table has a fixed size.
//! Addresses with the same hash share a slot. The hash is keyed, so that no client can choose the addresses of its slot.

use model::network::subscriber_of;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The minimum time over which rates are measured.
pub(super) const WINDOW: Duration = Duration::from_millis(100);

const SLOTS: usize = 1_024;

/// The addresses that send requests.
pub(super) struct Senders {
    key: RandomState,
    slots: Vec<Slot>,
    highest: AtomicU32,
    /// The requests per second that an address may send, in thousandths; `UNLIMITED` is no limit.
    limit: AtomicU64,
    /// The number of decisions by chance.
    drawn: AtomicU64,
}

const UNLIMITED: u64 = u64::MAX;

#[derive(Default)]
struct Slot {
    /// Requests in the present window.
    count: AtomicU32,
    /// Requests per second in the last window.
    rate: AtomicU32,
}

impl Default for Senders {
    fn default() -> Senders {
        Senders {
            key: RandomState::new(),
            slots: std::iter::repeat_with(Slot::default).take(SLOTS).collect(),
            highest: AtomicU32::new(0),
            limit: AtomicU64::new(UNLIMITED),
            drawn: AtomicU64::new(0),
        }
    }
}

impl Senders {
    /// Counts a request from this address, and decides whether it is admitted.
    pub(super) fn admits(&self, from: IpAddr) -> bool {
        let hash = self.key.hash_one(subscriber_of(from));
        let Some(slot) = self.slots.get(usize::try_from(hash % SLOTS as u64).unwrap_or_default()) else {
            return true;
        };
        let count = slot.count.fetch_add(1, Ordering::Relaxed);
        let limit = self.limit.load(Ordering::Relaxed);
        // An address that has just begun to send has no rate yet.
        let rate = u64::from(slot.rate.load(Ordering::Relaxed).max(count)) * 1_000;
        limit >= rate || self.draw() % rate < limit
    }

    /// A number that looks random (SplitMix64). The choice must be even, not secret.
    fn draw(&self) -> u64 {
        let mixed = self.drawn.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Sets the requests per second that an address may send. `None`: any number.
    pub(super) fn limit(&self, rate: Option<f64>) {
        self.limit.store(rate.map_or(UNLIMITED, |rate| (rate * 1_000.0) as u64), Ordering::Relaxed);
    }

    /// Ends a window of this length.
    pub(super) fn rotate(&self, window: Duration) {
        let millis = u64::try_from(window.as_millis()).unwrap_or(u64::MAX).max(1);
        let mut highest = 0;
        for slot in &self.slots {
            let count = u64::from(slot.count.swap(0, Ordering::Relaxed));
            let rate = u32::try_from((count * 1_000).div_ceil(millis)).unwrap_or(u32::MAX);
            slot.rate.store(rate, Ordering::Relaxed);
            highest = highest.max(rate);
        }
        self.highest.store(highest, Ordering::Relaxed);
    }

    /// The rate of the address that sends the most.
    pub(super) fn highest_rate(&self) -> f64 {
        f64::from(self.highest.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(senders: &Senders, from: IpAddr, requests: usize) -> usize {
        (0..requests).filter(|_| senders.admits(from)).count()
    }

    #[test]
    fn those_who_send_the_most_are_refused() {
        let senders = Senders::default();
        let (loud, calm) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([198, 51, 100, 1]));
        assert_eq!(admitted(&senders, loud, 1_000), 1_000);
        assert_eq!(admitted(&senders, calm, 10), 10);
        senders.rotate(Duration::from_millis(100));
        assert!(senders.highest_rate() >= 10_000.0);
        senders.limit(Some(5_000.0));
        let half = admitted(&senders, loud, 1_000);
        assert!((400..600).contains(&half), "{half}");
        let both_in_one_slot = senders.key.hash_one(loud) % 1_024 == senders.key.hash_one(calm) % 1_024;
        assert!(both_in_one_slot || admitted(&senders, calm, 10) == 10);
        senders.limit(None);
        assert_eq!(admitted(&senders, loud, 1_000), 1_000);
    }

    #[test]
    fn equal_senders_are_refused_equally() {
        let senders = Senders::default();
        let address = |n: u8| IpAddr::from([192, 0, 2, n]);
        (0..200).for_each(|n| assert_eq!(admitted(&senders, address(n), 10), 10));
        senders.rotate(Duration::from_secs(1));
        senders.limit(Some(2.0));
        let all: usize = (0..200).map(|n| admitted(&senders, address(n), 10)).sum();
        assert!((300..500).contains(&all), "{all} of 2,000 at a fifth of the rate");
    }
}

//! Selects the sequences: a number of consecutive seeds, or as many as time allows.

use super::env_number;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Even after the deadline, one seed in this many is tried.
const LATE_DIVISOR: u64 = 10;

/// Seeds for any number of threads. After `TOFROM_TEST_UNTIL` (seconds since 1970) only the minimum is handed out.
pub(crate) struct Seeds {
    first: u64,
    end: u64,
    next: AtomicU64,
    until: Option<SystemTime>,
}

impl Seeds {
    pub(crate) fn new(first: u64, count: u64) -> Seeds {
        let until = env_number("TOFROM_TEST_UNTIL")
            .map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        Seeds { first, end: first + count, next: AtomicU64::new(first), until }
    }

    pub(crate) fn next(&self) -> Option<u64> {
        let late = self.until.is_some_and(|until| SystemTime::now() > until);
        let end = if late { self.first + (self.end - self.first).div_ceil(LATE_DIVISOR) } else { self.end };
        // Stays at the end, so that it counts the seeds handed out.
        let next = |next: u64| (next < end).then_some(next + 1);
        self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()
    }

    /// The number of seeds handed out; printed past the test runner if some were left out.
    pub(crate) fn tried(self) -> u64 {
        let (tried, all) = (self.next.into_inner() - self.first, self.end - self.first);
        if tried < all {
            let _ = writeln!(
                std::io::stderr(),
                "\n{tried} of {all} sequences from seed {} were tried",
                self.first
            );
        }
        tried
    }
}

#[test]
fn a_minimum_of_seeds_is_tried_after_the_deadline() {
    let seeds = |count, until| Seeds { until: Some(until), ..Seeds::new(5, count) };
    let tried = |seeds: Seeds| std::iter::from_fn(|| seeds.next()).count() as u64;
    let (late, early) = (SystemTime::UNIX_EPOCH, SystemTime::now() + Duration::from_secs(600));
    assert_eq!(tried(seeds(200, early)), 200);
    assert_eq!(tried(seeds(200, late)), 20);
    assert_eq!(tried(seeds(3, late)), 1);
    assert_eq!(seeds(3, early).next(), Some(5));
}

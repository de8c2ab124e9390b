//! Which sequences are tried: so many, one seed after the other, or as many as there is time for.

use super::setting;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// However late it is, one in so many is tried.
const FEWEST: u64 = 10;

/// Seeds for any number of hands. After `TOFROM_TEST_UNTIL`, in seconds since 1970, none are given out beyond the
/// fewest.
pub(crate) struct Seeds {
    first: u64,
    end: u64,
    next: AtomicU64,
    until: Option<SystemTime>,
}

impl Seeds {
    pub(crate) fn new(first: u64, count: u64) -> Seeds {
        let until =
            setting("TOFROM_TEST_UNTIL").map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        Seeds { first, end: first + count, next: AtomicU64::new(first), until }
    }

    pub(crate) fn next(&self) -> Option<u64> {
        let late = self.until.is_some_and(|until| SystemTime::now() > until);
        let end = if late { self.first + (self.end - self.first).div_ceil(FEWEST) } else { self.end };
        // Beyond the end it stays where it is, so that it says how many there were.
        let next = |next: u64| (next < end).then_some(next + 1);
        self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()
    }

    /// How many were given out; says so, past the test runner, if that is not all.
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
fn when_it_is_late_a_few_are_tried() {
    let seeds = |count, until| Seeds { until: Some(until), ..Seeds::new(5, count) };
    let tried = |seeds: Seeds| std::iter::from_fn(|| seeds.next()).count() as u64;
    let (late, early) = (SystemTime::UNIX_EPOCH, SystemTime::now() + Duration::from_secs(600));
    assert_eq!(tried(seeds(200, early)), 200);
    assert_eq!(tried(seeds(200, late)), 20);
    assert_eq!(tried(seeds(3, late)), 1);
    assert_eq!(seeds(3, early).next(), Some(5));
}

//! Buckets: partitions are bounded by time, so that they do not grow without limit.
//!
//! A bucket is a time range of one of a few widths. An entry list (see [`super::directory`]) begins with the widest
//! buckets. A full bucket is divided: new rows go into the next narrower buckets, existing rows stay. So the rows of
//! a time may be in as many buckets as there are widths; usually it is one.

use model::Millis;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const TEN_MINUTES: i64 = 10 * MINUTE;
const HOUR: i64 = 6 * TEN_MINUTES;
const DAY: i64 = 24 * HOUR;

/// The level of the narrowest buckets, which are not divided.
const NARROWEST: u8 = 6;

/// A time range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Bucket {
    level: u8,
    index: i64,
}

impl Bucket {
    /// The widest bucket that contains this time.
    pub(super) fn widest(time: Millis) -> Bucket {
        Bucket::of(time, 0)
    }

    /// The bucket of this level that contains this time.
    pub(super) fn of(time: Millis, level: u8) -> Bucket {
        Bucket { level, index: time.0.div_euclid(width(level)) }
    }

    /// The number in the store.
    pub(super) fn number(self) -> i64 {
        self.index << 3 | i64::from(self.level)
    }

    /// The bucket with this number.
    pub(super) fn numbered(number: i64) -> Bucket {
        Bucket { level: (number & 7).to_le_bytes()[0], index: number >> 3 }
    }

    /// Its first millisecond.
    pub(super) fn first(self) -> i64 {
        self.index.saturating_mul(width(self.level))
    }

    /// Its last millisecond.
    pub(super) fn last(self) -> i64 {
        self.first().saturating_add(width(self.level) - 1)
    }

    pub(super) fn contains(self, time: i64) -> bool {
        (self.first()..=self.last()).contains(&time)
    }

    /// Whether buckets of this level are narrower.
    pub(super) fn is_wider_than(self, level: u8) -> bool {
        self.level < level
    }

    /// The level into which the bucket is divided: always the next one. A burst says nothing about the rest of the
    /// year, and a page over many narrow buckets is expensive.
    pub(super) fn next_level(self) -> Option<u8> {
        (self.level < NARROWEST).then_some(self.level + 1)
    }
}

/// The widest bucket is a little less than a year, so that each level divides the one before it.
fn width(level: u8) -> i64 {
    match level {
        0 => 364 * DAY,
        1 => 28 * DAY,
        2 => DAY,
        3 => HOUR,
        4 => TEN_MINUTES,
        5 => MINUTE,
        _ => SECOND,
    }
}

#[cfg(test)]
mod tests {
    use super::{Bucket, NARROWEST};
    use model::Millis;

    #[test]
    fn a_bucket_contains_its_times() {
        for time in [Millis::MIN.0, -1, 0, 1, 1_790_000_000_123, Millis::MAX.0] {
            for level in 0..=NARROWEST {
                let bucket = Bucket::of(Millis(time), level);
                assert!(bucket.contains(time));
                assert_eq!(Bucket::numbered(bucket.number()), bucket);
                assert_eq!(Bucket::of(Millis(bucket.first()), level), bucket);
                assert_eq!(Bucket::of(Millis(bucket.last()), level), bucket);
                assert_ne!(Bucket::of(Millis(bucket.last() + 1), level), bucket);
                if let Some(next) = bucket.next_level() {
                    let narrower = Bucket::of(Millis(time), next);
                    assert!(bucket.contains(narrower.first()) && bucket.contains(narrower.last()));
                }
            }
        }
    }
}

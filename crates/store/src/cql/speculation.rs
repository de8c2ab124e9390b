//! Speculative execution: a slow idempotent statement is also sent to a second node, and the first response counts.
//!
//! The driver has a policy by percentile too. It is not used: it copies a histogram of 160 KiB for every statement,
//! counts whole milliseconds (so that a fast cluster would get every statement twice), and never forgets a slow hour.

use scylla::policies::speculative_execution::{
    Context, SimpleSpeculativeExecutionPolicy, SpeculativeExecutionPolicy,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// When a statement is also sent to a second node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speculation {
    /// After the time in which this percentage of recent statements ended.
    Percentile(u8),
    /// After this time.
    After(Duration),
    /// Never.
    Off,
}

/// The delay by percentile stays within these limits. The lower one keeps a fast cluster from duplicates that save
/// nothing; the upper one applies before enough statements are measured, too.
const MIN_DELAY: Duration = Duration::from_millis(5);
const MAX_DELAY: Duration = Duration::from_millis(500);
/// The delay is computed again after this many statements. The weight of earlier ones is halved then.
const WINDOW: u64 = 1_024;
/// Buckets for each power of two.
const SUBDIVISIONS: u64 = 4;
const BUCKETS: usize = 128;

/// The latencies of recent statements, and the delay that follows from them.
#[derive(Debug)]
pub(super) struct Latencies {
    percentile: u8,
    /// Number of latencies by their logarithm.
    buckets: [AtomicU64; BUCKETS],
    recorded: AtomicU64,
    delay: AtomicU64,
}

impl Latencies {
    fn new(percentile: u8) -> Latencies {
        Latencies {
            percentile,
            buckets: [const { AtomicU64::new(0) }; BUCKETS],
            recorded: AtomicU64::new(0),
            delay: AtomicU64::new(micros(MAX_DELAY)),
        }
    }

    pub(super) fn record(&self, latency: Duration) {
        if let Some(bucket) = self.buckets.get(bucket(micros(latency))) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        if (self.recorded.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(WINDOW) {
            self.update_delay();
        }
    }

    fn update_delay(&self) {
        let counts = self.buckets.each_ref().map(|bucket| bucket.load(Ordering::Relaxed));
        let wanted = (counts.iter().sum::<u64>() * u64::from(self.percentile)).div_ceil(100);
        let mut below = 0;
        let found = counts.iter().position(|count| {
            below += count;
            below >= wanted
        });
        let delay = found.map_or(micros(MAX_DELAY), |bucket| end(bucket as u64));
        self.delay.store(delay.clamp(micros(MIN_DELAY), micros(MAX_DELAY)), Ordering::Relaxed);
        for (bucket, count) in self.buckets.iter().zip(counts) {
            bucket.fetch_sub(count.div_ceil(2), Ordering::Relaxed);
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// The bucket of a number: its power of two, then its next two bits.
fn bucket(micros: u64) -> usize {
    // Four is the first number with two bits after the leading one.
    let micros = micros.clamp(SUBDIVISIONS, u64::from(u32::MAX));
    let power = u64::from(micros.ilog2());
    let within = (micros >> (power - 2)) - SUBDIVISIONS;
    usize::try_from(power * SUBDIVISIONS + within).unwrap_or(BUCKETS)
}

/// The first number above a bucket.
fn end(bucket: u64) -> u64 {
    let (power, within) = (bucket / SUBDIVISIONS, bucket % SUBDIVISIONS);
    (SUBDIVISIONS + within + 1) << power.saturating_sub(2)
}

#[derive(Debug)]
struct ByPercentile(Arc<Latencies>);

impl SpeculativeExecutionPolicy for ByPercentile {
    fn max_retry_count(&self, _: &Context) -> usize {
        1
    }

    fn retry_interval(&self, _: &Context) -> Duration {
        Duration::from_micros(self.0.delay.load(Ordering::Relaxed))
    }
}

impl Speculation {
    /// The driver's policy, and the latencies that it needs.
    pub(super) fn policy(self) -> (Option<Arc<dyn SpeculativeExecutionPolicy>>, Option<Arc<Latencies>>) {
        match self {
            Speculation::Off => (None, None),
            Speculation::After(retry_interval) => (
                Some(Arc::new(SimpleSpeculativeExecutionPolicy { max_retry_count: 1, retry_interval })),
                None,
            ),
            Speculation::Percentile(percentile) => {
                let latencies = Arc::new(Latencies::new(percentile));
                (Some(Arc::new(ByPercentile(Arc::clone(&latencies)))), Some(latencies))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delay_after(latencies: &Latencies, millis: impl Iterator<Item = u64>) -> u64 {
        millis.for_each(|millis| latencies.record(Duration::from_millis(millis)));
        latencies.delay.load(Ordering::Relaxed) / 1_000
    }

    #[test]
    fn the_delay_follows_the_percentile_within_its_limits() {
        let latencies = Latencies::new(99);
        assert_eq!(delay_after(&latencies, std::iter::empty()), 500, "nothing is measured yet");
        let of_a_hundred = |slow: u64| (0..WINDOW).map(move |n| if n % 100 < slow { 300 } else { 20 });
        let delay = delay_after(&latencies, of_a_hundred(0));
        assert!((20..=25).contains(&delay), "{delay}");
        let delay = delay_after(&latencies, of_a_hundred(4));
        assert!((300..=375).contains(&delay), "{delay}");
        let delay = delay_after(&latencies, (0..WINDOW * 4).map(|_| 20));
        assert!((20..=25).contains(&delay), "slow statements are forgotten: {delay}");
        assert_eq!(delay_after(&latencies, (0..WINDOW * 8).map(|_| 0)), 5);
        assert_eq!(delay_after(&latencies, (0..WINDOW * 8).map(|_| 10_000)), 500);
    }

    #[test]
    fn a_bucket_ends_above_its_numbers_by_a_quarter_at_most() {
        for micros in [4, 5, 7, 8, 9, 1_000, 1_023, 1_024, 20_000, 10_000_000, u64::from(u32::MAX)] {
            let end = end(bucket(micros) as u64);
            assert!(micros < end && end <= micros + micros / 4 + 1, "{micros} {end}");
            assert!(bucket(micros) < BUCKETS);
        }
        assert!(bucket(0) < BUCKETS && bucket(u64::MAX) < BUCKETS);
    }
}

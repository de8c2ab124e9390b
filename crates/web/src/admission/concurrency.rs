//! The limit of requests in flight of one kind.
//!
//! The limit is what Little's law needs: the rate at which these requests end, times the time that they take while few are
//! in flight, and as much again for those that wait; at least the allowed length of a queue. So the time doubles at most,
//! or the queue is short. The rate is that of the store, so the limit does not grow with the load.

use super::{RECOVERY, TOLERANCE};
use std::time::Duration;

/// The interval in which the rate is measured, and the weight of a new one that is higher or lower.
const WINDOW: Duration = Duration::from_millis(50);
const HIGHER_WEIGHT: f64 = 0.5;
const LOWER_WEIGHT: f64 = 0.1;
/// The weight of a new time.
const TIME_WEIGHT: f64 = 0.05;
/// How much the time may grow by waiting.
const GROWTH: f64 = 2.0;
/// For how many such times the limit must have been reached before a request is refused: the rate is known only after the
/// first requests have ended.
const TIMES_TOLERATED: f64 = 4.0;

/// A request in flight.
pub(super) struct Begun {
    at: Duration,
    /// Whether few others were in flight.
    few: bool,
}

/// The requests in flight of one kind, and what is known of them.
pub(super) struct Concurrency {
    lowest: u32,
    in_flight: u32,
    /// Seconds that a request takes while few are in flight.
    unloaded: Option<f64>,
    /// Whether few were in flight from begin to end of the requests that took this time.
    is_certain: bool,
    /// Requests that end per second.
    rate: f64,
    window: Duration,
    ended: u32,
    /// Since when the limit has been reached by every request that began.
    full: Option<Duration>,
    /// When a request was refused last, while the limit is enforced.
    refused: Option<Duration>,
}

impl Concurrency {
    pub(super) fn new(lowest: u32) -> Concurrency {
        Concurrency {
            lowest,
            in_flight: 0,
            unloaded: None,
            is_certain: false,
            rate: 0.0,
            window: Duration::ZERO,
            ended: 0,
            full: None,
            refused: None,
        }
    }

    /// A request begins. `None`: it is refused.
    pub(super) fn begin(&mut self, now: Duration) -> Option<Begun> {
        self.measure(now);
        if self.refused.is_some_and(|last| now.saturating_sub(last) >= RECOVERY) {
            self.refused = None;
        }
        if f64::from(self.in_flight) < self.limit() {
            self.full = None;
        } else {
            let since = *self.full.get_or_insert(now);
            if self.refused.is_some() || now.saturating_sub(since) >= self.tolerance() {
                self.refused = Some(now);
                return None;
            }
        }
        Some(self.resume(now))
    }

    /// A request counts, also above the limit.
    pub(super) fn resume(&mut self, now: Duration) -> Begun {
        self.in_flight += 1;
        Begun { at: now, few: self.are_few() }
    }

    fn are_few(&self) -> bool {
        self.in_flight <= (self.lowest / 4).max(1)
    }

    /// A request has ended with its response.
    pub(super) fn end(&mut self, begun: Begun, now: Duration) {
        self.measure(now);
        let few = self.are_few();
        self.leave();
        self.ended += 1;
        // The first requests of a crowd begin while few are in flight, and wait with it. They count only until something
        // better is known: a process that starts under load may never have few.
        if begun.few && (few || !self.is_certain) {
            let took = now.saturating_sub(begun.at).as_secs_f64();
            let known = self.unloaded.filter(|_| few == self.is_certain).unwrap_or(took);
            self.unloaded = Some(known + (took - known) * TIME_WEIGHT);
            self.is_certain = few;
        }
    }

    /// A request no longer counts.
    pub(super) fn leave(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// How long the limit must have been reached before a request is refused.
    fn tolerance(&self) -> Duration {
        let times = self.unloaded.map(|seconds| TOLERANCE.as_secs_f64() + TIMES_TOLERATED * seconds);
        times.map_or(RECOVERY, |seconds| Duration::from_secs_f64(seconds.min(RECOVERY.as_secs_f64())))
    }

    fn limit(&self) -> f64 {
        f64::from(self.lowest).max(GROWTH * self.rate * self.unloaded.unwrap_or(0.0))
    }

    fn measure(&mut self, now: Duration) {
        let window = now.saturating_sub(self.window);
        if window >= WINDOW {
            let rate = f64::from(std::mem::take(&mut self.ended)) / window.as_secs_f64();
            let weight = if rate > self.rate { HIGHER_WEIGHT } else { LOWER_WEIGHT };
            self.rate += (rate - self.rate) * weight;
            self.window = now;
        }
    }

    #[cfg(test)]
    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BinaryHeap, VecDeque};

    const LOWEST: u32 = 64;

    /// A store that serves so many requests at a time, each in this time.
    struct Store {
        concurrency: Concurrency,
        parallel: usize,
        takes: Duration,
        /// When the places become free, as negative microseconds.
        free: BinaryHeap<i64>,
        /// Those in the store in the order in which they end: their end, their begin.
        running: VecDeque<(Duration, Duration, Begun)>,
    }

    impl Store {
        fn new(parallel: usize, takes: Duration) -> Store {
            let (concurrency, free) = (Concurrency::new(LOWEST), (0..parallel).map(|_| 0).collect());
            Store { concurrency, parallel, takes, free, running: VecDeque::new() }
        }

        /// Offers requests at this rate for this time. Returns the answered ones, the refused ones and all times.
        fn offer(&mut self, from: Duration, seconds: f64, rate: f64) -> (usize, usize, Vec<Duration>) {
            let (mut refused, mut times) = (0, Vec::new());
            for number in 0..(seconds * rate) as u32 {
                let now = from + Duration::from_secs_f64(f64::from(number) / rate);
                while let Some((ends, began, begun)) = self.running.pop_front_if(|(ends, ..)| *ends <= now) {
                    times.push(ends.saturating_sub(began));
                    self.concurrency.end(begun, ends);
                }
                let Some(begun) = self.concurrency.begin(now) else {
                    refused += 1;
                    continue;
                };
                let free = Duration::from_micros(self.free.pop().unwrap().unsigned_abs());
                let ends = free.max(now) + self.takes;
                self.free.push(-i64::try_from(ends.as_micros()).unwrap());
                self.running.push_back((ends, now, begun));
            }
            (times.len(), refused, times)
        }

        fn capacity(&self) -> f64 {
            self.parallel as f64 / self.takes.as_secs_f64()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Below its capacity a store refuses nothing, at twice its capacity it is kept busy, the time stays bounded, and
        /// afterwards nothing is refused.
        #[test]
        fn a_store_is_kept_busy(parallel in 1..300_usize, millis in 1..100_u64) {
            let mut store = Store::new(parallel, Duration::from_millis(millis));
            let capacity = store.capacity();
            prop_assume!(capacity < 20_000.0 && capacity > 50.0);
            let (_, refused, _) = store.offer(Duration::ZERO, 5.0, capacity * 0.8);
            prop_assert_eq!(refused, 0);
            store.offer(Duration::from_secs(5), 5.0, capacity * 2.0);
            let (answered, _, mut times) = store.offer(Duration::from_secs(10), 5.0, capacity * 2.0);
            prop_assert!(answered as f64 >= capacity * 5.0 * 0.9, "{answered} at {capacity}");
            times.sort();
            let most = times[times.len() * 99 / 100].as_secs_f64();
            let allowed = (f64::from(LOWEST) / capacity).max(store.takes.as_secs_f64() * 2.2);
            prop_assert!(most <= allowed * 1.3 + 0.002, "{most} of {allowed}");
            store.offer(Duration::from_secs(15), 3.0, capacity * 0.5);
            let (_, refused, _) = store.offer(Duration::from_secs(18), 2.0, capacity * 0.8);
            prop_assert_eq!(refused, 0);
        }

        /// However slow the store is: fewer requests than the allowed length are never refused.
        #[test]
        fn few_requests_are_never_refused(ends in prop::collection::vec((any::<bool>(), 0..60_000_u64), 1..500)) {
            let (mut concurrency, mut now, mut held) = (Concurrency::new(LOWEST), Duration::ZERO, Vec::new());
            for (end, millis) in ends {
                now += Duration::from_millis(millis);
                if (end || held.len() >= LOWEST as usize) && let Some(begun) = held.pop() {
                    concurrency.end(begun, now);
                }
                let begun = concurrency.begin(now);
                prop_assert!(begun.is_some());
                held.extend(begun);
                if held.len() >= LOWEST as usize {
                    concurrency.end(held.remove(0), now);
                }
            }
        }
    }

    #[test]
    fn the_first_requests_of_a_crowd_do_not_raise_the_limit() {
        let mut concurrency = Concurrency::new(LOWEST);
        let mut now = Duration::ZERO;
        for _ in 0..100 {
            let begun = concurrency.begin(now).unwrap();
            now += Duration::from_millis(50);
            concurrency.end(begun, now);
        }
        // A store that serves 100 requests/s at any load: 200 clients wait for two seconds.
        let mut crowd: VecDeque<_> = (0..200).filter_map(|_| concurrency.begin(now)).collect();
        let mut refused = 0;
        for _ in 0..500 {
            now += Duration::from_millis(10);
            concurrency.end(crowd.pop_front().unwrap(), now);
            match concurrency.begin(now) {
                Some(begun) => crowd.push_back(begun),
                None => refused += 1,
            }
        }
        assert!(crowd.len() <= LOWEST as usize, "{} in flight, {refused} refused", crowd.len());
    }

    #[test]
    fn a_burst_is_served_and_a_standing_queue_is_not() {
        let mut concurrency = Concurrency::new(LOWEST);
        let burst: Vec<_> = (0..1_000).filter_map(|_| concurrency.begin(Duration::from_millis(5))).collect();
        assert_eq!(burst.len(), 1_000);
        assert!(concurrency.begin(Duration::from_millis(900)).is_some());
        assert!(concurrency.begin(Duration::from_millis(1_100)).is_none());
        burst.into_iter().for_each(|begun| concurrency.end(begun, Duration::from_millis(1_200)));
        assert!(concurrency.begin(Duration::from_millis(1_201)).is_some());
    }
}

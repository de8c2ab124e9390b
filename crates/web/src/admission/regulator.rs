//! Regulates the rate of requests of each address, so that the run queue keeps its allowed length.
//!
//! A PI controller, as in PIE (RFC 8033), on the logarithm of the rate: the difference from the allowed length, and its
//! change, raise or lower the rate. Nothing is known of the capacity, which depends on the requests and on the host.

use super::{RECOVERY, TOLERANCE};
use std::time::Duration;

/// The weights of the difference and of its change. `the_queue_keeps_its_length` shows that they fit fast and slow servers.
const INTEGRAL: f64 = 0.1;
const PROPORTIONAL: f64 = 0.5;
/// The maximum difference, in allowed lengths.
const MAX_EXCESS: f64 = 4.0;
/// The minimum of samples after which a request is refused.
const MIN_SAMPLES: u32 = 3;
/// The lowest rate: a part of the highest rate of an address, and requests per second.
const LOWEST_SHARE: f64 = 0.02;
const LOWEST_RATE: f64 = 0.1;

/// A sample of the run queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueSample {
    /// When the task gave up its turn.
    pub(super) began: Duration,
    /// When it had its turn again.
    pub(super) ended: Duration,
    /// The number of requests that began in between.
    pub(super) queued: u64,
}

/// The state of the controller.
pub(super) struct Regulator {
    limit: f64,
    /// Since when, and for how many samples, the queue has been too long.
    long: Option<(Duration, u32)>,
    regulation: Option<Regulation>,
}

/// Requests are refused.
#[derive(Clone, Copy)]
struct Regulation {
    /// The requests per second that an address may send.
    rate: f64,
    excess: f64,
    /// Since when the rate has been above that of every address.
    idle: Option<Duration>,
}

impl Regulator {
    pub(super) fn new(limit: u32) -> Regulator {
        Regulator { limit: f64::from(limit.max(1)), long: None, regulation: None }
    }

    /// Takes a sample. Returns the requests per second that an address may send; `None`: any number. `highest` is the
    /// rate of the address that sends the most.
    pub(super) fn sample(&mut self, sample: QueueSample, highest: f64) -> Option<f64> {
        let queued = sample.queued as f64;
        let excess = ((queued - self.limit) / self.limit).min(MAX_EXCESS);
        self.regulation = match self.regulation {
            None => {
                self.stays_long(sample, queued).then_some(Regulation { rate: highest, excess, idle: None })
            }
            Some(Regulation { rate, excess: before, idle }) => {
                let lower = INTEGRAL * excess + PROPORTIONAL * (excess - before);
                let lowest = (highest * LOWEST_SHARE).max(LOWEST_RATE);
                let rate = (rate * (-lower).exp()).clamp(lowest, highest.max(lowest));
                let idle = (rate >= highest).then(|| idle.unwrap_or(sample.ended));
                let over = idle.is_some_and(|since| sample.ended.saturating_sub(since) >= RECOVERY);
                (!over).then_some(Regulation { rate, excess, idle })
            }
        };
        self.regulation.map(|regulation| regulation.rate)
    }

    /// Whether the queue has been too long in all samples for a while.
    fn stays_long(&mut self, sample: QueueSample, queued: f64) -> bool {
        if queued <= self.limit {
            self.long = None;
            return false;
        }
        let (since, samples) = self.long.unwrap_or((sample.began, 0));
        self.long = Some((since, samples + 1));
        let stays = samples + 1 >= MIN_SAMPLES && sample.ended.saturating_sub(since) >= TOLERANCE;
        if stays {
            self.long = None;
        }
        stays
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMIT: u32 = 64;

    /// A server with this capacity in requests per second, in which a refusal costs a part of an answer.
    struct Server {
        capacity: f64,
        refusal: f64,
        connections: f64,
        regulator: Regulator,
        now: f64,
        queue: f64,
        rate: Option<f64>,
    }

    impl Server {
        fn new(capacity: f64, refusal: f64) -> Server {
            let regulator = Regulator::new(LIMIT);
            Server { capacity, refusal, connections: 2_000.0, regulator, now: 0.0, queue: 0.0, rate: None }
        }

        /// Offers this load until the next sample. Returns the answers and the seconds.
        fn step(&mut self, offered: f64, noise: f64) -> (f64, f64) {
            let admitted = self.rate.map_or(1.0, |rate| (rate / offered).min(1.0));
            let cost = (admitted + (1.0 - admitted) * self.refusal) / self.capacity;
            let wait = self.queue * cost;
            let seconds = 0.005 + wait;
            let arrived = self.queue + offered * seconds;
            let served = arrived.min(seconds / cost);
            self.queue = (arrived - served).min(self.connections);
            let began = Duration::from_secs_f64(self.now + 0.005);
            self.now += seconds;
            let queued = (self.queue * noise) as u64;
            let sample = QueueSample { began, ended: Duration::from_secs_f64(self.now), queued };
            self.rate = self.regulator.sample(sample, offered);
            (served * admitted, seconds)
        }
    }

    proptest! {
        /// With twice the load that the server can serve, it answers as many as its refusals leave it time for, and the
        /// queue stays near its allowed length. When the load ends, nothing is refused soon after.
        #[test]
        fn the_queue_keeps_its_length(
            capacity in 300.0..20_000_f64,
            refusal in 0.02..0.3_f64,
            noise in prop::collection::vec(0.7..1.3_f64, 64),
        ) {
            let (mut server, mut noise) = (Server::new(capacity, refusal), noise.into_iter().cycle());
            let (mut answers, mut seconds, mut queues) = (0.0, 0.0, Vec::new());
            while server.now < 40.0 {
                let (answered, took) = server.step(capacity * 2.0, noise.next().unwrap());
                // Slow servers take up to 17 seconds to work off the queue of the start.
                if server.now > 20.0 {
                    answers += answered;
                    seconds += took;
                    queues.push(server.queue);
                }
            }
            let possible = (1.0 - 2.0 * refusal) / (1.0 - refusal);
            let share = answers / seconds / capacity;
            prop_assert!(share >= possible * 0.95, "{share} of {possible}");
            queues.sort_by(f64::total_cmp);
            let most = queues[queues.len() * 95 / 100];
            prop_assert!(most <= f64::from(LIMIT) * 4.0, "{most}");
            let ended = server.now;
            while server.rate.is_some() {
                server.step(capacity * 0.5, 1.0);
                prop_assert!(server.now < ended + 3.0, "it recovers");
            }
        }

        /// However slow the host is: a queue that was short at least once in a while is no reason to refuse.
        #[test]
        fn a_short_queue_is_never_a_reason(
            samples in prop::collection::vec((0..=u64::from(LIMIT), 1..5_000_u64), 1..200),
        ) {
            let (mut regulator, mut now) = (Regulator::new(LIMIT), Duration::ZERO);
            for (queued, millis) in samples {
                let began = now;
                now += Duration::from_millis(millis);
                prop_assert_eq!(regulator.sample(QueueSample { began, ended: now, queued }, 1_000.0), None);
            }
        }

        /// The rate stays between the highest rate of an address and a part of it, with any samples.
        #[test]
        fn the_rate_is_bounded(
            samples in prop::collection::vec((any::<u64>(), 0..1_000_u64, 0.0..1e9_f64), 1..300),
        ) {
            let (mut regulator, mut now) = (Regulator::new(LIMIT), Duration::ZERO);
            for (queued, millis, highest) in samples {
                let began = now;
                now += Duration::from_millis(millis);
                let rate = regulator.sample(QueueSample { began, ended: now, queued }, highest);
                prop_assert!(rate.is_none_or(|rate| rate.is_finite() && rate <= highest.max(LOWEST_RATE)));
                prop_assert!(rate.is_none_or(|rate| rate >= highest * LOWEST_SHARE));
            }
        }
    }

    #[test]
    fn a_burst_is_served() {
        let mut regulator = Regulator::new(LIMIT);
        for tick in 0..100_u64 {
            let (began, ended) = (Duration::from_millis(tick * 20), Duration::from_millis(tick * 20 + 10));
            let queued = if tick % 5 == 0 { 0 } else { 1_000 };
            assert_eq!(regulator.sample(QueueSample { began, ended, queued }, 1_000.0), None, "{tick}");
        }
    }
}

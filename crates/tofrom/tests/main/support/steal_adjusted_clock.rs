//! Elapsed time without the CPU time that the host gave to other machines (`steal`): a limit of five seconds is about
//! the service, not about its neighbours.

use std::fmt::Debug;
use std::time::{Duration, Instant};

/// Poll interval.
const PAUSE: Duration = Duration::from_millis(50);

const TICKS_PER_SECOND: f64 = 100.0;

#[derive(Clone, Copy)]
pub(crate) struct StealAdjustedClock {
    began: Instant,
    stolen_time: Duration,
}

impl StealAdjustedClock {
    pub(crate) fn now() -> StealAdjustedClock {
        StealAdjustedClock { began: Instant::now(), stolen_time: stolen_time() }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed().saturating_sub(stolen_time().saturating_sub(self.stolen_time))
    }
}

/// Polls until the value equals `expected`, for at most `within`.
pub(crate) fn becomes<T: PartialEq + Debug>(within: Duration, expected: T, probe: impl FnMut() -> T) {
    let value = wait_for(within, probe, |value| *value == expected);
    assert_eq!(value, expected, "within {within:?}");
}

/// Polls until the value is enough, for at most `within`, and returns the last value.
pub(crate) fn wait_for<T>(within: Duration, mut probe: impl FnMut() -> T, enough: impl Fn(&T) -> bool) -> T {
    let started = StealAdjustedClock::now();
    let mut value = probe();
    while !enough(&value) && started.elapsed() < within {
        std::thread::sleep(PAUSE);
        value = probe();
    }
    value
}

/// Stolen time since boot, averaged over the processors; zero where it is unknown.
fn stolen_time() -> Duration {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    Duration::from_secs_f64(stolen(&stat) / TICKS_PER_SECOND / processors as f64)
}

/// Stolen ticks, of all processors together.
fn stolen(stat: &str) -> f64 {
    let all = stat.lines().next().and_then(|line| line.strip_prefix("cpu "));
    all.and_then(|ticks| ticks.split_whitespace().nth(7)?.parse().ok()).unwrap_or(0.0)
}

#[test]
fn stolen_time_does_not_count() {
    assert_eq!(stolen("cpu  10 20 30 40 50 60 70 80 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n"), 80.0);
    assert_eq!(stolen(""), 0.0);
    let since = StealAdjustedClock::now();
    std::thread::sleep(Duration::from_millis(20));
    assert!(since.elapsed() <= since.began.elapsed());
}

//! The retry schedule after failures.

use super::{CEILING, DAY, HOUR, MINUTE, at_most_a_day, part};
use crate::error::FetchError;

/// The decision after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Retry at this time.
    At(i64),
    /// Do not retry.
    Never,
}

/// The first delay.
const FIRST_DELAY: i64 = 5 * MINUTE;
/// The shortest delay.
const MIN_DELAY: i64 = MINUTE;
/// The first delay after a permanent error, which needs someone's action.
const FIRST_PERMANENT_DELAY: i64 = HOUR;
/// How long permanent errors are retried.
const PERMANENT_LIMIT: i64 = 14 * DAY;

/// The next attempt after this many consecutive failures, the last of which was `error`. `random` is from 0 to
/// 1.
///
/// Temporary errors are retried at a random time within a span that doubles from 5 minutes to a day, so that
/// sources do not retry together. `Retry-After` counts for at most a day: a server must not be able to stop a
/// source for ever. Permanent errors (404, 401, 403, a refused address) are retried for two weeks. Their delays
/// are almost regular, so that the number of failures determines the elapsed time.
#[must_use]
pub fn retry(failures: u32, error: &FetchError, now: i64, random: f64) -> Retry {
    let doublings = failures.saturating_sub(1).min(20);
    let wait = match error {
        FetchError::Gone => return Retry::Never,
        FetchError::NotFound | FetchError::NeedsSignIn(_) | FetchError::Refused(_) => {
            if elapsed_since_first(failures) >= PERMANENT_LIMIT {
                return Retry::Never;
            }
            part((FIRST_PERMANENT_DELAY << doublings).min(CEILING), 0.9 + 0.2 * random)
        }
        FetchError::Busy { retry_after: Some(wanted_delay) } => {
            let wanted_delay = at_most_a_day(Some(*wanted_delay)).max(MIN_DELAY);
            part(wanted_delay, 1.0 + 0.1 * random)
        }
        _ => part((FIRST_DELAY << doublings).min(CEILING), random).max(MIN_DELAY),
    };
    Retry::At(now.saturating_add(wait))
}

/// The approximate time since the first of this many failures, if the delays are almost regular.
fn elapsed_since_first(failures: u32) -> i64 {
    (1..failures.min(100)).map(|before| (FIRST_PERMANENT_DELAY << (before - 1).min(20)).min(CEILING)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn wait(failures: u32, kind: &FetchError, random: f64) -> i64 {
        match retry(failures, kind, 1_000, random) {
            Retry::At(at) => at - 1_000,
            Retry::Never => panic!("never"),
        }
    }

    #[test]
    fn the_span_doubles_up_to_a_day() {
        let failure = FetchError::TooSlow;
        for (failures, longest) in [(1, 5), (2, 10), (3, 20), (9, 1_280), (10, 1_440), (4_000_000_000, 1_440)]
        {
            assert_eq!(wait(failures, &failure, 1.0), longest * MINUTE);
            assert_eq!(wait(failures, &failure, 0.5), longest * MINUTE / 2);
            assert_eq!(wait(failures, &failure, 0.0), MINUTE);
        }
        assert_eq!(wait(0, &failure, 1.0), 5 * MINUTE);
    }

    #[test]
    fn retry_after_is_respected_up_to_a_day() {
        let busy = |seconds| FetchError::Busy { retry_after: Some(Duration::from_secs(seconds)) };
        assert_eq!(wait(1, &busy(600), 0.0), 10 * MINUTE);
        assert_eq!(wait(1, &busy(600), 1.0), 11 * MINUTE);
        assert_eq!(wait(1, &busy(0), 0.0), MINUTE);
        for forever in [315_360_000, u64::MAX] {
            assert_eq!(wait(1, &busy(forever), 0.0), DAY);
        }
        assert_eq!(wait(3, &FetchError::Busy { retry_after: None }, 1.0), 20 * MINUTE);
    }

    #[test]
    fn gone_ends_immediately_and_permanent_errors_after_two_weeks() {
        assert_eq!(retry(1, &FetchError::Gone, 0, 0.5), Retry::Never);
        for random in [0.0, 0.5, 1.0] {
            for error in [FetchError::NotFound, FetchError::NeedsSignIn(403)] {
                let (mut now, mut failures) = (0, 1);
                while let Retry::At(at) = retry(failures, &error, now, random) {
                    assert!(at > now && at - now <= 27 * HOUR);
                    (now, failures) = (at, failures + 1);
                }
                assert!((12 * DAY..=17 * DAY).contains(&now), "over after {} h", now / HOUR);
            }
        }
        assert_eq!(retry(u32::MAX, &FetchError::NotFound, 0, 0.5), Retry::Never);
    }
}

//! When to come again after a failure.

use super::{CEILING, DAY, HOUR, MINUTE, at_most_a_day, part};
use crate::failure::Failure;

/// When to come again after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// Then.
    At(i64),
    /// It is over.
    Never,
}

/// The first wait.
const FIRST: i64 = 5 * MINUTE;
/// What nobody gets around.
const LEAST: i64 = MINUTE;
/// The first wait after an answer that somebody has to do something about.
const FIRST_OF_NO: i64 = HOUR;
/// How long such an answer is borne.
const BORNE: i64 = 14 * DAY;

/// When to come again after so many failures in a row, the last of which was `kind`. `random` is from 0 to 1.
///
/// A server that fails is asked again at a random time within a span that doubles from 5 minutes to a day, so that not
/// all come back at once. Retry-After counts for a day at most: a server must not be able to stop a source for ever.
/// After a plain no (404, 401, 403, an address that is refused) it is a matter of two weeks; there the waits are almost
/// regular, so that the number of failures tells how long it has been.
#[must_use]
pub fn again(failures: u32, kind: &Failure, now: i64, random: f64) -> Again {
    let doublings = failures.saturating_sub(1).min(20);
    let wait = match kind {
        Failure::Gone => return Again::Never,
        Failure::NotFound | Failure::NeedsSignIn(_) | Failure::Refused(_) => {
            if borne_so_far(failures) >= BORNE {
                return Again::Never;
            }
            part((FIRST_OF_NO << doublings).min(CEILING), 0.9 + 0.2 * random)
        }
        Failure::Busy { retry_after: Some(told) } => {
            let told = at_most_a_day(Some(*told)).max(LEAST);
            part(told, 1.0 + 0.1 * random)
        }
        _ => part((FIRST << doublings).min(CEILING), random).max(LEAST),
    };
    Again::At(now.saturating_add(wait))
}

/// About how long ago the first of so many failures was, where the waits are almost regular.
fn borne_so_far(failures: u32) -> i64 {
    (1..failures.min(100)).map(|before| (FIRST_OF_NO << (before - 1).min(20)).min(CEILING)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn wait(failures: u32, kind: &Failure, random: f64) -> i64 {
        match again(failures, kind, 1_000, random) {
            Again::At(at) => at - 1_000,
            Again::Never => panic!("never"),
        }
    }

    #[test]
    fn the_span_doubles_up_to_a_day_and_is_used_in_full() {
        let failure = Failure::TooSlow;
        for (failures, longest) in [(1, 5), (2, 10), (3, 20), (9, 1_280), (10, 1_440), (4_000_000_000, 1_440)]
        {
            assert_eq!(wait(failures, &failure, 1.0), longest * MINUTE);
            assert_eq!(wait(failures, &failure, 0.5), longest * MINUTE / 2);
            assert_eq!(wait(failures, &failure, 0.0), MINUTE);
        }
        assert_eq!(wait(0, &failure, 1.0), 5 * MINUTE);
    }

    #[test]
    fn a_busy_server_gets_the_time_that_it_asks_for_and_no_more_than_a_day() {
        let busy = |seconds| Failure::Busy { retry_after: Some(Duration::from_secs(seconds)) };
        assert_eq!(wait(1, &busy(600), 0.0), 10 * MINUTE);
        assert_eq!(wait(1, &busy(600), 1.0), 11 * MINUTE);
        assert_eq!(wait(1, &busy(0), 0.0), MINUTE);
        for forever in [315_360_000, u64::MAX] {
            assert_eq!(wait(1, &busy(forever), 0.0), DAY);
        }
        assert_eq!(wait(3, &Failure::Busy { retry_after: None }, 1.0), 20 * MINUTE);
    }

    #[test]
    fn what_is_gone_is_over_and_a_plain_no_is_after_two_weeks() {
        assert_eq!(again(1, &Failure::Gone, 0, 0.5), Again::Never);
        for random in [0.0, 0.5, 1.0] {
            for no in [Failure::NotFound, Failure::NeedsSignIn(403)] {
                let (mut now, mut failures) = (0, 1);
                while let Again::At(at) = again(failures, &no, now, random) {
                    assert!(at > now && at - now <= 27 * HOUR);
                    (now, failures) = (at, failures + 1);
                }
                assert!((12 * DAY..=17 * DAY).contains(&now), "over after {} h", now / HOUR);
            }
        }
        assert_eq!(again(u32::MAX, &Failure::NotFound, 0, 0.5), Again::Never);
    }
}

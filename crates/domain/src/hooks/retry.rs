//! When a failed delivery is tried again.

use model::Millis;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// The pauses after the first failures in a row; the last one repeats.
const PAUSES: [i64; 6] = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR];
/// A hook that fails for this long is disabled.
const MAX_FAILING: i64 = 72 * HOUR;

/// The time of the next attempt after `failures` in a row. `random` from 0 to 1 lengthens the pause by up to a fifth, so
/// that hooks that failed together do not return together.
pub(super) fn next_try(failures: u32, now: Millis, random: f64) -> Millis {
    let at = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX).min(PAUSES.len() - 1);
    let pause = PAUSES.get(at).copied().unwrap_or(HOUR);
    #[expect(clippy::cast_possible_truncation, reason = "a fifth of ten hours fits")]
    let jitter = (pause as f64 / 5.0 * random.clamp(0.0, 1.0)) as i64;
    Millis(now.0.saturating_add(pause + jitter))
}

/// Whether a hook has failed for too long.
pub(super) fn is_given_up(failing_since: Millis, now: Millis) -> bool {
    now.0.saturating_sub(failing_since.0) >= MAX_FAILING
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_ten_hours() {
        let pause = |failures, random| next_try(failures, Millis(1_000), random).0 - 1_000;
        assert_eq!((pause(1, 0.0), pause(1, 1.0)), (5_000, 6_000));
        assert_eq!((pause(2, 0.0), pause(3, 0.0)), (300_000, 1_800_000));
        assert_eq!(pause(6, 0.0), pause(1_000, 0.0));
        assert!((1..20).all(|failures| pause(failures, 0.5) <= pause(failures + 1, 0.5)));
    }

    #[test]
    fn a_hook_is_given_up_after_three_days() {
        let days = |days: i64| Millis(days * 24 * HOUR);
        assert!(!is_given_up(days(1), Millis(days(4).0 - 1)));
        assert!(is_given_up(days(1), days(4)));
    }
}

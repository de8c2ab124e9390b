//! Durations in settings and flags: `90d`.

use std::time::Duration;

/// The text is not a duration. Displays the expected form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a whole number above 0 and a unit (s, m, h, d or w), like 90d")]
pub struct InvalidAge;

/// Parses a whole number above 0 and a unit: `45s`, `30m`, `12h`, `90d` or `2w`.
pub fn parse_age(text: &str) -> Result<Duration, InvalidAge> {
    let parse = || {
        let unit = text.chars().last()?;
        let number: u64 = text.strip_suffix(unit)?.parse().ok().filter(|number| *number > 0)?;
        let seconds = match unit {
            's' => 1,
            'm' => 60,
            'h' => 60 * 60,
            'd' => 24 * 60 * 60,
            'w' => 7 * 24 * 60 * 60,
            _ => return None,
        };
        // Longer than the range of timestamps, so that additions cannot overflow.
        const TOO_LONG: u64 = 10_000 * 366 * 24 * 60 * 60;
        number.checked_mul(seconds).filter(|seconds| *seconds < TOO_LONG).map(Duration::from_secs)
    };
    parse().ok_or(InvalidAge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_number_and_a_unit() {
        for (text, seconds) in
            [("1s", 1), ("30m", 1_800), ("12h", 43_200), ("90d", 7_776_000), ("2w", 1_209_600)]
        {
            assert_eq!(parse_age(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for wrong in
            ["", "d", "90", "0d", "-1d", "1.5d", "90 d", "90D", "1y", "99999999999999999999d", "9999999999w"]
        {
            assert!(parse_age(wrong).is_err(), "{wrong}");
        }
    }
}

//! Lengths of time as people write them: `90d`.

use std::time::Duration;

/// The text is no length of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no length of time; right would be a number and s, m, h, d or w, like 90d")]
pub struct InvalidAge(String);

/// Reads a whole number and a unit: `45s`, `30m`, `12h`, `90d` or `2w`. Nothing is not a length of time.
pub fn parse_age(text: &str) -> Result<Duration, InvalidAge> {
    let read = || {
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
        // Further than times go, so that adding it to one can't overflow.
        const TOO_LONG: u64 = 10_000 * 366 * 24 * 60 * 60;
        number.checked_mul(seconds).filter(|seconds| *seconds < TOO_LONG).map(Duration::from_secs)
    };
    read().ok_or_else(|| InvalidAge(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages() {
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

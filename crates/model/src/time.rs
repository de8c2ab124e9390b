//! Times: whole milliseconds since 1970 in UTC, everywhere: in keys, in cursors and in responses.

use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::time::Duration;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// An instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub i64);

/// The reason why a text is not a timestamp, and what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTime {
    /// It does not have the form of a timestamp.
    #[error("expected an ISO 8601 date and time with an offset, like 2026-11-14T22:44:03.123Z")]
    Shape,
    /// The offset is missing. A guess would often be wrong.
    #[error("the offset is missing: add Z for UTC, or one like +02:00 (write + as %2B)")]
    NoOffset,
    /// The form is right, but there is no such date or time.
    #[error("no such date or time; expected one like 2026-11-14T22:44:03.123Z")]
    NoSuchMoment,
}

impl Millis {
    /// The first moment of the year 1.
    pub const MIN: Millis = Millis(-62_135_596_800_000);
    /// The last millisecond of the year 9999.
    pub const MAX: Millis = Millis(253_402_300_799_999);

    /// A later instant; [`Millis::MAX`] at most.
    #[must_use]
    pub fn later(self, by: Duration) -> Millis {
        let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        Millis(self.0.saturating_add(by)).min(Millis::MAX)
    }

    /// Parses an ISO 8601 date-time with offset: `Z`, `+hh:mm`, `+hhmm` or `+hh`. A space instead of the `+` is
    /// accepted, because form decoding turns `+` into a space. A fraction is truncated to milliseconds.
    pub fn parse(text: &str) -> Result<Millis, InvalidTime> {
        let mut rest = TextReader(text.as_bytes());
        let (year, month, day) = (|| {
            let year = rest.number(4)?;
            rest.one_of(b"-")?;
            let month = rest.number(2)?;
            rest.one_of(b"-")?;
            Some((year, month, rest.number(2)?))
        })()
        .ok_or(InvalidTime::Shape)?;
        let (hour, minute, second) = (|| {
            rest.one_of(b"Tt")?;
            let hour = rest.number(2)?;
            rest.one_of(b":")?;
            let minute = rest.number(2)?;
            rest.one_of(b":")?;
            Some((hour, minute, rest.number(2)?))
        })()
        .ok_or(InvalidTime::Shape)?;
        let millis =
            if rest.one_of(b".,").is_some() { rest.fraction().ok_or(InvalidTime::Shape)? } else { 0 };
        if rest.0.is_empty() {
            return Err(InvalidTime::NoOffset);
        }
        let offset = rest.offset().filter(|_| rest.0.is_empty()).ok_or(InvalidTime::Shape)?;
        let possible = (1..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day)
            && hour <= 23
            && minute <= 59
            && second <= 60;
        if !possible {
            return Err(InvalidTime::NoSuchMoment);
        }
        let offset = offset.ok_or(InvalidTime::NoSuchMoment)?;
        // A leap second becomes the last second of its minute.
        let second = second.min(59);
        let local = days_from_civil(year, month, day) * DAY
            + hour * HOUR
            + minute * MINUTE
            + second * SECOND
            + millis;
        let instant = Millis(local - offset);
        // The offset may lead outside the supported years.
        if (Millis::MIN..=Millis::MAX).contains(&instant) {
            Ok(instant)
        } else {
            Err(InvalidTime::NoSuchMoment)
        }
    }

    /// `2026-11-14T22:44:03.123+00:00`, for XML and JSON.
    pub fn with_offset(self) -> String {
        self.format("+00:00")
    }

    /// `2026-11-14T22:44:03.123Z`, for Atom and links.
    pub fn zulu(self) -> String {
        self.format("Z")
    }

    /// Year, month and day, in UTC.
    pub fn date(self) -> (i64, i64, i64) {
        civil_from_days(self.0.div_euclid(DAY))
    }

    /// `20261114T224403Z`, for file names.
    pub fn compact(self) -> String {
        let text = self.zulu();
        format!("{}Z", text.get(..19).unwrap_or(&text).replace(['-', ':'], ""))
    }

    fn format(self, suffix: &str) -> String {
        let (days, time_of_day) = (self.0.div_euclid(DAY), self.0.rem_euclid(DAY));
        let (year, month, day) = civil_from_days(days);
        let (hour, minute, second, millis) =
            (time_of_day / HOUR, time_of_day / MINUTE % 60, time_of_day / SECOND % 60, time_of_day % SECOND);
        let mut text = String::with_capacity(29);
        // Writing to a String can't fail.
        let _ = write!(
            text,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}{suffix}"
        );
        text
    }
}

/// A parser of a text from the front.
struct TextReader<'a>(&'a [u8]);

impl TextReader<'_> {
    fn one_of(&mut self, allowed: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        allowed.contains(first).then(|| {
            self.0 = rest;
            *first
        })
    }

    fn number(&mut self, digits: usize) -> Option<i64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        if !number.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.0 = rest;
        Some(number.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
    }

    /// At least one digit; the first three are used.
    fn fraction(&mut self) -> Option<i64> {
        let length = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        let digit = |at: usize| digits.get(at).map_or(0, |d| i64::from(d - b'0'));
        (length > 0).then(|| digit(0) * 100 + digit(1) * 10 + digit(2))
    }

    /// The offset in milliseconds. The inner `None`: the form is right, but the value is not.
    fn offset(&mut self) -> Option<Option<i64>> {
        let sign = self.one_of(b"Zz+- ")?;
        if matches!(sign, b'Z' | b'z') {
            return Some(Some(0));
        }
        let hours = self.number(2)?;
        let colon = self.one_of(b":").is_some();
        let minutes = match self.number(2) {
            Some(minutes) => minutes,
            None if colon => return None,
            None => 0,
        };
        let size = (hours <= 23 && minutes <= 59).then_some(hours * HOUR + minutes * MINUTE);
        Some(size.map(|size| if sign == b'-' { -size } else { size }))
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01. Years are counted from March, so that the leap day is the last of its year.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn valid_timestamps_are_parsed() {
        for (text, millis) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-11-14T22:44:03.123Z", 1_794_696_243_123),
            ("2026-11-14T22:44:03.123456789Z", 1_794_696_243_123),
            ("2026-11-14T22:44:03,1239z", 1_794_696_243_123),
            ("2026-11-15T00:44:03.123+02:00", 1_794_696_243_123),
            ("2026-11-15T00:44:03.123 02:00", 1_794_696_243_123),
            ("2026-11-15T00:44:03.123+0200", 1_794_696_243_123),
            ("2026-11-15t00:44:03.123+02", 1_794_696_243_123),
            ("2026-11-14T17:14:03.123-05:30", 1_794_696_243_123),
            ("2024-02-29T00:00:00Z", 1_709_164_800_000),
            ("2016-12-31T23:59:60Z", 1_483_228_799_000),
            ("0001-01-01T00:00:00Z", -62_135_596_800_000),
        ] {
            assert_eq!(Millis::parse(text), Ok(Millis(millis)), "{text}");
        }
    }

    #[test]
    fn invalid_timestamps_are_refused() {
        use InvalidTime::{NoOffset, NoSuchMoment, Shape};
        for (text, error) in [
            ("", Shape),
            ("yesterday", Shape),
            ("1700000000", Shape),
            ("2026-11-14", Shape),
            ("2026-11-14Z", Shape),
            ("2026-11-14T22:44:03.Z", Shape),
            ("2026-11-14T22:44:03+02:", Shape),
            ("2026-11-14T22:44:03ZZ", Shape),
            ("2026-11-14T22:44:03.123", NoOffset),
            ("2026-02-30T00:00:00Z", NoSuchMoment),
            ("2026-13-01T00:00:00Z", NoSuchMoment),
            ("2026-11-14T24:00:00Z", NoSuchMoment),
            ("2026-11-14T22:61:00Z", NoSuchMoment),
            ("2026-11-14T22:44:03+99:99", NoSuchMoment),
            ("0000-01-01T00:00:00Z", NoSuchMoment),
            ("0001-01-01T00:00:00+01:00", NoSuchMoment),
            ("-001-01-01T00:00:00Z", Shape),
        ] {
            assert_eq!(Millis::parse(text), Err(error), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_formatted_time_is_parsed_to_the_same_time(millis in Millis::MIN.0..=Millis::MAX.0) {
            prop_assert_eq!(Millis::parse(&Millis(millis).zulu()), Ok(Millis(millis)));
            prop_assert_eq!(Millis::parse(&Millis(millis).with_offset()), Ok(Millis(millis)));
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in ".{0,40}") {
            let _ = Millis::parse(&text);
        }
    }
}

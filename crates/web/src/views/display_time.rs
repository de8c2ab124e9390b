//! Times as shown to people.

use model::Millis;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const WEEK: i64 = 7 * DAY;
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// A time in the forms that a page needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisplayTime {
    /// `5 minutes ago`, or `3 November 2026` if it is more than a week ago.
    pub text: String,
    /// `3 November 2026, 12:30 UTC`.
    pub exact: String,
    /// For HTML's `datetime` attribute.
    pub machine: String,
}

impl DisplayTime {
    /// The time `at`, shown at the time `now`.
    pub fn new(at: Millis, now: Millis) -> DisplayTime {
        let machine = at.zulu();
        let (date, clock) = (date(&machine), machine.get(11..16).unwrap_or_default());
        let exact = format!("{date}, {clock} UTC");
        let text = ago(now.0.saturating_sub(at.0)).unwrap_or(date);
        DisplayTime { text, exact, machine }
    }
}

/// `5 minutes ago`; `None` for times in the future and more than a week ago.
fn ago(age: i64) -> Option<String> {
    // Clocks differ slightly, so a time may appear to be in the future.
    if age.abs() < MINUTE {
        return Some("just now".to_owned());
    }
    let (unit, length) = match age {
        MINUTE..HOUR => ("minute", MINUTE),
        HOUR..DAY => ("hour", HOUR),
        DAY..=WEEK => ("day", DAY),
        _ => return None,
    };
    let number = age / length;
    let plural = if number == 1 { "" } else { "s" };
    Some(format!("{number} {unit}{plural} ago"))
}

/// `3 November 2026` of `2026-11-03T…`.
fn date(machine: &str) -> String {
    let number =
        |range: std::ops::Range<usize>| machine.get(range).and_then(|digits| digits.parse::<usize>().ok());
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    let month = month.and_then(|month| MONTHS.get(month.checked_sub(1)?)).unwrap_or(&"");
    format!("{} {month} {}", day.unwrap_or_default(), year.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_times_are_relative() {
        let now = Millis::parse("2026-11-15T12:00:00Z").unwrap();
        for (at, text) in [
            ("2026-11-15T12:00:30Z", "just now"),
            ("2026-11-15T11:59:10Z", "just now"),
            ("2026-11-15T11:59:00Z", "1 minute ago"),
            ("2026-11-15T10:59:00Z", "1 hour ago"),
            ("2026-11-13T12:00:00Z", "2 days ago"),
            ("2026-11-03T12:00:00Z", "3 November 2026"),
            ("2027-01-01T00:00:00Z", "1 January 2027"),
        ] {
            assert_eq!(DisplayTime::new(Millis::parse(at).unwrap(), now).text, text, "{at}");
        }
        let exact = DisplayTime::new(Millis::parse("0033-04-03T15:00:00Z").unwrap(), now).exact;
        assert_eq!(exact, "3 April 33, 15:00 UTC");
    }
}

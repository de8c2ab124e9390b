//! Times as people say them.

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

/// A time, for the eye and for the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// `5 minutes ago`, or `3 November 2026` where that is longer ago than a week.
    pub said: String,
    /// `3 November 2026, 12:30 UTC`.
    pub exact: String,
    /// As HTML's `datetime` has it.
    pub machine: String,
}

impl Moment {
    /// A time, told at another.
    pub fn told(at: Millis, now: Millis) -> Moment {
        let machine = at.zulu();
        let (date, clock) = (date(&machine), machine.get(11..16).unwrap_or_default());
        let exact = format!("{date}, {clock} UTC");
        let said = ago(now.0.saturating_sub(at.0)).unwrap_or(date);
        Moment { said, exact, machine }
    }
}

/// Not for what is longer ago than a week, or still to come.
fn ago(age: i64) -> Option<String> {
    // Clocks differ a little.
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
    fn as_people_say_it() {
        let now = Millis::parse("2026-11-15T12:00:00Z").unwrap();
        for (at, said) in [
            ("2026-11-15T12:00:30Z", "just now"),
            ("2026-11-15T11:59:10Z", "just now"),
            ("2026-11-15T11:59:00Z", "1 minute ago"),
            ("2026-11-15T10:59:00Z", "1 hour ago"),
            ("2026-11-13T12:00:00Z", "2 days ago"),
            ("2026-11-03T12:00:00Z", "3 November 2026"),
            ("2027-01-01T00:00:00Z", "1 January 2027"),
        ] {
            assert_eq!(Moment::told(Millis::parse(at).unwrap(), now).said, said, "{at}");
        }
        let exact = Moment::told(Millis::parse("0033-04-03T15:00:00Z").unwrap(), now).exact;
        assert_eq!(exact, "3 April 33, 15:00 UTC");
    }
}

//! Times as shown to people. They are in UTC; the script changes them to the reader's time zone.

use model::Millis;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
pub(super) const DAY: i64 = 24 * HOUR;
/// Days after which a weekday would be ambiguous.
const WEEK: i64 = 7;
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
/// The weekdays, beginning with that of 1 January 1970.
const WEEKDAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// A time in the forms that a page needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisplayTime {
    /// `5 minutes ago`, `yesterday, 21:14`, `Saturday, 22:40` or `3 November`.
    pub text: String,
    /// `3 November`, with the year if it is not the current one.
    pub date: String,
    /// `3 November 2026, 12:30 UTC`.
    pub exact: String,
    /// For HTML's `datetime` attribute.
    pub machine: String,
}

impl DisplayTime {
    /// The time `at`, shown at the time `now`.
    pub fn new(at: Millis, now: Millis) -> DisplayTime {
        let machine = at.zulu();
        let clock = machine.get(11..16).unwrap_or_default();
        let (year, month, day) = at.date();
        let month = month_name(month);
        let date = match now.date() {
            (this_year, ..) if this_year == year => format!("{day} {month}"),
            _ => format!("{day} {month} {year}"),
        };
        let exact = format!("{day} {month} {year}, {clock} UTC");
        let text = ago(now.0.saturating_sub(at.0)).unwrap_or_else(|| match days_ago(at, now) {
            1 => format!("yesterday, {clock}"),
            2..WEEK => format!("{}, {clock}", weekday(at)),
            _ => date.clone(),
        });
        DisplayTime { text, date, exact, machine }
    }
}

/// A calendar day as a heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisplayDay {
    /// `2026-11-16`.
    pub machine: String,
    /// `Today`, `Yesterday`, `Saturday`, or the date if it is more than a week ago.
    pub name: String,
    /// The rest of the date: `Monday, 16 November`, `14 November`, or nothing.
    pub rest: String,
    /// Days since 1 January 1970.
    number: i64,
}

impl DisplayDay {
    /// The day of the time `at`, shown at the time `now`.
    pub fn new(at: Millis, now: Millis) -> DisplayDay {
        let shown = DisplayTime::new(at, now);
        let weekday = weekday(at);
        let (name, rest) = match days_ago(at, now) {
            0 => ("Today".to_owned(), format!("{weekday}, {}", shown.date)),
            1 => ("Yesterday".to_owned(), format!("{weekday}, {}", shown.date)),
            2..WEEK => (weekday.to_owned(), shown.date),
            _ => (shown.date, weekday.to_owned()),
        };
        let machine = shown.machine.get(..10).unwrap_or_default().to_owned();
        DisplayDay { machine, name, rest, number: number(at) }
    }

    /// Whether the time is on this day.
    pub fn contains(&self, at: Millis) -> bool {
        self.number == number(at)
    }
}

/// `5 minutes ago`; `None` for times in the future and more than a day ago.
fn ago(age: i64) -> Option<String> {
    // Clocks differ slightly, so a time may appear to be in the future.
    if age.abs() < MINUTE {
        return Some("just now".to_owned());
    }
    let (unit, length) = match age {
        MINUTE..HOUR => ("minute", MINUTE),
        HOUR..DAY => ("hour", HOUR),
        _ => return None,
    };
    let number = age / length;
    let plural = if number == 1 { "" } else { "s" };
    Some(format!("{number} {unit}{plural} ago"))
}

/// The number of the day of this time.
fn number(at: Millis) -> i64 {
    at.0.div_euclid(DAY)
}

/// Calendar days between the two times. Negative if `at` is on a later day.
fn days_ago(at: Millis, now: Millis) -> i64 {
    number(now) - number(at)
}

fn weekday(at: Millis) -> &'static str {
    let day = at.0.div_euclid(DAY).rem_euclid(WEEK);
    usize::try_from(day).ok().and_then(|day| WEEKDAYS.get(day)).copied().unwrap_or_default()
}

fn month_name(month: i64) -> &'static str {
    let index = usize::try_from(month - 1).ok();
    index.and_then(|index| MONTHS.get(index)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Millis {
        Millis::parse(text).unwrap()
    }

    #[test]
    fn recent_times_are_relative() {
        // A Sunday.
        let now = at("2026-11-15T12:00:00Z");
        for (time, text) in [
            ("2026-11-15T12:00:30Z", "just now"),
            ("2026-11-15T11:59:10Z", "just now"),
            ("2026-11-15T11:59:00Z", "1 minute ago"),
            ("2026-11-15T10:59:00Z", "1 hour ago"),
            ("2026-11-14T13:00:00Z", "23 hours ago"),
            ("2026-11-14T11:14:00Z", "yesterday, 11:14"),
            ("2026-11-13T12:00:00Z", "Friday, 12:00"),
            ("2026-11-09T00:00:00Z", "Monday, 00:00"),
            ("2026-11-08T23:59:00Z", "8 November"),
            ("2025-11-15T12:00:00Z", "15 November 2025"),
            ("2027-01-01T00:00:00Z", "1 January 2027"),
        ] {
            assert_eq!(DisplayTime::new(at(time), now).text, text, "{time}");
        }
        let exact = DisplayTime::new(at("0033-04-03T15:00:00Z"), now).exact;
        assert_eq!(exact, "3 April 33, 15:00 UTC");
    }

    #[test]
    fn a_day_is_named_as_people_name_it() {
        let now = at("2026-11-16T00:30:00Z");
        for (time, name, rest) in [
            ("2026-11-16T00:10:00Z", "Today", "Monday, 16 November"),
            ("2026-11-15T23:50:00Z", "Yesterday", "Sunday, 15 November"),
            ("2026-11-14T12:00:00Z", "Saturday", "14 November"),
            ("2026-11-09T12:00:00Z", "9 November", "Monday"),
            ("2024-02-29T12:00:00Z", "29 February 2024", "Thursday"),
            ("1969-12-31T12:00:00Z", "31 December 1969", "Wednesday"),
        ] {
            let day = DisplayDay::new(at(time), now);
            assert_eq!((day.name.as_str(), day.rest.as_str()), (name, rest), "{time}");
            assert_eq!(Some(day.machine.as_str()), time.get(..10));
        }
    }
}

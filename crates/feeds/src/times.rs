//! Times as feeds write them: RFC 3339, the shorter forms of W3C-DTF, and RFC 822 with its common variations.
//! All are converted to the form that [`Millis`] parses, so the calendar is implemented once.

use model::Millis;

/// Parses a time. A date without a time is midnight; a time without a zone is UTC.
pub(crate) fn parse(text: &str) -> Option<Millis> {
    let text = text.trim();
    if text.len() > 64 {
        return None;
    }
    Millis::parse(text).ok().or_else(|| w3c(text)).or_else(|| rfc822(text))
}

/// `2026`, `2026-11`, `2026-11-14`, with `T` or a blank and `22:44`, `22:44:03` or `22:44:03.123`, and maybe a zone.
fn w3c(text: &str) -> Option<Millis> {
    let (date, rest) = match text.split_once(['T', 't', ' ']) {
        Some((date, rest)) => (date, rest.trim()),
        None => (text, ""),
    };
    let mut parts = date.split('-');
    let year = parts.next().filter(|year| year.len() == 4).and_then(number)?;
    let month = parts.next().map_or(Some(1), number)?;
    let day = parts.next().map_or(Some(1), number)?;
    if parts.next().is_some() {
        return None;
    }
    let zone_at = rest.find(|c: char| !c.is_ascii_digit() && !matches!(c, ':' | '.' | ','));
    let (clock, zone) = rest.split_at_checked(zone_at.unwrap_or(rest.len()))?;
    let clock = if clock.is_empty() { Some((0, 0, 0)) } else { time(clock) };
    moment((year, month, day), clock?, offset(zone.trim())?)
}

/// `Sat, 14 Nov 2026 22:44:03 +0200`, with or without the day of the week, the seconds, the zone.
fn rfc822(text: &str) -> Option<Millis> {
    // The day of the week is ignored: if it contradicts the date, the date is right.
    let weekday = text.split_once(',').filter(|(day, _)| !day.contains(|c: char| c.is_ascii_digit()));
    let text = weekday.map_or(text, |(_, date)| date);
    let mut words = text.split([' ', '\t', '-']).filter(|word| !word.is_empty()).peekable();
    let is_word = |word: &&str| word.starts_with(|c: char| c.is_ascii_alphabetic());
    let mut first = words.next()?;
    if is_word(&first) && month_of(first).is_none() {
        first = words.next()?;
    }
    // Some feeds write the month before the day.
    let second = words.next()?;
    let (day, month) = match month_of(first) {
        Some(month) => (number(second.trim_end_matches(','))?, month),
        None => (number(first)?, month_of(second)?),
    };
    let year = full_year(words.next()?)?;
    // The hyphen separates parts of a date and also begins a negative offset, so the zone is searched in the
    // original text.
    let clock = words.next().map(|word| word.split_once('+').map_or(word, |(clock, _)| clock));
    let zone = clock.and_then(|clock| text.split_once(clock)).map_or("", |(_, zone)| zone);
    // A comment may follow the zone.
    let zone = zone.split('(').next().unwrap_or_default().trim();
    moment((year, month, day), clock.map_or(Some((0, 0, 0)), time)?, offset(zone)?)
}

fn number(text: &str) -> Option<u32> {
    let digits = (1..=4).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Two-digit years are expanded as RFC 2822 says.
fn full_year(text: &str) -> Option<u32> {
    let year = number(text)?;
    match text.len() {
        4 => Some(year),
        3 => Some(1900 + year),
        2 if year < 50 => Some(2000 + year),
        2 => Some(1900 + year),
        _ => None,
    }
}

fn month_of(text: &str) -> Option<u32> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let short = text.get(..3)?.to_ascii_lowercase();
    let at = MONTHS.iter().position(|month| *month == short)?;
    u32::try_from(at + 1).ok()
}

/// Hours, minutes and milliseconds.
fn time(text: &str) -> Option<(u32, u32, u32)> {
    let mut parts = text.split(':');
    let hour = number(parts.next()?)?;
    let minute = number(parts.next()?)?;
    let (seconds, fraction) = match parts.next() {
        Some(seconds) => seconds.split_once(['.', ',']).unwrap_or((seconds, "")),
        None => ("0", ""),
    };
    let thousandths = fraction
        .bytes()
        .chain(*b"000")
        .take(3)
        .try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + u32::from(digit - b'0')))?;
    let second = number(seconds).filter(|_| parts.next().is_none())?;
    (hour <= 24 && minute < 60 && second <= 60).then_some((hour, minute, second * 1_000 + thousandths))
}

/// The zone as an RFC 3339 offset.
fn offset(zone: &str) -> Option<String> {
    let hours = match zone.to_ascii_uppercase().as_str() {
        "" | "Z" | "UT" | "UTC" | "GMT" | "WET" | "+" | "-" => 0,
        "CET" | "BST" | "WEST" | "MET" => 1,
        "EET" | "CEST" | "MEST" => 2,
        "EEST" | "MSK" => 3,
        "JST" | "KST" => 9,
        "AEST" => 10,
        "AEDT" => 11,
        "EDT" | "AST" => -4,
        "EST" | "CDT" => -5,
        "CST" | "MDT" => -6,
        "MST" | "PDT" => -7,
        "PST" | "AKDT" => -8,
        "AKST" => -9,
        "HST" => -10,
        _ => return numeric_offset(zone),
    };
    Some(format!("{}{:02}:00", if hours < 0 { '-' } else { '+' }, i32::abs(hours)))
}

/// `+0200`, `-05:30`, `+2`, and `GMT+0200`.
fn numeric_offset(zone: &str) -> Option<String> {
    let zone = zone.trim_start_matches("GMT").trim_start_matches("UTC").trim_start_matches("UT");
    let sign = zone.chars().next().filter(|sign| matches!(sign, '+' | '-'))?;
    let digits: String = zone.chars().skip(1).filter(|c| *c != ':').collect();
    let size = number(&digits)?;
    let (hours, minutes) = if digits.len() <= 2 { (size, 0) } else { (size / 100, size % 100) };
    Some(format!("{sign}{hours:02}:{minutes:02}"))
}

fn moment(
    (year, month, day): (u32, u32, u32),
    (hour, minute, millis): (u32, u32, u32),
    offset: String,
) -> Option<Millis> {
    const DAY: i64 = 86_400_000;
    // 24:00 is 00:00 of the next day.
    let (hour, later) = if hour == 24 && minute == 0 && millis == 0 { (0, DAY) } else { (hour, 0) };
    let (second, thousandths) = (millis / 1_000, millis % 1_000);
    let text =
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{thousandths:03}{offset}");
    let moment = Millis(Millis::parse(&text).ok()?.0.checked_add(later)?);
    (moment <= Millis::MAX).then_some(moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn supported_forms_are_parsed() {
        for (text, expected) in [
            ("2026-11-14T22:44:03.123Z", "2026-11-14T22:44:03.123Z"),
            ("2026-11-14T22:44:03", "2026-11-14T22:44:03.000Z"),
            ("2026-11-14 22:44:03 +0200", "2026-11-14T20:44:03.000Z"),
            ("2026-11-14T22:44+02:00", "2026-11-14T20:44:00.000Z"),
            ("2026-11-14T24:00:00Z", "2026-11-15T00:00:00.000Z"),
            ("2026-11-14", "2026-11-14T00:00:00.000Z"),
            ("2026-11", "2026-11-01T00:00:00.000Z"),
            ("2026", "2026-01-01T00:00:00.000Z"),
            ("Sat, 14 Nov 2026 22:44:03 GMT", "2026-11-14T22:44:03.000Z"),
            ("Mon, 14 Nov 2026 22:44:03 +0200", "2026-11-14T20:44:03.000Z"),
            ("14 Nov 26 22:44 EST", "2026-11-15T03:44:00.000Z"),
            ("Sat, 4 Nov 1995 22:44:03 PDT", "1995-11-05T05:44:03.000Z"),
            ("Sat 14 November 2026 22:44:03 -0530", "2026-11-15T04:14:03.000Z"),
            ("Sat, 14 Nov 2026 22:44:03 -05:30", "2026-11-15T04:14:03.000Z"),
            ("Sat, 14 Nov 2026 22:44:03+0200", "2026-11-14T20:44:03.000Z"),
            ("Saturday, 14-Nov-26 22:44:03 UT", "2026-11-14T22:44:03.000Z"),
            ("Nov 14, 2026 22:44:03", "2026-11-14T22:44:03.000Z"),
            ("14 Nov 2026", "2026-11-14T00:00:00.000Z"),
            ("Sat, 14 Nov 2026 22:44:03 Z", "2026-11-14T22:44:03.000Z"),
            ("Sat, 14 Nov 2026 22:44:03 GMT+0100", "2026-11-14T21:44:03.000Z"),
            ("Sat, 14 Nov 2026 22:44:03 +0000 (Coordinated Universal Time)", "2026-11-14T22:44:03.000Z"),
            ("Sat, 14 Nov 2026 22:44:03.5 CEST", "2026-11-14T20:44:03.500Z"),
            ("  Sat,  14 Nov 2026\t22:44:03  GMT ", "2026-11-14T22:44:03.000Z"),
        ] {
            assert_eq!(parse(text).map(Millis::zulu).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn invalid_times_are_rejected() {
        for text in [
            "",
            "yesterday",
            "14",
            "2026-13-01",
            "2026-11-31",
            "31 Feb 2026 10:00 GMT",
            "14 Nov 2026 25:00 GMT",
            "14 Nov 2026 10:61 GMT",
            "14 Nov 2026 10:00 XYZ",
            "14 Foo 2026 10:00 GMT",
            "20261-11-14",
            "Sat, 14 Nov 2026 22:44:03 +9900",
            "é, é é é é:é",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}

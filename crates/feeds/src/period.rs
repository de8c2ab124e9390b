//! How often a feed says that it changes.

use crate::element::Element;
use crate::namespace::Ns;
use std::time::Duration;

/// The update period and frequency of the syndication module.
pub(crate) fn update_period(channel: &Element) -> Option<Duration> {
    let period: u64 = match channel.text_of(Ns::Syndication, "updatePeriod")?.to_ascii_lowercase().as_str() {
        "hourly" => 3_600,
        "daily" => 86_400,
        "weekly" => 7 * 86_400,
        "monthly" => 30 * 86_400,
        "yearly" => 365 * 86_400,
        _ => return None,
    };
    let times = channel.text_of(Ns::Syndication, "updateFrequency").and_then(|times| times.parse().ok());
    seconds(period.checked_div(times.unwrap_or(1))?)
}

/// `None` for zero and for more than a year.
pub(crate) fn seconds(seconds: u64) -> Option<Duration> {
    (1..=365 * 86_400).contains(&seconds).then(|| Duration::from_secs(seconds))
}

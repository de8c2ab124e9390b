//! The operator pages.

use crate::history::{SAMPLE_INTERVAL, Sample};
use crate::site::Site;
use crate::views::display_time::DisplayTime;
use crate::views::frame::Frame;
use crate::views::security::EventView;
use askama::Template;
use domain::health::Health;
use model::{Account, Application, Millis, Uid};
use store::DeadLetter;

/// The health page.
#[derive(Template)]
#[template(path = "operator/overview.html")]
pub struct OverviewPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The problem, if the server is not healthy.
    pub complaint: Option<String>,
    /// The state of store and delivery log.
    pub health: &'a Health,
    /// The dead letters.
    pub letters: Vec<LetterView>,
    /// Plots of this process's last hours.
    pub plots: Vec<Plot>,
}

/// A dead letter as listed.
pub struct LetterView {
    /// Its number.
    pub number: u64,
    /// The failed work.
    pub what: String,
    /// The number of attempts.
    pub attempts: u32,
    /// The last error.
    pub why: String,
    /// When the last attempt failed.
    pub at: DisplayTime,
}

impl LetterView {
    /// A dead letter, shown at the time `now`.
    pub fn of(letter: &DeadLetter, what: String, now: Millis) -> LetterView {
        let at = DisplayTime::new(letter.at, now);
        LetterView { number: letter.number, what, attempts: letter.attempts, why: letter.error.clone(), at }
    }

    fn replay_path(&self) -> String {
        format!("/operator/deadletters/{}/replay", self.number)
    }
}

/// The list of accounts.
#[derive(Template)]
#[template(path = "operator/accounts.html")]
pub struct AccountsPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The operator's account.
    pub me: Uid,
    /// The searched name, or empty.
    pub search: &'a str,
    /// A link that was just created.
    pub link: Option<&'a TicketLink>,
    /// The error to show, if any.
    pub complaint: Option<&'a str>,
    /// The accounts of this page.
    pub accounts: Vec<Account>,
    /// The last account of this page, if more follow.
    pub more: Option<i64>,
}

impl AccountsPage<'_> {
    fn path(&self, account: &&Account, what: &str) -> String {
        format!("/operator/accounts/{}/{what}", account.name)
    }
}

/// An invitation or password reset link. It is shown once.
pub struct TicketLink {
    /// The purpose of the link.
    pub about: String,
    /// The address.
    pub address: String,
}

/// The audit log.
#[derive(Template)]
#[template(path = "operator/audit.html")]
pub struct AuditPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The events of this page, newest first.
    pub events: Vec<EventView>,
    /// The place of the last event, if more follow.
    pub more: Option<String>,
}

/// The list of applications.
#[derive(Template)]
#[template(path = "operator/applications.html")]
pub struct ApplicationsPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// All applications that are not removed.
    pub applications: Vec<ApplicationRow>,
}

/// An application as listed for operators.
pub struct ApplicationRow {
    /// Its consumer key.
    pub key: String,
    /// The application's name.
    pub name: String,
    /// The callback.
    pub callback: String,
    /// The name of the account that registered it.
    pub owner: Option<String>,
    /// When it was registered.
    pub created: DisplayTime,
}

impl ApplicationRow {
    /// An application, shown at the time `now`.
    pub fn of(application: &Application, owner: Option<String>, now: Millis) -> ApplicationRow {
        ApplicationRow {
            key: application.key.clone(),
            name: application.name.clone(),
            callback: application.callback.clone(),
            owner,
            created: DisplayTime::new(application.created, now),
        }
    }

    fn remove_path(&self) -> String {
        format!("/operator/applications/{}/remove", self.key)
    }
}

/// The size of a plot, in SVG units.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;
/// Samples across the width: six hours.
const SAMPLES: f64 = 720.0;

/// A line plot, as SVG.
#[derive(Debug, PartialEq)]
pub struct Plot {
    /// The title.
    pub title: &'static str,
    /// The points of the line, in SVG syntax.
    pub points: String,
    /// The largest value, with its unit.
    pub max: String,
    /// The last value, with its unit.
    pub last: String,
}

impl Plot {
    /// Plots one value of each sample.
    pub fn of(title: &'static str, unit: &str, samples: &[Sample], value: impl Fn(&Sample) -> f64) -> Plot {
        let values: Vec<f64> = samples.iter().map(value).collect();
        let max = values.iter().copied().fold(0.0, f64::max);
        let scale = if max > 0.0 { (HEIGHT - 4.0) / max } else { 0.0 };
        let step = WIDTH / SAMPLES;
        #[expect(clippy::cast_precision_loss, reason = "there are 720 of them")]
        let begin = WIDTH - values.len() as f64 * step;
        let mut x = begin;
        let point = |value: &f64| {
            x += step;
            format!("{x:.1},{:.1}", HEIGHT - 2.0 - value * scale)
        };
        let points: Vec<String> = values.iter().map(point).collect();
        let words = |value: f64| format!("{} {unit}", number(value));
        Plot {
            title,
            points: points.join(" "),
            max: words(max),
            last: words(values.last().copied().unwrap_or_default()),
        }
    }

    /// The four plots of the health page.
    pub fn all(samples: &[Sample]) -> Vec<Plot> {
        let samples_per_minute = 60.0 / SAMPLE_INTERVAL.as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a plot is not exact to the last of 2^53 requests")]
        let per_minute = move |count: u64| count as f64 * samples_per_minute;
        #[expect(clippy::cast_precision_loss, reason = "counted up to a thousand")]
        let pending = |sample: &Sample| sample.pending.unwrap_or_default() as f64;
        vec![
            Plot::of("Requests", "per minute", samples, move |sample| per_minute(sample.requests)),
            Plot::of("Errors", "per minute", samples, move |sample| per_minute(sample.failures)),
            Plot::of("Pending deliveries", "tasks", samples, pending),
            Plot::of("Oldest pending", "seconds", samples, |sample| sample.lag.as_secs_f64()),
        ]
    }
}

/// One decimal place for small fractions, none otherwise.
fn number(value: f64) -> String {
    if value >= 10.0 || value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Millis;
    use std::time::Duration;

    #[test]
    fn points_are_scaled_to_the_largest_value() {
        let sample =
            |requests| Sample { at: Millis(0), requests, failures: 0, pending: Some(1), lag: Duration::ZERO };
        let plots = Plot::all(&[sample(1), sample(4)]);
        let first = plots.first().unwrap();
        assert_eq!((first.max.as_str(), first.last.as_str()), ("8 per minute", "8 per minute"));
        assert_eq!(first.points, "599.2,89.0 600.0,2.0");
        assert!(Plot::all(&[]).iter().all(|plot| plot.points.is_empty()));
    }
}

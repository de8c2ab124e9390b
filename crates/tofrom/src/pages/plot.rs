//! Line plots as SVG.

use crate::telemetry::history::{SAMPLE_INTERVAL, Sample};

/// The size of a plot, in SVG units.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;
/// Samples across the width: six hours.
const SAMPLES: f64 = 720.0;

/// A line plot.
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

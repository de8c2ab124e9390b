//! Plots with axes, as SVG without script: a value shows on hover, and a table has the same values.

use crate::history::{SAMPLE_INTERVAL, Sample};
use model::Millis;

/// The size of a plot and of the area for its values, in SVG units.
const WIDTH: f64 = 320.0;
const LEFT: f64 = 42.0;
const RIGHT: f64 = 314.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 116.0;

const MINUTE: i64 = 60_000;
/// The time of one point, and the number of points: six hours.
const STEP: i64 = 5 * MINUTE;
const POINTS: usize = 72;
/// Points between two labels of the time axis.
const POINTS_PER_LABEL: usize = 24;
/// Lines of the grid at most, besides the axis.
const GRID: f64 = 4.0;

/// A value that is plotted.
struct Series {
    title: &'static str,
    /// What follows a number of the axis.
    suffix: &'static str,
    /// What follows a number in words.
    unit: &'static str,
    /// The value of some samples, which are never none.
    value: fn(&[Sample]) -> f64,
    /// Whether the note names the sum instead of the largest value.
    is_summed: bool,
}

const SERIES: [Series; 4] = [
    Series {
        title: "Requests per minute",
        suffix: "",
        unit: "per minute",
        value: |samples| per_minute(samples, |sample| sample.requests),
        is_summed: false,
    },
    Series {
        title: "Failed requests (5xx)",
        suffix: "",
        unit: "failed",
        value: |samples| exact(samples.iter().map(|sample| sample.failures).sum()),
        is_summed: true,
    },
    Series {
        title: "Pending deliveries",
        suffix: "",
        unit: "pending",
        value: |samples| {
            let pending = samples.iter().filter_map(|sample| sample.pending).max().unwrap_or_default();
            exact(u64::try_from(pending).unwrap_or(u64::MAX))
        },
        is_summed: false,
    },
    Series {
        title: "Oldest pending",
        suffix: " s",
        unit: "s",
        value: |samples| samples.iter().map(|sample| sample.lag.as_secs_f64()).fold(0.0, f64::max),
        is_summed: false,
    },
];

#[expect(clippy::cast_precision_loss, reason = "a plot is not exact to the last of 2^53 requests")]
fn exact(count: u64) -> f64 {
    count as f64
}

fn per_minute(samples: &[Sample], count: impl Fn(&Sample) -> u64) -> f64 {
    let minutes = SAMPLE_INTERVAL.as_secs_f64() / 60.0 * exact(u64::try_from(samples.len()).unwrap_or(1));
    exact(samples.iter().map(count).sum()) / minutes
}

/// A label of an axis.
#[derive(Debug, PartialEq)]
pub struct Label {
    /// Its place.
    pub at: String,
    /// Its text.
    pub text: String,
}

/// A point with its value in words.
#[derive(Debug, PartialEq)]
pub struct Point {
    /// The left end of the area that shows the value.
    pub left: String,
    /// The height of the point.
    pub y: String,
    /// `16:05: 754 per minute`.
    pub words: String,
}

/// A plot of the last six hours.
#[derive(Debug, PartialEq)]
pub struct Plot {
    /// The title.
    pub title: &'static str,
    /// The largest value, or the sum.
    pub note: String,
    /// The labels of the value axis, from below.
    pub values: Vec<Label>,
    /// The labels of the time axis.
    pub times: Vec<Label>,
    /// The points of the line, in SVG syntax. Parts of the time may have no sample.
    pub line: String,
    /// The points of the area below the line.
    pub area: String,
    /// The points, each with its value.
    pub points: Vec<Point>,
}

/// A row of the table with the same values.
#[derive(Debug, PartialEq)]
pub struct PlotRow {
    /// The time of the point.
    pub time: String,
    /// A value for each plot.
    pub values: Vec<String>,
}

/// The samples of each point, with the time of the point, oldest first. Points without a sample are left out.
fn points(samples: &[Sample], now: Millis) -> Vec<(usize, Millis, &[Sample])> {
    let end = now.0.div_euclid(STEP);
    let slots = samples.chunk_by(|a, b| a.at.0.div_euclid(STEP) == b.at.0.div_euclid(STEP));
    let place = |samples: &&[Sample]| {
        let slot = samples.first()?.at.0.div_euclid(STEP);
        let place = (POINTS - 1).checked_sub(usize::try_from(end.checked_sub(slot)?).ok()?)?;
        Some((place, Millis(slot * STEP)))
    };
    slots.filter_map(|samples| place(&samples).map(|(place, at)| (place, at, samples))).collect()
}

/// `16:05`, in UTC.
fn clock(at: Millis) -> String {
    at.zulu().get(11..16).unwrap_or_default().to_owned()
}

fn x_of(place: usize) -> f64 {
    let last = exact(u64::try_from(POINTS - 1).unwrap_or(1));
    LEFT + (RIGHT - LEFT) * exact(u64::try_from(place).unwrap_or_default()) / last
}

/// The distance of two lines of the grid: 1, 2 or 5 times a power of ten.
fn grid_step(max: f64) -> f64 {
    let rough = (max / GRID).max(1e-9);
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|by| by * power).find(|step| *step >= rough);
    step.unwrap_or(rough)
}

impl Plot {
    /// The plots of the health page at the time `now`.
    pub fn all(samples: &[Sample], now: Millis) -> Vec<Plot> {
        let points = points(samples, now);
        SERIES.iter().map(|series| Plot::of(series, &points, now)).collect()
    }

    fn of(series: &Series, points: &[(usize, Millis, &[Sample])], now: Millis) -> Plot {
        let values: Vec<f64> = points.iter().map(|(_, _, samples)| (series.value)(samples)).collect();
        let max = values.iter().copied().fold(0.0, f64::max);
        let step = grid_step(if max > 0.0 { max } else { GRID });
        let lines = (max / step).ceil().max(1.0);
        let y_of = |value: f64| BOTTOM - (BOTTOM - TOP) * value / (lines * step);
        let corner = |(place, value): (usize, f64)| format!("{:.1},{:.1}", x_of(place), y_of(value));
        let corners: Vec<String> =
            points.iter().zip(&values).map(|((place, ..), value)| corner((*place, *value))).collect();
        let line = corners.join(" ");
        let ends = points.first().zip(points.last());
        let area = ends.map(|((first, ..), (last, ..))| {
            format!("{:.1},{BOTTOM} {line} {:.1},{BOTTOM}", x_of(*first), x_of(*last))
        });
        let half = (x_of(1) - x_of(0)) / 2.0;
        let point = |((place, at, _), value): (&(usize, Millis, &[Sample]), &f64)| Point {
            left: format!("{:.1}", x_of(*place) - half),
            y: format!("{:.1}", y_of(*value)),
            words: format!("{}: {} {}", clock(*at), number(*value), series.unit),
        };
        let label = |line: f64| Label {
            at: format!("{:.1}", y_of(line * step)),
            text: format!("{}{}", number(line * step), series.suffix),
        };
        let lines_from_below = std::iter::successors(Some(0.0), |line| Some(line + 1.0));
        let time = |place: usize| {
            let back = i64::try_from(POINTS - 1 - place).unwrap_or_default();
            let at = Millis((now.0.div_euclid(STEP) - back) * STEP);
            Label { at: format!("{:.1}", x_of(place)), text: clock(at) }
        };
        Plot {
            title: series.title,
            note: match series.is_summed {
                true => format!("{} in total", number(values.iter().sum())),
                false => format!("peak {}{}", number(max), series.suffix),
            },
            values: lines_from_below.take_while(|line| *line <= lines).map(label).collect(),
            times: (0..POINTS)
                .filter(|place| (POINTS - 1 - place).is_multiple_of(POINTS_PER_LABEL))
                .map(time)
                .collect(),
            line,
            area: area.unwrap_or_default(),
            points: points.iter().zip(&values).map(point).collect(),
        }
    }

    /// The place of the last point.
    pub fn end(&self) -> Option<(&str, &str)> {
        self.line.rsplit(' ').next()?.split_once(',')
    }

    /// The last value of the plot, in words.
    pub fn last(&self) -> &str {
        self.points.last().map_or("no value yet", |point| point.words.as_str())
    }

    /// The width of the area that shows the value of a point.
    pub fn step(&self) -> String {
        format!("{:.1}", x_of(1) - x_of(0))
    }

    /// The size of the plot, in SVG syntax.
    pub fn view_box(&self) -> String {
        format!("0 0 {WIDTH} 136")
    }
}

impl PlotRow {
    /// The values of all plots, newest first.
    pub fn all(samples: &[Sample], now: Millis) -> Vec<PlotRow> {
        let row = |(_, at, samples): (usize, Millis, &[Sample])| PlotRow {
            time: clock(at),
            values: SERIES.iter().map(|series| number((series.value)(samples)) + series.suffix).collect(),
        };
        points(samples, now).into_iter().rev().map(row).collect()
    }
}

/// One decimal place for small fractions, none otherwise; thousands are separated.
fn number(value: f64) -> String {
    if value < 10.0 && value.fract() != 0.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn sample(minute: i64, requests: u64) -> Sample {
        let at = Millis(minute * MINUTE);
        Sample { at, requests, failures: 1, pending: Some(1_500), lag: Duration::from_millis(400) }
    }

    #[test]
    fn a_plot_has_a_point_for_five_minutes_and_axes() {
        // 16:00, and two samples at 15:50, one at 15:55.
        let now = Millis(16 * 60 * MINUTE);
        let samples = [sample(950, 100), sample(951, 300), sample(956, 20)];
        let plots = Plot::all(&samples, now);
        let requests = plots.first().unwrap();
        let words: Vec<&str> = requests.points.iter().map(|point| point.words.as_str()).collect();
        assert_eq!(words, ["15:50: 400 per minute", "15:55: 40 per minute"]);
        assert_eq!((requests.note.as_str(), requests.last()), ("peak 400", "15:55: 40 per minute"));
        let labels: Vec<&str> = requests.values.iter().map(|label| label.text.as_str()).collect();
        assert_eq!(labels, ["0", "100", "200", "300", "400"]);
        let times: Vec<&str> = requests.times.iter().map(|label| label.text.as_str()).collect();
        assert_eq!(times, ["12:00", "14:00", "16:00"]);
        assert!(requests.line.starts_with("306.3,8.0 310.2,"), "{}", requests.line);
        let notes: Vec<&str> = plots.iter().skip(1).map(|plot| plot.note.as_str()).collect();
        assert_eq!(notes, ["3 in total", "peak 1,500", "peak 0.4 s"]);
        let rows = PlotRow::all(&samples, now);
        assert_eq!(rows.first().unwrap().values, ["40", "1", "1,500", "0.4 s"]);
    }

    #[test]
    fn without_samples_the_axes_stay() {
        for plot in Plot::all(&[], Millis(0)) {
            assert_eq!(
                (plot.line.as_str(), plot.area.as_str(), plot.values.len()),
                ("", "", 2),
                "{}",
                plot.title
            );
        }
        let old = [sample(0, 1)];
        assert!(Plot::all(&old, Millis(400 * MINUTE)).iter().all(|plot| plot.points.is_empty()));
    }

    #[test]
    fn grids_have_round_steps() {
        for (max, step) in [(4.0, 1.0), (5.0, 2.0), (0.4, 0.1), (754.0, 200.0), (1_573.0, 500.0)] {
            assert!((grid_step(max) - step).abs() < 1e-9, "{max}: {}", grid_step(max));
        }
    }
}

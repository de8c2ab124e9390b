//! Prints the calculated results.

use super::arithmetic::{ASSUMPTIONS, Case};
use super::costs::Costs;
use std::fmt::Write;

const ACCOUNTS: [f64; 4] = [1e6, 1e7, 1e8, 1e9];
const ABOVE: [f64; 6] = [1e3, 1e4, 5e4, 1e5, 1e6, f64::INFINITY];
const IDLE_AFTER: [f64; 2] = [f64::INFINITY, 30.0];
/// Points of a curve in each power of ten, from a hundred followers on.
const POINTS: i32 = 8;
const POWERS: i32 = 6;

pub(crate) fn print(costs: &Costs) {
    println!("{ASSUMPTIONS:#?}\n{costs:#?}\n");
    println!(
        "| accounts | idle after, days | pull above | rows/s, mean | peak | entries, TB | accounts pulled | of these by a reader | page: statements more | \
         partitions more | burst, rows | of all nodes, s | last has it, s | ScyllaDB | Cassandra |\n\
         |--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    );
    for accounts in ACCOUNTS {
        for idle_after in IDLE_AFTER {
            for above in ABOVE {
                row(&Case { accounts, above, idle_after }, costs);
            }
        }
    }
}

fn row(case: &Case, costs: &Costs) {
    let figures = case.figures(costs);
    let or_off = |number: f64| if number.is_finite() { format!("{number}") } else { "off".to_owned() };
    println!(
        "| {:e} | {} | {} | {} | {} | {:.1} | {} | {:.1} | {:.1} | {:.0} | {} | {:.3} | {:.2} | {} | {} |",
        case.accounts,
        or_off(case.idle_after),
        or_off(case.above),
        short(figures.rows),
        short(figures.rows * ASSUMPTIONS.peak),
        figures.bytes / 1e12,
        short(figures.pulled_accounts),
        figures.pulled,
        figures.more_statements,
        figures.more_partitions,
        short(figures.burst),
        figures.burst_seconds,
        figures.lag,
        figures.scylla,
        figures.cassandra,
    );
}

/// With a letter for thousands and millions.
fn short(number: f64) -> String {
    match number {
        large if large >= 1e6 => format!("{:.1} M", large / 1e6),
        some if some >= 1e3 => format!("{:.0} k", some / 1e3),
        few => format!("{few:.0}"),
    }
}

/// Every size and rule, with thresholds close enough for curves.
pub(crate) fn curves(costs: &Costs) -> String {
    let mut text = String::from("accounts,idle,above,rows,partitions,lag\n");
    let points =
        || (0..=POINTS * POWERS).map(|point| 100.0 * 10_f64.powf(f64::from(point) / f64::from(POINTS)));
    for accounts in ACCOUNTS {
        for idle_after in IDLE_AFTER {
            for above in points().chain([f64::INFINITY]) {
                let figures = Case { accounts, above, idle_after }.figures(costs);
                let (idle, rows) = (u8::from(idle_after.is_finite()), figures.rows);
                writeln!(
                    text,
                    "{accounts},{idle},{above:.0},{rows},{},{}",
                    figures.more_partitions, figures.lag
                )
                .unwrap();
            }
        }
    }
    text
}

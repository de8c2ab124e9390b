//! Some of the dormant accounts are read again.

use super::graph::is_read;
use super::pages::{check, feed};
use super::rules::settle;
use super::simulation::Simulation;
use std::time::Instant;

/// Number of reactivated accounts.
const MANY: usize = 300;

/// The cost until they had caught up.
pub(crate) struct CatchUpCost {
    pub(crate) accounts: usize,
    /// Followees of all of them together.
    pub(crate) followees: usize,
    /// Activities of their pushed followees: all of them are checked, because the log is young.
    pub(crate) checked: usize,
    pub(crate) entries: i64,
    pub(crate) statements: u64,
    pub(crate) seconds: f64,
}

impl CatchUpCost {
    /// Besides the pushed rows, and one statement for each checked state.
    pub(crate) fn statements_a_followee(&self) -> f64 {
        let rows = 3 * self.entries;
        (self.statements as f64 - rows as f64 - self.checked as f64) / self.followees as f64
    }
}

/// Reads them: their first pages are complete immediately, and stay so after they have caught up.
pub(crate) async fn run(simulation: &Simulation) -> CatchUpCost {
    let dormant = |number: &usize| !is_read(*number) && !simulation.graph.followees[*number].is_empty();
    let all: Vec<usize> = (0..simulation.accounts.len()).filter(dormant).collect();
    let some: Vec<usize> = all.iter().copied().step_by(all.len().div_ceil(MANY)).collect();
    let feed = feed(simulation);
    let (rows, statements) = (simulation.rows().await, simulation.worker.counted().0);
    check(simulation, &feed, &some).await;
    let start = Instant::now();
    settle(simulation).await;
    let seconds = start.elapsed().as_secs_f64();
    let statements = simulation.worker.counted().0 - statements;
    check(simulation, &feed, &some).await;
    let checked = |number: &usize| {
        let of = &simulation.graph.followees[*number];
        let done = simulation.actors.iter().zip(&simulation.pulled);
        done.filter(|(actor, pulled)| !**pulled && of.contains(actor)).count()
    };
    let checked = some.iter().map(checked).sum();
    let entries = simulation.rows().await.entries - rows.entries;
    let followees = some.iter().map(|number| simulation.graph.followees[*number].len()).sum();
    CatchUpCost { accounts: some.len(), followees, checked, entries, statements, seconds }
}

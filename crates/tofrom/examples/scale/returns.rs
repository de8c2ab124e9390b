//! Some of the dormant accounts are read again.

use super::graph::is_read;
use super::pages::{check, feed};
use super::rules::settle;
use super::world::World;
use std::time::Instant;

/// Number of reactivated accounts.
const MANY: usize = 300;

/// The cost until they had caught up.
pub(crate) struct Returned {
    pub(crate) accounts: usize,
    /// Followees of all of them together.
    pub(crate) followees: usize,
    /// Activities of their pushed followees: all of them are checked, because the log is young.
    pub(crate) looked_at: usize,
    pub(crate) entries: i64,
    pub(crate) statements: u64,
    pub(crate) seconds: f64,
}

impl Returned {
    /// Besides the pushed rows, and one statement for each checked state.
    pub(crate) fn statements_a_followee(&self) -> f64 {
        let rows = 3 * self.entries;
        (self.statements as f64 - rows as f64 - self.looked_at as f64) / self.followees as f64
    }
}

/// Reads them: their first pages are complete immediately, and stay so after they have caught up.
pub(crate) async fn run(world: &World) -> Returned {
    let asleep = |number: &usize| !is_read(*number) && !world.graph.followees[*number].is_empty();
    let all: Vec<usize> = (0..world.accounts.len()).filter(asleep).collect();
    let some: Vec<usize> = all.iter().copied().step_by(all.len().div_ceil(MANY)).collect();
    let feed = feed(world);
    let (rows, statements) = (world.rows().await, world.worker.counted().0);
    check(world, &feed, &some).await;
    let start = Instant::now();
    settle(world).await;
    let seconds = start.elapsed().as_secs_f64();
    let statements = world.worker.counted().0 - statements;
    check(world, &feed, &some).await;
    let looked_at = |number: &usize| {
        let of = &world.graph.followees[*number];
        let done = world.actors.iter().zip(&world.pulled);
        done.filter(|(actor, pulled)| !**pulled && of.contains(actor)).count()
    };
    let looked_at = some.iter().map(looked_at).sum();
    let entries = world.rows().await.entries - rows.entries;
    let followees = some.iter().map(|number| world.graph.followees[*number].len()).sum();
    Returned { accounts: some.len(), followees, looked_at, entries, statements, seconds }
}

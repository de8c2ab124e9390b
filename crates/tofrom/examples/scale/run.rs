//! Runs a follow graph on a cluster with one choice of rules after the other, and prints the costs.

use super::costs::Costs;
use super::graph::is_read;
use super::pages::{self, StatementCounts};
use super::round::{self, Round};
use super::rules::{Change, RuleSet, mark_idle_dormant, switch_fanout_modes};
use super::simulation::Simulation;
use super::{Scale, catch_up};
use std::collections::BTreeMap;

const PUSH: RuleSet = RuleSet { pull_above: None, idle: false };
/// The choice that pulls most without dormancy.
const LOWEST: usize = 3;

/// The result of one choice of rules.
struct Outcome {
    rule_set: RuleSet,
    round: Round,
    entries: i64,
    arrivals: i64,
    counted: BTreeMap<usize, StatementCounts>,
}

/// Returns the measured costs.
pub(crate) async fn run(simulation: &mut Simulation, scale: &Scale) -> Costs {
    let actors = simulation.graph.actors(scale.activities(), scale.seed);
    let readers: Vec<usize> = (0..simulation.accounts.len()).filter(|number| is_read(*number)).collect();
    // The one-time writes for every new account, and a cold JVM, are not compared.
    round::run(simulation, &PUSH, &actors, scale.pace).await;
    println!(
        "| | rows | of push | statements | delivering, s | lag, s: half, 99 %, worst | page | poll |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|"
    );
    let (mut outcomes, mut choices, mut dormancy) = (Vec::new(), Change::default(), None);
    let mut read_since = simulation.clock.now();
    let mut rows = simulation.rows().await;
    for rule_set in RuleSet::all(simulation.accounts.len()) {
        choices = choices.and(switch_fanout_modes(simulation, &rule_set).await);
        if rule_set.idle && dormancy.is_none() {
            dormancy = Some(mark_idle_dormant(simulation, read_since).await);
        }
        let round = round::run(simulation, &rule_set, &actors, scale.pace).await;
        let now = simulation.rows().await;
        let (entries, arrivals) = (now.entries - rows.entries, now.arrivals - rows.arrivals);
        rows = now;
        let expected: usize = actors.iter().map(|actor| rule_set.reached(simulation, *actor)).sum();
        assert_eq!(entries, expected as i64, "{}: pushed entries", rule_set.name());
        assert_eq!(arrivals, (expected + actors.len()) as i64, "{}: an arrival for each", rule_set.name());
        read_since = simulation.clock.now();
        let feed = pages::feed(simulation);
        pages::check(simulation, &feed, &readers).await;
        let outcome =
            Outcome { rule_set, round, entries, arrivals, counted: pages::count(simulation, &feed).await };
        print_summary(&outcome, outcomes.first());
        outcomes.push(outcome);
    }
    let caught_up = catch_up::run(simulation).await;
    println!(
        "\n{} accounts came back, which follow {}, and were sent {} entries of {} in {:.0} s with {} statements",
        caught_up.accounts,
        caught_up.followees,
        caught_up.entries,
        caught_up.checked,
        caught_up.seconds,
        caught_up.statements
    );
    let dormancy = dormancy.unwrap_or_default();
    choices.print_summary("edges switched to pull");
    dormancy.print_summary("edges became dormant");
    let push = &outcomes[0];
    Costs {
        statements_an_activity: (push.round.statements as f64 - 3.0 * push.entries as f64)
            / actors.len() as f64,
        statements_of_pulling: pulling(simulation, push, &outcomes[LOWEST]),
        statements_a_choice: choices.statements as f64 / choices.edges as f64,
        statements_a_sleep: dormancy.statements as f64 / dormancy.edges as f64,
        statements_a_followee: caught_up.statements_a_followee(),
    }
}

/// Additional statements of pages with pulled actors, against the same pages in push mode.
fn pulling(simulation: &Simulation, push: &Outcome, pull: &Outcome) -> f64 {
    let pulls = |reader: usize| {
        simulation.graph.followees[reader].iter().any(|one| pull.rule_set.pulls(simulation, *one))
    };
    let both = push.counted.iter().filter(|(reader, _)| pulls(**reader));
    let more = both.filter_map(|(reader, before)| Some(pull.counted.get(reader)?.page - before.page));
    mean(more)
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().sum::<f64>() / values.count() as f64
}

impl Outcome {
    /// Two entries and an arrival.
    fn rows(&self) -> i64 {
        2 * self.entries + self.arrivals
    }
}

fn print_summary(outcome: &Outcome, push: Option<&Outcome>) {
    let Round { statements, delivering, lags } = &outcome.round;
    let lag = |part: usize| lags[(lags.len() * part / 100).min(lags.len() - 1)];
    let mean_of = |of: fn(&StatementCounts) -> f64| mean(outcome.counted.values().map(of));
    println!(
        "| {} | {} | {:.0} % | {statements} | {delivering:.0} | {:.2}, {:.2}, {:.2} | {:.1} | {:.1} |",
        outcome.rule_set.name(),
        outcome.rows(),
        100.0 * outcome.rows() as f64 / push.unwrap_or(outcome).rows() as f64,
        lag(50),
        lag(99),
        lag(100),
        mean_of(|counts| counts.page),
        mean_of(|counts| counts.poll),
    );
}

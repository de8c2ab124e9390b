//! Runs a follow graph on a cluster with one choice of rules after the other, and prints the costs.

use super::costs::Costs;
use super::graph::is_read;
use super::pages::{self, Taken};
use super::round::{self, Round};
use super::rules::{Change, Choice, change_audiences, put_to_sleep};
use super::world::World;
use super::{Scale, returns};
use std::collections::BTreeMap;

const PUSH: Choice = Choice { pull_above: None, idle: false };
/// The choice that pulls most without dormancy.
const LOWEST: usize = 3;

/// The result of one choice of rules.
struct Outcome {
    choice: Choice,
    round: Round,
    entries: i64,
    arrivals: i64,
    counted: BTreeMap<usize, Taken>,
}

/// Returns the measured costs.
pub(crate) async fn run(world: &mut World, scale: &Scale) -> Costs {
    let actors = world.graph.actors(scale.activities(), scale.seed);
    let readers: Vec<usize> = (0..world.accounts.len()).filter(|number| is_read(*number)).collect();
    // The one-time writes for every new account, and a cold JVM, are not compared.
    round::run(world, &PUSH, &actors, scale.pace).await;
    println!(
        "| | rows | of push | statements | delivering, s | lag, s: half, 99 %, worst | page | poll |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|"
    );
    let (mut outcomes, mut choices, mut slept) = (Vec::new(), Change::default(), None);
    let mut read_since = world.clock.now();
    let mut rows = world.rows().await;
    for choice in Choice::all(world.accounts.len()) {
        choices = choices.and(change_audiences(world, &choice).await);
        if choice.idle && slept.is_none() {
            slept = Some(put_to_sleep(world, read_since).await);
        }
        let round = round::run(world, &choice, &actors, scale.pace).await;
        let now = world.rows().await;
        let (entries, arrivals) = (now.entries - rows.entries, now.arrivals - rows.arrivals);
        rows = now;
        let expected: usize = actors.iter().map(|actor| choice.reached(world, *actor)).sum();
        assert_eq!(entries, expected as i64, "{}: to whom it is pushed", choice.name());
        assert_eq!(arrivals, (expected + actors.len()) as i64, "{}: an arrival for each", choice.name());
        read_since = world.clock.now();
        let feed = pages::feed(world);
        pages::check(world, &feed, &readers).await;
        let outcome = Outcome { choice, round, entries, arrivals, counted: pages::count(world, &feed).await };
        tell(&outcome, outcomes.first());
        outcomes.push(outcome);
    }
    let returned = returns::run(world).await;
    println!(
        "\n{} accounts came back, which follow {}, and were sent {} entries of {} in {:.0} s with {} statements",
        returned.accounts,
        returned.followees,
        returned.entries,
        returned.looked_at,
        returned.seconds,
        returned.statements
    );
    let slept = slept.unwrap_or_default();
    choices.tell("followers were told that an account is pulled");
    slept.tell("edges were told that somebody sleeps");
    let push = &outcomes[0];
    Costs {
        statements_an_activity: (push.round.statements as f64 - 3.0 * push.entries as f64)
            / actors.len() as f64,
        statements_of_pulling: pulling(world, push, &outcomes[LOWEST]),
        statements_a_choice: choices.statements as f64 / choices.edges as f64,
        statements_a_sleep: slept.statements as f64 / slept.edges as f64,
        statements_a_followee: returned.statements_a_followee(),
    }
}

/// Additional statements of pages with pulled actors, against the same pages in push mode.
fn pulling(world: &World, push: &Outcome, pull: &Outcome) -> f64 {
    let pulls =
        |reader: usize| world.graph.followees[reader].iter().any(|one| pull.choice.pulls(world, *one));
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

fn tell(outcome: &Outcome, push: Option<&Outcome>) {
    let Round { statements, delivering, lags } = &outcome.round;
    let lag = |part: usize| lags[(lags.len() * part / 100).min(lags.len() - 1)];
    let taken = |of: fn(&Taken) -> f64| mean(outcome.counted.values().map(of));
    println!(
        "| {} | {} | {:.0} % | {statements} | {delivering:.0} | {:.2}, {:.2}, {:.2} | {:.1} | {:.1} |",
        outcome.choice.name(),
        outcome.rows(),
        100.0 * outcome.rows() as f64 / push.unwrap_or(outcome).rows() as f64,
        lag(50),
        lag(99),
        lag(100),
        taken(|taken| taken.page),
        taken(|taken| taken.poll),
    );
}
